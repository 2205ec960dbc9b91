"""The commands `trigemu decade train`, `suggest` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.cli.outputs import check_inputs, on_disk, present
from trigemu.cli.progress import bar, menus_bar, steps_bar
from trigemu.cli.session import Processing, processing
from trigemu.menus.read import read_menu
from trigemu.results.documents import in_json
from trigemu.samples.catalogue import Catalogue, without_bad_files
from trigemu.studies.efficiency_profiles import read_profiles

if TYPE_CHECKING:  # these modules need packages that only training needs
    from .training.config import Config
    from .verdict import Verdict


@click.group("decade")
def command() -> None:
    """Train and check decorrelated anomaly triggers."""


max_trees = click.option(
    "--max-trees", type=click.IntRange(min=1), help="Largest number of trees [default: from CONFIG]."
)


@command.command()
@click.argument("config", type=click.Path(path_type=Path))
@options.samples
@processing
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for models and cards [default: the folder of CONFIG].",
)
@max_trees
@click.option(
    "--replicas",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Train N times, into the folders 1 to N of the output: with the seeds 1 to N, even ones on the "
    "other half, unless a card says which half its score was trained on.",
)
@click.pass_context
def train(
    context: click.Context,
    config: Path,
    catalogue: Path | None,
    processing: Processing,
    output: Path | None,
    max_trees: int | None,
    replicas: int | None,
) -> None:
    """Train the models that CONFIG (TOML) describes on one half of the samples.

    The card decade.toml is replaced last and refers to a new folder with all other files: an interrupted
    training leaves the old set intact. The exit status is 1 if a trigger with these models would fail its
    purpose.
    """
    try:
        from .training.scored import half_of_card
        from .training.write import CARD
    except ImportError as error:
        raise MissingExtraError("trigemu decade train", "train", str(error.name)) from None
    from .training.config import read_config, replica, with_most_trees

    settings = with_most_trees(read_config(config), max_trees)
    folder = config.parent if output is None else output
    half = half_of_card(settings)
    sets = [(settings if half is None else replace(settings, half=half), folder)]
    if replicas:
        sets = [(replica(settings, number, half), folder / str(number)) for number in range(1, replicas + 1)]
    for _, new in sets:
        _make(new)
    check_outputs([new / CARD for _, new in sets], (config, settings.menu, catalogue, settings.card))
    epochs = len(sets) * _epochs(settings)
    with (
        processing.opened(catalogue) as (engine, samples),
        bar("epochs", epochs) as advance,
        _choosing(settings) as begin,
    ):
        verdicts = [
            _train(configuration, samples, new, advance, engine, begin) for configuration, new in sets
        ]
    if not all(verdict.passes for verdict in verdicts):
        context.exit(1)


def _train(
    settings: Config,
    samples: Catalogue,
    folder: Path,
    advance: Callable[[int], None],
    engine: Any,
    begin: Callable[[str], None],
) -> Verdict:
    """Train one set of models, write it into a folder, and print a summary."""
    from .training.train import train as fit
    from .training.write import chosen, write

    used, trained = without_bad_files(
        samples, lambda good: (good, fit(settings, good, advance, engine, begin))
    )
    digests = write(trained, settings, used, folder)
    if trained.choice:
        present([chosen(trained.choice)], [], [])
    say(
        f"q = {trained.q:.5f}: out of fold, the threshold for {settings.table.training.unique_rate_hz:g} Hz "
        f"is {trained.shift.threshold:.4f} ± {trained.shift.error:.4f}, which is added to Y(x)"
    )
    quantile = trained.quantile
    say(
        f"network of {quantile.weights} weights"
        if quantile.weights
        else f"{quantile.trees} trees, {quantile.split_nodes} split nodes"
    )
    for name, digest in digests.items():
        say(f'card = "{folder / name}"\nsha256 = "{digest}"')
    present([trained.verdict.table(), f"Out of fold: {trained.verdict.text}"], [])
    return trained.verdict


@contextmanager
def _choosing(settings: Config) -> Iterator[Callable[[str], None]]:
    """Show the fits in which x is chosen from a menu, if it is."""
    if not settings.candidates:
        yield lambda fit: None
        return
    from .training.choice import MOST

    say(
        f"trigemu: x is chosen from {len(settings.candidates)} observables, with two fits to at most {MOST} "
        f"events for each that a step considers",
        err=True,
    )
    with steps_bar(None) as begin:
        yield begin


def _epochs(settings: Config) -> int:
    return settings.table.autoencoder.epochs if settings.inputs and settings.table.autoencoder else 0


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrigemuError(f"cannot create {folder}: {error.strerror}") from None


@command.command()
@click.argument("config", type=click.Path(path_type=Path))
@options.samples
@processing
@max_trees
def suggest(config: Path, catalogue: Path | None, processing: Processing, max_trees: int | None) -> None:
    """Print the observables that x = "menu" would choose for CONFIG (TOML), without further training."""
    try:
        from .training.train import suggest as steps
        from .training.write import chosen
    except ImportError as error:
        raise MissingExtraError("trigemu decade suggest", "train", str(error.name)) from None
    from .training.config import from_menu, read_config, with_most_trees

    settings = from_menu(with_most_trees(read_config(config), max_trees))
    epochs = _epochs(settings)
    with (
        processing.opened(catalogue) as (engine, samples),
        bar("epochs", epochs) as advance,
        _choosing(settings) as begin,
    ):
        choice = without_bad_files(samples, lambda good: steps(settings, good, advance, engine, begin))
    present([chosen(choice)], [], [])


@command.command("check")
@options.menu
@options.samples
@processing
@options.plugin_path
@click.option("--trigger", help="Name of the trigger, if the menu has several of kind decade.")
@options.json_file
@click.option(
    "--figures", type=click.Path(file_okay=False, path_type=Path), help="Draw the figures into this folder."
)
@click.option(
    "--replicas",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that `decade train --replicas` wrote: check each set of models in place of the one of MENU.",
)
@click.option(
    "--efficiency",
    "profiles",
    type=click.Path(path_type=Path),
    help="With --replicas: file of efficiency profiles (TOML); their gains are measured for each replica.",
)
@click.pass_context
def check_(
    context: click.Context,
    menu: Path,
    catalogue: Path | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    trigger: str | None,
    json_file: Path | None,
    figures: Path | None,
    folder: Path | None,
    profiles: Path | None,
) -> None:
    """Check that a decade trigger of MENU accepts the same fraction of background at every x.

    The exit status is 1 if it fails its purpose.
    """
    from .check import as_dict, check, scored_events, summary
    from .replicas import check_replicas
    from .verdict import judge

    if profiles and not folder:
        raise click.UsageError(
            "--efficiency is for --replicas: `trigemu efficiency` measures one set of models"
        )
    outputs = on_disk(json_file)
    check_outputs(outputs, (menu, catalogue, profiles))
    path = search_path(plugin_path)
    read = read_menu(menu, path)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(outputs, [read], samples)
        if folder:
            profile_set = read_profiles(profiles) if profiles else None
            about = [read_menu(file, path) for file in profile_set.menus] if profile_set else []
            checked = without_bad_files(
                samples, lambda good: check_replicas(read, good, folder, trigger, profile_set, about, engine)
            )
            tables = [checked.summary(), checked.each()]
            present(tables, [(json_file, lambda: in_json(checked.as_dict()))], checked.draw(figures))
            for line in checked.notes():
                say(line)
            return
        with menus_bar([read], samples, engine) as advance:
            events = without_bad_files(
                samples, lambda good: scored_events(read, good, trigger, engine, advance)
            )
    result, files = check(events, figures)
    verdict = judge(events, result, read)
    document = as_dict(result) | {"verdict": asdict(verdict)}
    present(
        [summary(result), verdict.table(), verdict.text],
        [(json_file, lambda: in_json(document))],
        files,
    )
    if not verdict.passes:
        context.exit(1)
