"""`trigemu rates-vs section`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu.cli import options
from trigemu.cli.session import Session, session
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue

from .along import RunRates, rates_along
from .along_view import RunRatesView


@click.command()
@options.menu
@click.option("--trigger", "triggers", multiple=True, help="Print and draw only these; repeatable.")
@click.option("--at-pileup", type=options.POSITIVE, help="Also predict the rates at this pile-up.")
@click.option(
    "--order", type=int, help="Order of the polynomials in the pile-up [default: by an F test at 5 %]."
)
@click.option(
    "--false-alarms",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability, for each trigger, to find a change in a run without any; also of an outlier.",
)
@session
@options.json_file
@options.csv_file
@options.figure
def section(
    menu: Path,
    triggers: tuple[str, ...],
    at_pileup: float | None,
    order: int | None,
    false_alarms: float,
    session: Session,
) -> None:
    """Print the rates of a MENU along a run of recorded data, by section of luminosity: their fit against
    pile-up, outliers and changes."""
    (read,) = session.menus(menu)
    for name in triggers:
        read.trigger(name)  # raises an error for other names

    def task(menus: list[Menu], good: Catalogue, **how: Any) -> RunRates:
        return rates_along(menus[0], good, pileup=at_pileup, order=order, false_alarms=false_alarms, **how)

    result = session.run([read], task)
    session.present(result, view=RunRatesView(triggers))
