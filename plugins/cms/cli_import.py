"""`trigemu import cms-l1`, `trigemu import cms-phase2`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.api import check_outputs, say, write_text

from .options import any_overlap_vetoes, mass_limit, networks, networks_of

output = click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), required=True, help="The new menu (TOML)."
)


@click.command("cms-l1")
@click.argument("menu", type=click.Path(path_type=Path))
@output
@mass_limit
@any_overlap_vetoes
@networks
def cms_l1(
    menu: Path, file: Path, mass_limit: bool, any_overlap_vetoes: bool, networks: tuple[str, ...]
) -> None:
    """Convert MENU, the XML of a CMS Level-1 global-trigger menu (also .xz, .gz)."""
    from .cms_l1 import import_cms_l1
    from .cms_l1_conditions import AsEmulated

    check_outputs([file], [menu])
    as_emulated = AsEmulated(mass_limit, any_overlap_vetoes, networks_of(networks))
    imported = import_cms_l1(menu, as_emulated)
    write_text(file, imported.in_folder(file.parent))
    for warning in imported.warnings:
        say(f"Warning: {warning}.")
    for out in imported.left_out:
        say(f"Left out: {out.index}, {out.name} (line {out.line}): {out.reason}.")
    say(f"{file}: {imported.algorithms} algorithms, {imported.conditions} conditions that they combine")


@click.command("cms-phase2")
@click.argument("menu", type=click.Path(path_type=Path))
@click.option(
    "--objects",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder with the YAML of its objects.",
)
@click.option(
    "--scalings",
    type=click.Path(path_type=Path),
    help="Folder of NAME:ID:RANGE.yaml, with slope and offset of offline pT.  [default: 1.1 and 2.0]",
)
@output
def cms_phase2(menu: Path, objects: Path, scalings: Path | None, file: Path) -> None:
    """Convert MENU, the YAML of a CMS Phase-2 Level-1 menu."""
    from .cms_phase2 import import_cms_phase2

    folders = filter(None, (objects, scalings))
    check_outputs([file], (menu, *(part for folder in folders for part in folder.glob("*"))))
    imported = import_cms_phase2(menu, objects, scalings)
    write_text(file, imported.toml)
    for warning in imported.warnings:
        say(f"Warning: {warning}.")
    for out in imported.left_out:
        say(f"Left out: {out.name} (line {out.line}): {out.reason}.")
    say(f"{file}: {imported.seeds} seeds, {imported.objects} objects")
