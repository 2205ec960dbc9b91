"""`trigemu run` and `trigemu compare`"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.shown import Shown
from trigemu.cli import options
from trigemu.cli.session import Session, session
from trigemu.rates.menu_rates import rates_of_columns
from trigemu.rates.results import ColumnRates, MenuRates
from trigemu.results.comparison import ComparisonView
from trigemu.results.rates import overlap_page
from trigemu.results.table import Page
from trigemu.studies.comparison import compare as compare_menus


@click.command()
@options.menu
@session
@options.overlap
@options.figures
@options.json_file
@options.csv_file
def run(menu: Path, session: Session, overlap: str | None) -> None:
    """Run a MENU over samples and print each trigger's rates."""
    menus = session.menus(menu, by_column=True)
    columns = session.run(menus, rates_of_columns)
    in_columns = menus[0].columns.chosen is not None
    result: Shown = ColumnRates(columns) if in_columns else next(iter(columns.values()))
    named = {f"Column {name}" if in_columns else "": rates for name, rates in columns.items()}
    session.present(result, *overlaps(named, overlap))


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
    pages = overlaps({v.menu.name: v for v in result.variants}, overlap)
    session.present(result, *pages, view=ComparisonView(every))


def overlaps(rates: Mapping[str, MenuRates], which: str | None) -> Iterator[Page | str]:
    """Yield the "largest" overlaps of each menu below its name, or "all"; None: none."""
    for name, menu_rates in rates.items() if which else ():
        yield from ("", name) if name else ("",)
        yield overlap_page(menu_rates, which == "all")
