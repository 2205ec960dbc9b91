"""Efficiencies: one curve, turn-ons, and sets of them: what `trigemu efficiency` shows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu import __version__
from trigemu.base.arrays import FloatArray
from trigemu.base.errors import bounded_stem
from trigemu.results.notes import points, working_point
from trigemu.results.samples import left_out
from trigemu.results.table import Column, Page, RowStyle, Table
from trigemu.results.view import Figures, View, name
from trigemu.studies.efficiency import Efficiencies, Turnon
from trigemu.studies.intervals import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trigemu.results.section import Picture

_LOW = "The lower edge of the bin; empty for the whole category."
_HIGH = "The upper edge of the bin, which is not part of it; empty for the whole category."
_VALUE = "The efficiency; null in a bin without events."
_GAIN = "The efficiency minus that of the first menu, on the same events."
_OF_BUDGETS = "The part of that uncertainty that comes from thresholds that rate budgets found."
#: A bin of a curve, in files: what it is of, its edges, and the numbers of the curve.
COLUMNS = (
    Column("sample", "label", None, "The sample, if samples are measured apart."),
    Column("observable", "label", None, "The observable."),
    Column("category", "label", None, "The condition of the category."),
    Column("menu", "label", None, "The menu."),
    Column("trigger", "label", None, "The trigger; empty for the whole menu."),
    Column("low_edge", meaning=_LOW, upper="high_edge"),
    Column("high_edge", meaning=_HIGH),
    Column("events", "count", None, "The number of events."),
    Column("efficiency", "share", None, _VALUE, errors=("low", "high")),
    Column("low", "share", None, "The lower end of its interval at 68 %."),
    Column("high", "share", None, "The upper end of its interval at 68 %."),
    Column("gain", "share", None, _GAIN, errors=("gain_error",)),
    Column("gain_error", "share", None, "The uncertainty of the gain."),
    Column("gain_threshold_error", "share", None, _OF_BUDGETS),
)
_NUMBERS = tuple(column.name for column in COLUMNS[8:])
#: The numbers as they are printed.
_PRINTED = (
    Column(
        "efficiency", "share", "efficiency [%]", text=lambda v: "–" if math.isnan(v) else f"{100 * v:.2f}"
    ),
    Column("interval", "share", "interval [%]", gives_way=2),
    Column("gain in words", "share", "gain [%]"),
)


def band(curve: Curve) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values of a curve, and the lower and upper ends of their intervals."""
    return curve.value, curve.low, curve.high


def _numbers(source: Any) -> dict[str, Any]:
    """Return the numbers of a curve, or of its whole category, by their names in files."""
    return {key: getattr(source, "value" if key == "efficiency" else key) for key in _NUMBERS}


def rows_of(curve: Curve) -> Iterator[dict[str, Any]]:
    """Yield the row of each bin of a curve, then that of the whole category, without edges: with what files
    have, and the texts of what is printed."""
    bins = zip(*(values.tolist() for values in _numbers(curve).values()), strict=True)
    whole = tuple(_numbers(curve.overall).values())
    for (low_edge, high_edge), values in zip(
        [*pairwise(curve.profile.edges), (None, None)], [*bins, whole], strict=True
    ):
        row = {"low_edge": low_edge, "high_edge": high_edge} | dict(zip(_NUMBERS, values, strict=True))
        row["bin"] = "all" if low_edge is None else f"{low_edge:g} to {high_edge:g}"
        value, low, high, gain, error, _ = (100 * number for number in values)
        if not math.isnan(value):
            row["interval"] = f"{low:.2f} to {high:.2f}"
            row["gain in words"] = f"{gain:+z.2f} ± {error:.2f}" if gain or error else "0"
        yield row


def of_curve(curve: Curve) -> dict[str, Any]:
    """Return one curve, as in the JSON document."""
    numbers = {key: values.tolist() for key, values in _numbers(curve).items()}
    names = {"menu": curve.menu, "trigger": curve.trigger}
    return names | numbers | {"overall": _numbers(curve.overall)}


