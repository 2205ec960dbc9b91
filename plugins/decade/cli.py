"""`trigemu decade train`, `trigemu decade check`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.progress import bar
from trigemu.errors import MissingExtraError


@click.group("decade")
def command() -> None:
    """Train and check decorrelated anomaly triggers."""


@command.command()
@click.argument("config", type=click.Path(path_type=Path))
@options.samples
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for models and cards [default: that of CONFIG].",
)
def train(config: Path, catalogue: Path | None, output: Path | None) -> None:
    """Train the models that CONFIG (TOML) describes on one half of the samples."""
    try:
        from .training.train import train as fit
        from .training.write import METRICS, write
    except ImportError as error:
        raise MissingExtraError("trigemu decade train", "train", str(error.name)) from None
    from .training.config import read_config

    settings = read_config(config)
    samples = trigemu.open_catalogue(catalogue)
    folder = config.parent if output is None else output
    folder.mkdir(parents=True, exist_ok=True)
    with bar("epochs", settings.table.autoencoder.epochs) as advance:
        trained = fit(settings, samples, advance)
    digests = write(trained, settings, samples, folder)
    for number, attempt in enumerate(trained.attempts, start=1):
        click.echo(
            f"fit {number}: q = {attempt.q:.5f}: {attempt.unique_hz:.0f} Hz above Y(x); "
            f"the cut for {settings.table.training.unique_rate_hz:g} Hz is "
            f"{attempt.solution.cut:.4f} ± {attempt.solution.error:.4f}"
        )
    click.echo(f"{trained.quantile.trees} trees, {trained.quantile.split_nodes} split nodes")
    click.echo(f"{folder / METRICS}")
    for name, digest in digests.items():
        click.echo(f'card = "{folder / name}"\nsha256 = "{digest}"')
