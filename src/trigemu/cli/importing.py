"""`trigemu import …`: each importer is a command that a plugin brings."""

from __future__ import annotations

import click

from trigemu.cli.brought import Brought


@click.group("import", cls=Brought, part="importers")
def import_() -> None:
    """Convert menus of experiments to TOML."""