class CurveView(View[Curve]):
    """A row is a bin, or without edges the whole category."""

    def line(self, result: Curve) -> str:
        return f"of {name(result.name)}: {100 * result.overall.value:.2f} % of all events"

    def page(self, result: Curve) -> Page:
        table = Table((Column("bin", "key", result.profile.name), *_PRINTED), title=result.name)
        for row in rows_of(result):
            table.add_record(row, "summary" if row["bin"] == "all" else "plain")
        return Page([table])

    def table(self, result: Curve) -> Table:
        return Table.of((*COLUMNS[5:7], *COLUMNS[8:]), rows_of(result))

    def document(self, result: Curve) -> dict[str, Any]:
        return of_curve(result)

    def figures(self, result: Curve) -> Figures:
        from trigemu.results.figures.draw import draw_efficiency

        profile, curves = result.profile, {result.name: band(result)}
        yield draw_efficiency(profile.name, profile.unit, np.array(profile.edges), curves, {})


class TurnonView(View[Turnon]):
    def page(self, result: Turnon) -> Page:
        return Page([turnon_table(result)])

    def table(self, result: Turnon) -> Table:
        return table_of([result])

    def document(self, result: Turnon) -> dict[str, Any]:
        return {
            "sample": result.sample,
            "observable": result.profile.observable,
            "category": result.category,
            "labels": [result.profile.name, result.name],
            "edges": list(result.profile.edges),
            "selected": result.selected,
            "events": result.events.tolist(),
            "effective_events": result.effective_events.tolist(),
            "curves": [of_curve(curve) for curve in result.curves],
        }

    def figures(self, result: Turnon) -> Figures:
        yield figure_of(result)


def table_of(turnons: Sequence[Turnon]) -> Table:
    """Return a row for each bin of each curve, and one without edges for the whole category."""
    apart = turnons[0].sample is not None
    table = Table(COLUMNS if apart else COLUMNS[1:])
    for turnon in turnons:
        head = {"observable": turnon.profile.observable, "category": turnon.category, "sample": turnon.sample}
        events = (*turnon.events.tolist(), turnon.selected)
        for curve in turnon.curves:
            head |= {"menu": curve.menu, "trigger": curve.trigger or ""}
            for number, row in zip(events, rows_of(curve), strict=True):
                table.add_record(head | {"events": number} | row)
    return table


def turnon_table(turnon: Turnon, with_bins: bool = True) -> Table:
    """Return the efficiencies in a category as a whole, and in the bins of its observable."""
    return _printed([turnon], turnon.name, turnon.profile.name if with_bins else "", with_bins)


def _printed(
    turnons: Sequence[Turnon], title: str, heading: str, with_bins: bool, apart: bool = False
) -> Table:
    """Return a line of each curve for each bin and the whole category, of which the first has the bin, or the
    sample if samples are `apart`, and its events; without gains if there is one menu, and without triggers if
    there is none. heading: that of the first column."""
    curves = turnons[0].curves
    names = [Column("menu", "key", "menu")]
    if any(curve.trigger for curve in curves):
        names.append(Column("trigger", "key", "trigger"))
    place = Column("bin", "key", heading), Column("events", "count", "events", gives_way=1)
    numbers = _PRINTED if has_gains(turnons[0]) else _PRINTED[:-1]
    table = Table((*place, *names, *numbers), title=title)
    for turnon in turnons:
        events = (*turnon.events.tolist(), turnon.selected)
        for number, *rows in zip(events, *map(rows_of, turnon.curves), strict=True):
            is_whole = rows[0]["low_edge"] is None
            style: RowStyle = "summary" if is_whole and not apart else "plain"
            first = {"bin": turnon.sample if apart else rows[0]["bin"], "events": number}
            for row, curve in zip(rows, turnon.curves, strict=True) if with_bins or is_whole else ():
                of_curve = {"menu": curve.menu, "trigger": curve.trigger}
                table.add_record(
                    row | of_curve | (first if curve is turnon.curves[0] else {"bin": ""}), style
                )
    return table


def has_gains(turnon: Turnon) -> bool:
    """Return whether there is a menu whose efficiency can be compared with that of the first."""
    return len({curve.menu for curve in turnon.curves}) > 1


