"""The commands `trigemu anomaly`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu import __version__
from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError, excerpt, few_of
from trigemu.base.files import check_outputs, read_bounded, write_bytes, write_text
from trigemu.cli import options
from trigemu.cli.console import present, say
from trigemu.cli.session import Session, session
from trigemu.emulation.table_files import check_event_file, write_scores
from trigemu.menus.menu import Menu
from trigemu.results.table import Table
from trigemu.samples.catalogue import Catalogue

from .card import (
    MAX_BYTES,
    empty_context,
    input_blocks,
    input_tables,
    network_table,
    objects_of,
    renewed_digests,
)
from .card_events import compare_scores, efficiencies, input_table
from .models import open_model
from .network import Network

#: The first lines of a card: what its author has to add.
_HEAD = """\
# Written by `trigemu anomaly card`. Complete it where a comment begins with "Add".

{description}
# Add above what the score measures and how the model was trained.

{objects}
# Add the training events, from which no rates are then computed:
# [trained_on]
# catalogue = "embedded"
# files = ["sha256 of each file"]
# half = "training"

"""
_OBJECTS = """\
# Add the selections that the inputs were computed with, as in a menu. Without them jet, n_jet, ht … are of
# all objects of a sample:
# [objects.jet]
# from = "jet"
# pt = { min = 20.0 }
"""
#: The number of objects that the summary names, and of inputs.
_NAMED, _PAIRS = 4, 100
#: The last lines of the summary.
_TAIL = """\
  [trained_on]  the training events, from which no rates are computed
Normalisation and masks are part of the model, which reads GeV and radians.

A trigger with it, in a menu in the same folder:
  [[trigger]]
  name = "AD"
  kind = "network"
  card = {card}
  total_rate_hz = 1000.0"""
_samples = click.option(
    "--sample", "names", multiple=True, help="Events of this sample; repeatable. [default: the background]"
)


@click.group("anomaly")
def command() -> None:
    """Describe the model of an anomaly trigger, and compare it with what its author has."""


@command.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--inputs",
    "texts",
    multiple=True,
    required=True,
    metavar="NAMES",
    help="The inputs in their order, separated by commas, as in the observable language: "
    "'n_jet, ht, jet[0].pt'; repeatable.",
)
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), required=True, help="The new card (TOML)."
)
@click.option(
    "--objects-from",
    "menu",
    type=click.Path(path_type=Path),
    help="A menu or a card: its [objects], [sums] and [integer] become those of the card.",
)
def card(model: Path, texts: tuple[str, ...], file: Path, menu: Path | None) -> None:
    """Write a card for MODEL, a file with one score per event, for the kind `network`.

    The model is checked as when a menu uses it. The card can be used at once. Its comments ask for what only
    the author of the model knows: the selection of objects, values that replace missing ones, the training
    events.
    """
    check_outputs([file], [model, menu])
    context, objects = objects_of(menu) if menu else (empty_context(file), "")
    blocks = input_blocks(texts, context)
    inputs = [text for _, block in blocks for text in block]
    content = read_bounded(model, MAX_BYTES)
    try:
        opened = open_model(content, len(inputs), inputs=inputs)
    except TrigemuError as error:
        raise TrigemuError(f"{model} {error}".replace("the card names", "--inputs names")) from None
    what, score = f"{len(inputs)} inputs", f"The score of {model.name}."
    if isinstance(opened, Network):
        read, output = opened.ends
        what, score = f"{what} in {read!r}, score {output!r}", f"The output {output!r} of {model.name}."
    tables = [network_table(model, content, file), *input_tables(blocks)]
    head = _HEAD.format(description=toml_text.entry("description", score), objects=objects or _OBJECTS)
    write_text(file, head + "\n".join(tables))
    needed = few_of([*dict.fromkeys(objects for objects, _ in blocks if objects)], _NAMED)
    say(f"{file}: {what} of {model}. Add by hand, as its comments say:")
    say("  description   what the score measures, and how the model was trained")
    if not objects:
        say("  [objects]     the selections of the training, and [sums]; now all objects of a sample")
    if needed:
        say(f"  padding       if the model takes events without {needed}")
    say(_TAIL.format(card=toml_text.value(file.name)))
    for note in opened.notes:
        say(f"Warning: {model} {note}.")
    pairs = zip(opened.names, inputs, strict=False)
    if others := [f"{name} = {text}" for name, text in pairs if name != text]:
        given = excerpt(few_of(others, _PAIRS), 2000)
        say(f"{model} names its inputs, and --inputs gives for them: {given}")


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def sign(files: tuple[Path, ...]) -> None:
    """Write the sha256 of models and cards into FILES, the cards and menus that name them.

    For a model or a card that you changed: give its card, the cards above it and the menus, in any order.
    """
    changed = renewed_digests(files)
    for file, (content, names) in changed.items():
        write_bytes(file, content)
        say(f"{file}: has the sha256 of {', '.join(names)} as they are now")
    if not changed:
        say("All have the sha256 of the files that they name.")


@command.command()
@click.argument("card", type=click.Path(path_type=Path))
@options.output("The file: .parquet or .root.")
@_samples
@session
def inputs(card: Path, output: Path, names: tuple[str, ...], session: Session) -> None:
    """Write the inputs of CARD and its score, event by event, as the model of a trigger reads them.

    The columns are sample, id, parent, half, weight (Hz), the inputs as the card writes them, and score.
    """
    check_event_file(output)

    def written(_: list[Menu], good: Catalogue, **how: Any) -> int:
        return write_scores(output, input_table(card, good, names, **how), __version__)

    number = session.run([], written)
    say(f"{output}: {number} events")


@command.command()
@click.argument("card", type=click.Path(path_type=Path))
@click.argument("scores", type=click.Path(path_type=Path))
@_samples
@session
@click.pass_context
def verify(
    context: click.Context, card: Path, scores: Path, names: tuple[str, ...], session: Session
) -> None:
    """Compare SCORES, your own, with those of CARD for the same events.

    SCORES is Parquet with the columns id (of the event) and score, sample (its name) if there are several,
    and inputs of the card if you like: those that differ say why a score does. `trigemu anomaly inputs`
    writes such a file. The exit status is 1 if a score differs by more than 1e-4, or this part of it.
    """

    def compared(_: list[Menu], good: Catalogue, **how: Any) -> tuple[Table, str, int]:
        return compare_scores(input_table(card, good, names, **how), scores)

    table, counts, wrong = session.run([], compared)
    present([table, counts])
    if wrong:
        context.exit(1)


@command.command("compare")
@click.argument("cards", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--rate", type=float, required=True, help="The rate of each score in Hz.")
@click.option("--requires", help="The condition on events that the scores are evaluated on.")
@click.option(
    "--menu", "menu", type=click.Path(path_type=Path), help="A menu, beside which the rate is a unique one."
)
@session
def compare(
    cards: tuple[Path, ...], rate: float, requires: str | None, menu: Path | None, session: Session
) -> None:
    """Print the efficiency of the scores of CARDS, each at the same rate, on all signals of the samples.

    CARDS are those of networks and trees, and of y − Y(x). Efficiencies are of all events of a signal.
    """

    def compared(menus: list[Menu], good: Catalogue, **how: Any) -> Table:
        return efficiencies(cards, good, rate, requires, menus[0] if menus else None, **how)

    table = session.run(session.menus(menu) if menu else [], compared)
    present([table])
