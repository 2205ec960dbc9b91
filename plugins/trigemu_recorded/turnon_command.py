"""`trigemu turnon`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.cli import options
from trigemu.cli.session import Session, collects, session
from trigemu.studies.efficiency_profiles import parse_bins

from .turnon import Probes, matched_turnons


@click.command()
@options.menu
@click.argument("triggers", nargs=-1, required=True, metavar="TRIGGER...")
@collects(
    Probes,
    "probes",
    click.option("--against", required=True, help="Probes: an object of the MENU, or a collection."),
    click.option("--dr", type=float, default=0.2, show_default=True, help="ΔR of matched objects."),
    click.option("--leg", type=click.IntRange(0), help="Number of the leg, from 0, if legs differ."),
    click.option("--tag", help="Tag and probe: the trigger whose first leg the tag is matched to."),
    click.option("--mass", type=(float, float), help="Mass window of tag and probe in GeV: two numbers."),
    click.option("--sample", "samples", multiple=True, help="Sample; repeatable [default: the background]."),
    click.option("--require", help="Condition on probe[0] and its event [default: from the catalogue]."),
)
@click.option("--bins", required=True, help="Bin edges in pT in GeV: 0:100:5 or 0,20,50,100.")
@session
@options.json_file
@options.csv_file
@options.figure
def turnon(menu: Path, triggers: tuple[str, ...], probes: Probes, bins: str, session: Session) -> None:
    """Measure and fit turn-ons of each TRIGGER of a MENU against other objects, matched to its own."""
    edges = parse_bins(bins)
    (read,) = session.menus(menu)

    result = session.run(
        [read],
        lambda menus, good, **how: matched_turnons(menus[0], triggers, probes, edges, good, **how),
    )
    session.present(result)
