"""`trigemu compare`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.shown import view_of
from trigemu.cli import options
from trigemu.cli.outputs import drawn, overlaps
from trigemu.cli.session import Session, session
from trigemu.studies.comparison import compare as compare_menus


@click.command()
@options.menus
@session
@click.option("--all", "every", is_flag=True, help="Also print the rates of triggers that do not differ.")
@options.overlap
@options.figures
@options.json_file
@options.csv_file
def compare(
    menus: tuple[Path, ...], session: Session, every: bool, overlap: str | None, figures: Path | None
) -> None:
    """Compare MENUs, variants of each other, on the same events."""
    if len(menus) < 2:
        raise TrigemuError(f"{menus[0]}: a comparison needs at least two menus")
    result = session.run(session.menus(*menus), compare_menus)
    pages = overlaps({variant.menu.name: variant for variant in result.variants}, overlap)
    page = view_of(result).page(result, every)
    session.present(result, *pages, page=page, lines=drawn(result.variants, figures))
