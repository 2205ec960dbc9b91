"""`trigemu generate`: a simulated sample from a configuration."""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.base.files import check_outputs, is_file
from trigemu.cli import options
from trigemu.cli.console import bar, say

from . import run as sample
from .config import load_config


@click.command()
@click.argument("config", shell_complete=options.LOCATION.shell_complete)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for catalogue, ROOT files and interactions; an interrupted run continues from it.",
)
@click.option("--workers", type=options.WORKERS, default=1, show_default=True)
def generate(config: str, output: Path, workers: int) -> None:
    """Generate a sample from CONFIG, a TOML file or the name of a shipped configuration ("embedded")."""
    settings = load_config(config)
    if is_file(config):
        check_outputs(sample.written_files(settings, output), [config])
    with bar("generating", settings.interactions) as advance:
        catalogue = sample.generate(
            settings, output, workers=workers, progress=lambda step, total: advance(step)
        )
    say(catalogue)
