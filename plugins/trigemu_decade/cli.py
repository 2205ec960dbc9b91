"""The commands `trigemu decade train` and `check`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path

import click

from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.files import check_outputs
from trigemu.cli import options
from trigemu.cli.console import bar, present, say, steps_bar, warn
from trigemu.cli.session import Session, processing, session
from trigemu.results.table import in_json
from trigemu.studies.efficiency_profiles import read_profiles


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
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for models and cards [default: the folder of CONFIG].",
)
@click.option(
    "--quantise",
    is_flag=True,
    help="Train the autoencoder in the integers of [autoencoder.quantise], as logic computes it.",
)
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
    session: Session,
    folder: Path | None,
    quantise: bool,
    replicas: int | None,
) -> None:
    """Train the models that CONFIG (TOML) describes on one half of the samples.

    The card decade.toml is replaced last and refers to a new folder with all other files: an interrupted
    training leaves the old set intact. The exit status is 1 if a trigger with these models would fail its
    purpose.
    """
    try:
        from .training.choice import MOST
        from .training.config import read_config, replica
        from .training.train import train as fit
        from .training.write import CARD, chosen, write
    except ImportError as error:
        raise MissingExtraError("trigemu decade train", "train", str(error.name)) from None

    settings, folder = read_config(config, quantise), folder or config.parent
    sets = [(settings, folder)]
    if replicas:
        sets = [(replica(settings, number), folder / str(number)) for number in range(1, replicas + 1)]
    for _, new in sets:
        try:
            new.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrigemuError(f"cannot create {new}: {error.strerror}") from None
    check_outputs([new / CARD for _, new in sets], (config, settings.menu, session.catalogue, settings.card))
    passes, learner = True, settings.table.autoencoder
    choosing: AbstractContextManager[Callable[[str], None]] = nullcontext(lambda fit: None)
    if number := len(settings.candidates):
        warn(
            f"x is chosen from {number} observables, with two fits to at most {MOST} events for each that a "
            f"step considers"
        )
        choosing = steps_bar(None)
    epochs = bar("epochs", len(sets) * learner.epochs if learner else 0)
    with session.opened() as (engine, samples), epochs as advance, choosing as begin:
        for one, new in sets:
            trained = fit(one, samples, advance, engine, begin)
            digests = write(trained, one, samples, new)
            if trained.choice:
                present([chosen(trained.choice)])
            say(
                f"q = {trained.q:.5f}: out of fold, the threshold for "
                f"{settings.table.training.unique_rate_hz:g} Hz is {trained.shift.threshold:.4f} ± "
                f"{trained.shift.error:.4f}, which is added to Y(x)"
            )
            model = trained.quantile
            trees = f"{model.trees} trees, {model.split_nodes} split nodes"
            say(f"network of {model.weights} weights" if model.weights else trees)
            for name, digest in digests.items():
                say(f'card = "{new / name}"\nsha256 = "{digest}"')
            present([trained.verdict.table(), f"Out of fold: {trained.verdict.text}"])
            passes &= trained.verdict.passes
    if not passes:
        context.exit(1)


@command.command("check")
@options.menu
@session
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
    "profile",
    type=click.Path(path_type=Path),
    help="With --replicas: file of efficiency profiles (TOML); their gains are measured for each replica.",
)
@click.pass_context
def check_(
    context: click.Context,
    menu: Path,
    session: Session,
    trigger: str | None,
    folder: Path | None,
    profile: Path | None,
) -> None:
    """Check that a decade trigger of MENU accepts the same fraction of background at every x.

    The exit status is 1 if it fails its purpose.
    """
    from .check import scored_events, summary
    from .diagnostics import diagnose
    from .replicas import check_replicas
    from .report import write_figures
    from .verdict import judge

    if profile and not folder:
        raise click.UsageError(
            "--efficiency is for --replicas: `trigemu efficiency` measures one set of models"
        )
    (read,) = session.menus(menu)
    if folder:
        profiles = read_profiles(profile) if profile else None
        about = session.menus(*profiles.menus) if profiles else []
        checked = session.run(
            [read],
            lambda menus, good, executor: check_replicas(
                menus[0], good, folder, trigger, profiles, about, executor
            ),
        )
        documents = [(session.json_file, lambda: in_json(checked.as_dict()))]
        files = checked.draw(session.figures) if session.figures else []
        present([checked.summary(), checked.each()], documents, [*files, *checked.notes()])
        return
    events = session.run([read], lambda menus, good, **how: scored_events(menus[0], good, trigger, **how))
    result = diagnose(events)
    files = write_figures(events, result, session.figures) if session.figures else []
    verdict = judge(events, result, read)
    documents = [(session.json_file, lambda: in_json(asdict(result) | {"verdict": asdict(verdict)}))]
    present([summary(result), verdict.table(), verdict.text], documents, files)
    if not verdict.passes:
        context.exit(1)