def figure_of(turnon: Turnon) -> Figure:
    """Draw the curves of one observable in one category, and the gains over the first menu."""
    from trigemu.results.figures.draw import draw_efficiency
    from trigemu.results.figures.style import shown

    labels = shown(c.name for c in turnon.curves)
    curves = {labels[c.name]: band(c) for c in turnon.curves}
    gains = {
        labels[c.name]: (c.gain, c.gain - c.gain_error, c.gain + c.gain_error)
        for c in turnon.curves
        if c.menu != turnon.curves[0].menu
    }
    profile, edges = turnon.profile, np.array(turnon.profile.edges)
    return draw_efficiency(profile.name, profile.unit, edges, curves, gains, turnon.heading)


class EfficienciesView(View[Efficiencies]):
    """A row is a bin of a curve, or without edges its whole category."""

    def page(self, result: Efficiencies) -> Page:
        """Each category as a whole; for one observable also its bins."""
        turnons = result.turnons
        shown = [turnon for turnon in turnons if turnon.profile == turnons[0].profile]
        apart = turnons[0].sample is not None
        with_bins = not apart and len(shown) == len(turnons)
        if apart:
            by_category: dict[str, list[Turnon]] = {}
            for turnon in shown:
                by_category.setdefault(turnon.name, []).append(turnon)
            tables = [_printed(part, title, "sample", False, apart) for title, part in by_category.items()]
        else:
            tables = [turnon_table(turnon, with_bins) for turnon in shown]
        below = [f"{events_of(result)}; intervals at 68 %."]
        if has_gains(turnons[0]):
            below.append(f"Gain: efficiency less that of {result.menus[0].name}, on the same events.")
        if any(curve.overall.gain_threshold_error > 0 for t in turnons for curve in t.curves):
            below.append("Errors of gains include those of thresholds that rate budgets found.")
        if not with_bins:
            below.append("Bins are not printed: --json, --csv and --figures have them.")
        for sample in result.halved:
            below.append(f"Only the half of {sample} is used on which no model or threshold was fitted.")
        for t in turnons:
            if not t.events.any():
                below.append(f"{t.profile.observable} has no value within its bins where {t.category}.")
        below += points(result.menus, result.catalogue)
        return Page(tables, [*below, *(f"Warning: {warning}." for warning in result.warnings)])

    def table(self, result: Efficiencies) -> Table:
        return table_of(result.turnons)

    def document(self, result: Efficiencies) -> dict[str, Any]:
        catalogue = result.catalogue
        menus = [
            {"name": m.name, "path": str(m.path), "sha256": m.sha256, "point": working_point(m, catalogue)}
            for m in result.menus
        ]
        return {
            "samples": list(result.samples),
            "require": result.require,
            "halved": list(result.halved),
            "left_out": left_out(catalogue),
            "warnings": list(result.warnings),
            "turnons": [*map(TurnonView().document, result.turnons)],
            "provenance": {
                "version": __version__,
                "menus": menus,
                "catalogue": {"path": str(catalogue.path), "sha256": catalogue.sha256},
            },
        }

    def figures(self, result: Efficiencies) -> Figures:
        yield from (figure_of(turnon) for turnon in result.turnons if turnon.events.any())


def events_of(result: Efficiencies) -> str:
    """Return the samples, and which of their events are measured."""
    required = f" with {result.require}" if result.require else ""
    return f"Events of {' + '.join(result.samples)}{required}"


def pictures_of(result: Efficiencies) -> Iterator[Picture]:
    """Draw a turn-on of each observable in each category; with several menus, the gains over the first below
    it."""
    from trigemu.results.section import Picture

    taken: set[str] = set()
    for turnon in result.turnons:
        if turnon.events.any():
            stem = re.sub(r"[^\w.+-]+", "_", f"{turnon.profile.name}_{turnon.full_name}").strip("_.")
            stem = bounded_stem(stem)
            while stem.casefold() in taken:
                stem += "_"
            taken.add(stem.casefold())
            yield Picture(stem, "", figure_of(turnon), {})
