"""`trigemu turnon`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.base.shown import view_of
from trigemu.cli import options
from trigemu.cli.session import Session, collects, session
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample
from trigemu.studies.efficiency_profiles import parse_bins

from .turnon import Probes, matched_turnons


@click.command()
@options.menu
@click.argument("triggers", nargs=-1, required=True, metavar="TRIGGER...")
@click.option("--bins", required=True, help="Bin edges in pT, in GeV: 0:100:5 or 0,20,50,100.")
@click.option(
    "--sample", "samples", multiple=True, help="Sample; repeatable [default: all of the background]."
)
@collects(
    Probes,
    "probes",
    click.option(
        "--against", required=True, help="Collection of the probes: an object of the MENU, or of the samples."
    ),
    click.option("--dr", type=float, default=0.2, show_default=True, help="ΔR of matched objects."),
    click.option(
        "--leg", type=click.IntRange(0), help="Number of the leg, from 0, if a trigger's legs differ."
    ),
    click.option("--tag", help="Tag and probe: the trigger whose (first) leg the tag fires."),
    click.option("--mass", type=(float, float), help="Mass window of tag and probe: two numbers in GeV."),
)
@click.option(
    "--require", help="Condition on a probe, probe[0], and its event [default: from the catalogue]."
)
@session
@options.json_file
@options.csv_file
@options.figure
def turnon(
    menu: Path,
    triggers: tuple[str, ...],
    bins: str,
    samples: tuple[str, ...],
    probes: Probes,
    require: str | None,
    session: Session,
    figure: Path | None,
) -> None:
    """Measure and fit turn-ons of each TRIGGER of a MENU against objects that are matched to its own."""
    edges = parse_bins(bins)
    (read,) = session.menus(menu)

    def read_samples(good: Catalogue) -> list[Sample]:
        background = good.background if read.budgeted else ()
        return [*(map(good.sample, samples) if samples else good.background), *background]

    result = session.run(
        [read],
        lambda menus, good, **how: matched_turnons(
            menus[0], triggers, probes, edges, good, samples, require, **how
        ),
        read_samples,
    )
    if figure:
        from trigemu.results.figures.style import save

        save(next(view_of(result).figures(result)), figure)
    session.present(result)
