"""`trigemu run`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.cli import options
from trigemu.cli.conditions import Conditions, conditions
from trigemu.cli.session import Session, session
from trigemu.menus.prescales import ALL_COLUMNS, at_column, chosen_columns, read_prescales
from trigemu.rates.menu_rates import rates_of, rates_of_columns


@click.command()
@options.menu
@session
@options.errors
@options.prescales
@click.option(
    "--column",
    "columns",
    multiple=True,
    help=f"Use this column of prescales; repeatable; {ALL_COLUMNS!r}: every column.",
)
@conditions
@options.json_file
@options.csv_file
def run(
    menu: Path, session: Session, prescales: Path | None, columns: tuple[str, ...], conditions: Conditions
) -> None:
    """Run a MENU over samples and print each trigger's rates."""
    (read,) = session.menus(menu)
    if prescales:
        read, columns = read_prescales(read, prescales), columns or (ALL_COLUMNS,)
    menus = [at_column(read, name) for name in chosen_columns(read, columns)] if columns else [read]
    emulation = conditions.emulate(session, menus)
    if columns:
        of_columns = rates_of_columns(emulation)
        overlaps = conditions.overlaps((f"Column {name}", rates) for name, rates in of_columns.items())
        session.present(of_columns, *overlaps, lines=conditions.drawn([*of_columns.values()]))
    else:
        result = rates_of(emulation)
        session.present(result, *conditions.overlaps([("", result)]), lines=conditions.drawn([result]))
