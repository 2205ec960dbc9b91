"""`trigemu rates-vs`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.session import Session, session
from trigemu.results.bins import BinnedRatesView
from trigemu.studies.bins import binned_rates
from trigemu.studies.efficiency_profiles import parse_bins


@click.command("rates-vs")
@click.argument("observable")
@options.menu
@click.option("--bins", required=True, help="Bin edges: 0:60:5 or 0,20,50,100; bins exclude the upper one.")
@click.option("--trigger", "triggers", multiple=True, help="Print and draw only these; repeatable.")
@session
@options.json_file
@options.csv_file
@options.figure
def rates_vs(observable: str, menu: Path, bins: str, triggers: tuple[str, ...], session: Session) -> None:
    """Print the rates of a MENU in bins of an OBSERVABLE, such as n_interaction or jet[0].pt."""
    edges = parse_bins(bins)
    (read,) = session.menus(menu)
    for name in triggers:
        if not read.trigger(name).enabled:
            raise TrigemuError(f"{menu}: trigger {name!r} is disabled: it has no rates")
    result = session.run(
        [read], lambda menus, good, **how: binned_rates(menus[0], observable, edges, good, **how)
    )
    session.present(result, view=BinnedRatesView(triggers))
