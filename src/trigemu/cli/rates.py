"""`trigemu run` and `trigemu compare`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.outputs import overlaps
from trigemu.cli.session import Session, session
from trigemu.menus.menu import Menu
from trigemu.rates.menu_rates import emulation_of, rates_of, rates_of_columns
from trigemu.results.comparison import ComparisonView
from trigemu.results.rates import pictures_of
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
    menus = session.columns(menu)
    if not menus[0].columns.chosen:
        result = session.run(menus, lambda menus, good, **how: rates_of(emulation_of(menus, good, **how)))
        session.present(result, *overlaps({"": result}, overlap), pictures=pictures_of([result]))
        return
    columns = session.run(menus, rates_of_columns, lambda good: good.background * passes(menus))
    pages = overlaps({f"Column {name}": rates for name, rates in columns.items()}, overlap)
    session.present(columns, *pages, pictures=pictures_of([*columns.values()]))


def passes(menus: Sequence[Menu]) -> int:
    """Return the number of passes over the background: columns of equal conditions share one."""
    conditions = {menu.columns.conditions for menu in menus}
    return len(conditions) * (1 + any(menu.budgeted for menu in menus))


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
