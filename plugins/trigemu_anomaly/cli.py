"""The command `trigemu anomaly card`."""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError, excerpt, few_of
from trigemu.base.files import check_outputs, read_bounded, write_text
from trigemu.cli.console import say

from .card import MAX_BYTES, Blocks, input_blocks, input_tables, network_table
from .models import open_model
from .network import Network

#: The first lines of a card: what its author has to add.
_HEAD = """\
# Written by `trigemu anomaly card`. Complete it where a comment begins with "Add".

{description}
# Add above what the score measures and how the model was trained.

# Add the selections that the inputs were computed with, as in a menu. Without them jet, n_jet, ht … are of
# all objects of a sample:
# [objects.jet]
# from = "jet"
# pt = {{ min = 20.0 }}

# Add the training events, from which no rates are then computed:
# [trained_on]
# catalogue = "embedded"
# files = ["sha256 of each file"]
# half = "training"

"""
#: The number of objects that the summary names, and of inputs.
_NAMED, _PAIRS = 4, 100


@click.group("anomaly")
def command() -> None:
    """Describe the model of an anomaly trigger."""


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
def card(model: Path, texts: tuple[str, ...], file: Path) -> None:
    """Write a card for MODEL, a file with one score per event, for the kind `network`.

    The model is checked as when a menu uses it. The card can be used at once. Its comments ask for what only
    the author of the model knows: the selection of objects, values that replace missing ones, the training
    events.
    """
    check_outputs([file], [model])
    blocks = input_blocks(texts, file)
    inputs = [text for _, block in blocks for text in block]
    number = len(inputs)
    content = read_bounded(model, MAX_BYTES)
    try:
        opened = open_model(content, number, inputs=inputs)
    except TrigemuError as error:
        raise TrigemuError(f"{model} {error}".replace("the card names", "--inputs names")) from None
    what, score = f"{number} inputs", f"The score of {model.name}."
    if isinstance(opened, Network):
        read, output = opened.ends
        what, score = f"{what} in {read!r}, score {output!r}", f"The output {output!r} of {model.name}."
    tables = [network_table(model, content, file), *input_tables(blocks)]
    write_text(file, _HEAD.format(description=toml_text.entry("description", score)) + "\n".join(tables))
    for line in _summary(file, f"{what} of {model}", blocks):
        say(line)
    for note in opened.notes:
        say(f"Warning: {model} {note}.")
    pairs = zip(opened.names, inputs, strict=False)
    if others := [f"{name} = {text}" for name, text in pairs if name != text]:
        given = excerpt(few_of(others, _PAIRS), 2000)
        say(f"{model} names its inputs, and --inputs gives for them: {given}")


def _summary(file: Path, what: str, blocks: Blocks) -> list[str]:
    objects = few_of([*dict.fromkeys(objects for objects, _ in blocks if objects)], _NAMED)
    return [
        f"{file}: {what}. Add by hand, as its comments say:",
        "  description   what the score measures, and how the model was trained",
        "  [objects]     the selections of the training, and [sums]; now all objects of a sample",
        *([f"  padding       if the model takes events without {objects}"] if objects else []),
        "  [trained_on]  the training events, from which no rates are computed",
        "Normalisation and masks are part of the model, which reads GeV and radians.",
        "",
        "A trigger with it, in a menu in the same folder:",
        "  [[trigger]]",
        '  name = "AD"',
        '  kind = "network"',
        f"  card = {toml_text.value(file.name)}",
        "  total_rate_hz = 1000.0",
    ]
