"""`trigemu compare`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.shown import view_of
from trigemu.cli import options
from trigemu.cli.conditions import Conditions, conditions
from trigemu.cli.session import Session, session
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_column, read_prescales
from trigemu.studies.comparison import compare as compare_menus


@click.command()
@options.menus
@session
@options.errors
@options.prescales
@click.option("--column", help="Use this column of prescales of every menu that has columns.")
@click.option("--all", "every", is_flag=True, help="Also print the rates of triggers that do not differ.")
@conditions
@options.json_file
@options.csv_file
def compare(
    menus: tuple[Path, ...],
    session: Session,
    prescales: Path | None,
    column: str | None,
    every: bool,
    conditions: Conditions,
) -> None:
    """Compare MENUs, variants of each other, on the same events."""
    if len(menus) < 2:
        raise TrigemuError(f"{menus[0]}: a comparison needs at least two menus")
    variants = [_at_column(menu, prescales, column) for menu in session.menus(*menus)]
    result = compare_menus(conditions.emulate(session, variants))
    overlaps = conditions.overlaps((variant.menu.name, variant) for variant in result.variants)
    page, drawn = view_of(result).page(result, every), conditions.drawn(result.variants)
    session.present(result, *overlaps, page=page, lines=drawn)


def _at_column(menu: Menu, prescales: Path | None, column: str | None) -> Menu:
    """Return a menu with the prescales of a column, if one is chosen and the menu has any."""
    with_columns = read_prescales(menu, prescales) if prescales else menu
    if column is None or not with_columns.columns.names:
        return with_columns
    return at_column(with_columns, column)
