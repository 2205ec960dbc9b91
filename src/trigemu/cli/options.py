"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

menu = click.argument("menu", type=click.Path(path_type=Path))
samples = click.option(
    "--samples",
    "catalogue",
    type=click.Path(path_type=Path),
    help="Catalogue (TOML) of the samples to use; the embedded ones by default.",
)
workers = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes to share the work; the result does not depend on it.",
)
plugin_path = click.option(
    "--plugin-path",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    multiple=True,
    help="Folder of plugins, repeatable [default: TRIGEMU_PLUGIN_PATH, else plugins/].",
)
