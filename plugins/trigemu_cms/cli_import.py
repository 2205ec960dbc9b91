"""`trigemu import cms-l1`, `trigemu import cms-phase2`"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trigemu.base.files import check_outputs, write_text
from trigemu.cli.console import say

if TYPE_CHECKING:
    from .imported import Imported
    from .networks import ScoreNetwork

mass_limit = click.option(
    "--mass-limit",
    is_flag=True,
    help="CMS: `mass`, the function of 2016, never fires above 1414 GeV, as in the emulator of that year.",
)
any_overlap_vetoes = click.option(
    "--any-overlap-vetoes",
    is_flag=True,
    help="CMS: overlap removal rejects an object that overlaps with any object of the last leg, not only "
    "with the chosen one, as in the emulator until 2021.",
)
networks = click.option(
    "--network",
    "networks",
    multiple=True,
    metavar="NAME=CARD",
    help="CMS: compute a score by a network, such as axo=axol1tl_v5.toml, from `trigemu import hls4ml`; "
    "repeatable, also for several versions of one network, of which menus name theirs.",
)


def networks_of(texts: Iterable[str]) -> tuple[ScoreNetwork, ...]:
    """Return the networks of the option; without any, the plugin that runs them is not needed."""
    if not texts:
        return ()
    from .networks import read_network

    return tuple(map(read_network, texts))


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
    from .l1 import import_cms_l1
    from .l1_conditions import AsEmulated

    check_outputs([file], [menu])
    as_emulated = AsEmulated(mass_limit, any_overlap_vetoes, networks_of(networks))
    imported = import_cms_l1(menu, as_emulated)
    _write(file, imported, f"{imported.items} algorithms, {imported.parts} conditions that they combine")
    for network in as_emulated.networks:
        if network.menu:
            say(f"{network.signal}: {network.name} decides as recorded in the menu {network.menu}")


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
    from .phase2 import import_cms_phase2

    folders = filter(None, (objects, scalings))
    check_outputs([file], (menu, *(part for folder in folders for part in folder.glob("*"))))
    imported = import_cms_phase2(menu, objects, scalings)
    _write(file, imported, f"{imported.items} seeds, {imported.parts} objects")


def _write(file: Path, imported: Imported, counts: str) -> None:
    write_text(file, imported.in_folder(file.parent))
    for warning in imported.warnings:
        say(f"Warning: {warning}.")
    for out in imported.left_out:
        say(out.sentence())
    say(f"{file}: {counts}")
