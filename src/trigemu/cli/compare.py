"""`trigemu compare`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.outputs import overlaps
from trigemu.cli.session import Session, session
from trigemu.results.comparison import ComparisonView
from trigemu.results.rates import pictures_of
from trigemu.studies.comparison import compare as compare_menus


@click.command()
@options.menus
@session
@click.option("--all", "every", is_flag=True, help="Also print the rates of triggers that do not differ.")
@options.overlap
@options.figures
@options.json_file
@options.csv_file
def compare(menus: tuple[Path, ...], session: Session, every: bool, overlap: str | None) -> None:
    """Compare MENUs, variants of each other, on the same events."""
    if len(menus) < 2:
        raise TrigemuError(f"{menus[0]}: a comparison needs at least two menus")
    result = session.run(session.menus(*menus), compare_menus)
    pages = overlaps({variant.menu.name: variant for variant in result.variants}, overlap)
    session.present(result, *pages, view=ComparisonView(every), pictures=pictures_of(result.variants))
