"""`trigemu import …`: each importer is a command of a plugin."""

from __future__ import annotations

import click

from trigemu.cli.commands import PluginGroup


@click.group("import", cls=PluginGroup, part="importers")
def import_() -> None:
    """Convert menus of experiments to TOML."""
