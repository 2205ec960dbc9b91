"""The commands `trigemu decade train`, `suggest` and `check`."""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.cli.outputs import check_inputs, on_disk, present
from trigemu.cli.processing import Processing, processing
from trigemu.cli.progress import bar, menus_bar
from trigemu.output.documents import in_json
from trigemu.samples import without_bad_files
from trigemu.support import MissingExtraError, TrigemuError, check_outputs
from trigemu.triggers import search_path


@click.group("decade")
def command() -> None:
    """Train and check decorrelated anomaly triggers."""


@command.command()
@click.argument("config", type=click.Path(path_type=Path))
@options.samples
@processing
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for models and cards [default: that of CONFIG].",
)
def train(config: Path, catalogue: Path | None, processing: Processing, output: Path | None) -> None:
    """Train the models that CONFIG (TOML) describes on one half of the samples.

    The card decade.toml is replaced last, and refers to a new folder with all other files: a training that
    is interrupted leaves the old set, and the next one continues it after its last finished stage.
    """
    try:
        from .training.stages import Stages
        from .training.train import Trained
        from .training.train import train as fit
        from .training.write import CARD, chosen, write
    except ImportError as error:
        raise MissingExtraError("trigemu decade train", "train", str(error.name)) from None
    from .training.config import read_config

    settings = read_config(config)
    folder = config.parent if output is None else output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrigemuError(f"cannot create {folder}: {error.strerror}") from None
    check_outputs([folder / CARD], (config, settings.menu, catalogue, settings.card))
    epochs = settings.table.autoencoder.epochs
    with processing.opened(catalogue) as (engine, samples), bar("epochs", epochs) as advance:

        def fitted(good: trigemu.Catalogue) -> tuple[Trained, Stages, trigemu.Catalogue]:
            return *fit(settings, good, advance, folder, engine), good

        trained, stages, used = without_bad_files(samples, fitted)
    digests = write(trained, settings, used, folder)
    stages.remove()
    if trained.choice:
        present([chosen(trained.choice)], [], [])
    for number, attempt in enumerate(trained.attempts, start=1):
        say(
            f"fit {number}: q = {attempt.q:.5f}: {attempt.unique_hz:.0f} Hz above Y(x); "
            f"the cut for {settings.table.training.unique_rate_hz:g} Hz is "
            f"{attempt.solution.cut:.4f} ± {attempt.solution.error:.4f}"
        )
    say(f"{trained.quantile.trees} trees, {trained.quantile.split_nodes} split nodes")
    for name, digest in digests.items():
        say(f'card = "{folder / name}"\nsha256 = "{digest}"')


@command.command()
@click.argument("config", type=click.Path(path_type=Path))
@options.samples
@processing
def suggest(config: Path, catalogue: Path | None, processing: Processing) -> None:
    """Say which observables x = "menu" would choose for CONFIG (TOML), and train nothing else."""
    try:
        from .training.train import suggest as steps
        from .training.write import chosen
    except ImportError as error:
        raise MissingExtraError("trigemu decade suggest", "train", str(error.name)) from None
    from .training.config import from_menu, read_config

    settings = from_menu(read_config(config))
    epochs = 0 if settings.card else settings.table.autoencoder.epochs
    with processing.opened(catalogue) as (engine, samples), bar("epochs", epochs) as advance:
        found = without_bad_files(samples, lambda good: steps(settings, good, advance, engine))
    present([chosen(found)], [], [])


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
def check_(
    menu: Path,
    catalogue: Path | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    trigger: str | None,
    json_file: Path | None,
    figures: Path | None,
) -> None:
    """Check that a decade trigger of MENU accepts the same fraction of background at every x."""
    from .check import as_dict, check, scored_events, summary

    outputs = on_disk(json_file)
    check_outputs(outputs, (menu, catalogue))
    read = trigemu.read_menu(menu, search_path(plugin_path))
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(outputs, [read], samples)
        with menus_bar([read], samples, engine) as advance:
            events = without_bad_files(
                samples, lambda good: scored_events(read, good, trigger, engine, advance)
            )
    result, files = check(events, figures)
    present([summary(result)], [(json_file, lambda: in_json(as_dict(result)))], files)
