"""`trigemu turnon`: turn-ons with their fits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from trigemu.cli import options
from trigemu.cli.session import Session, collects, session
from trigemu.results.efficiency import EfficienciesView, turnon_table
from trigemu.results.numbers import with_error
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import Figures
from trigemu.studies.efficiency_profiles import parse_bins

from .turnon import MatchedTurnons, Probes, matched_turnons

#: The numbers of a fit as they are printed, with their scale.
_NUMBERS = {
    Column("x50", "share", "50 % [GeV]"): 1,
    Column("x95", "share", "95 % [GeV]"): 1,
    Column("width", "share", "width [GeV]"): 1,
    Column("plateau", "share", "plateau [%]"): 100,
}


class MatchedTurnonsView(EfficienciesView):
    """A row of files is a bin of a curve, or without edges all of its probes."""

    def page(self, result: MatchedTurnons) -> Page:  # type: ignore[override]
        whole, probes, (turnon,) = super().page(result), result.probes, result.turnons
        bins = turnon_table(turnon)
        shown = (c.headed("probes") if c.name == "events" else c for c in bins.columns if c.name != "menu")
        fits = Table((Column("trigger", "key", "trigger"), *_NUMBERS))
        without = []
        for curve, fit in zip(turnon.curves, result.fits, strict=True):
            texts = dict.fromkeys((column.name for column in _NUMBERS), "–")
            for column, scale in _NUMBERS.items() if fit else ():
                value, error = (getattr(fit, column.name + end) for end in ("", "_error"))
                texts[column.name] = with_error(scale * value, scale * error)
            fits.add_record({"trigger": curve.trigger} | texts)
            without += [] if fit else [str(curve.trigger)]
        mass = ", and the mass of both is {:g} to {:g} GeV".format(*probes.mass) if probes.mass else ""
        beside = f" beside a tag, which is matched to an object of {probes.tag}{mass}" if probes.tag else ""
        notes = [
            f"Probes: {probes.against}{beside}.",
            f"A probe passes if the trigger fires and an object of its leg is within ΔR {probes.dr:g}.",
            "The points of the fits are those of 50 % and 95 % of the plateau.",
        ]
        if without:
            notes.append(f"No fit of {', '.join(without)}: no rise within the bins, or too few probes in it.")
        return Page([Table([*shown], bins.rows), "", fits], [*notes, *whole.notes])

    def document(self, result: MatchedTurnons) -> dict[str, Any]:  # type: ignore[override]
        names = (str(curve.trigger) for curve in result.turnons[0].curves)
        fits = {name: fit and asdict(fit) for name, fit in zip(names, result.fits, strict=True)}
        return {"probes": asdict(result.probes), "fits": fits} | super().document(result)

    def figures(self, result: MatchedTurnons) -> Figures:  # type: ignore[override]
        from trigemu.results.figures import style

        (turnon,) = result.turnons
        edges = np.array(turnon.profile.edges)
        x, fine = (edges[1:] + edges[:-1]) / 2, np.linspace(edges[0], edges[-1], 500)
        names = style.shown(str(curve.trigger) for curve in turnon.curves)
        with style.figure(6.4, 4.8) as (made, axes):
            for number, (curve, fit) in enumerate(zip(turnon.curves, result.fits, strict=True)):
                colour = style.COLOURS[number % len(style.COLOURS)]
                errors = np.maximum([curve.value - curve.low, curve.high - curve.value], 0.0)
                label = style.literal(names[str(curve.trigger)])
                axes.errorbar(
                    x, curve.value, errors, np.diff(edges) / 2, "o", color=colour, ms=4, label=label
                )
                if fit:
                    axes.plot(fine, fit.at(fine), color=colour, linewidth=1.6)
                    points = np.array([fit.x50, fit.x95])
                    axes.vlines(points, 0, fit.at(points), colour, linestyle=":", linewidth=1.4)
                    axes.plot(points, fit.at(points), "D", color="white", mec=colour, ms=6, zorder=4)
            axes.set(xlim=edges[[0, -1]], ylim=(0, 1.05), ylabel="efficiency")
            axes.set_xlabel(style.axis_label(turnon.profile.name, turnon.profile.unit))
            axes.set_title(style.literal(turnon.heading), loc="right", fontsize=11.5)
            axes.legend(fontsize=11.5, frameon=False, loc="lower right")
        yield made


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
