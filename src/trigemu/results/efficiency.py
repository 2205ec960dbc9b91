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
from trigemu.results.view import Figures, Pictures, View, name
from trigemu.studies.efficiency import Efficiencies, Turnon
from trigemu.studies.intervals import Curve, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    whole = _numbers(curve.overall)
    columns = ([*values.tolist(), whole[key]] for key, values in _numbers(curve).items())
    edges = [*pairwise(curve.profile.edges), (None, None)]
    for (low_edge, high_edge), *values in zip(edges, *columns, strict=True):
        row = {"low_edge": low_edge, "high_edge": high_edge} | dict(zip(_NUMBERS, values, strict=True))
        row["bin"] = "all" if low_edge is None else f"{low_edge:g} to {high_edge:g}"
        value, low, high, gain, error, _ = (100 * number for number in values)
        if not math.isnan(value):
            row["interval"] = f"{low:.2f} to {high:.2f}"
            row["gain in words"] = f"{gain:+z.2f} ± {error:.2f}" if gain or error else "0"
        yield row


def _rows_of_curves(turnon: Turnon) -> list[list[dict[str, Any]]]:
    """Return the rows of each curve, with the names of what they are of and the numbers of events."""
    head = {"sample": turnon.sample, "observable": turnon.profile.observable, "category": turnon.category}
    events = (*turnon.events.tolist(), turnon.selected)
    return [
        [
            head | {"menu": curve.menu, "trigger": curve.trigger or "", "events": number} | row
            for number, row in zip(events, rows_of(curve), strict=True)
        ]
        for curve in turnon.curves
    ]


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
        yield figure_of(result.profile, [result])


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
        yield figure_of(result.profile, result.curves, result.heading)


def table_of(turnons: Sequence[Turnon]) -> Table:
    """Return a row for each bin of each curve, and one without edges for the whole category."""
    rows = (row for turnon in turnons for rows in _rows_of_curves(turnon) for row in rows)
    return Table.of(COLUMNS[1:] if turnons[0].sample is None else COLUMNS, rows)


def turnon_table(*turnons: Turnon, with_bins: bool = True) -> Table:
    """Return the efficiencies in a category as a whole, and in the bins of its observable, a line for each
    curve: the first one has the bin, or the sample if there are no bins and samples are measured apart, and
    the number of events. Without gains if there is one menu, and without triggers if there is none."""
    apart = not with_bins and turnons[0].sample is not None
    heading = "sample" if apart else turnons[0].profile.name if with_bins else ""
    names = [Column("menu", "key", "menu"), Column("trigger", "key", "trigger")]
    if not any(curve.trigger for curve in turnons[0].curves):
        del names[1]
    place = Column("bin", "key", heading), Column("events", "count", "events", gives_way=1)
    numbers = _PRINTED if has_gains(turnons[0]) else _PRINTED[:-1]
    table = Table((*place, *names, *numbers), title=turnons[0].name)
    for turnon in turnons:
        for first, *others in zip(*_rows_of_curves(turnon), strict=True):
            is_whole = first["low_edge"] is None
            style: RowStyle = "summary" if is_whole and not apart else "plain"
            if with_bins or is_whole:
                table.add_record(first | ({"bin": turnon.sample} if apart else {}), style)
                for row in others:
                    table.add_record(row | {"bin": "", "events": None}, style)
    return table


def has_gains(turnon: Turnon) -> bool:
    """Return whether there is a menu whose efficiency can be compared with that of the first."""
    return len({curve.menu for curve in turnon.curves}) > 1


def figure_of(profile: Profile, curves: Sequence[Curve], title: str = "") -> Figure:
    """Draw the curves of one observable, and the gains over the first menu."""
    from trigemu.results.figures.draw import draw_efficiency
    from trigemu.results.figures.style import shown

    labels = shown(curve.name for curve in curves)
    gains = {
        labels[c.name]: (c.gain, c.gain - c.gain_error, c.gain + c.gain_error)
        for c in curves
        if c.menu != curves[0].menu
    }
    bands = {labels[curve.name]: band(curve) for curve in curves}
    return draw_efficiency(profile.name, profile.unit, np.array(profile.edges), bands, gains, title)


class EfficienciesView(View[Efficiencies]):
    """A row is a bin of a curve, or without edges its whole category."""

    def page(self, result: Efficiencies) -> Page:
        """Each category as a whole; for one observable also its bins."""
        turnons, categories = result.turnons, dict[str, list[Turnon]]()
        with_bins = turnons[0].sample is None and all(t.profile == turnons[0].profile for t in turnons)
        for turnon in turnons:
            if turnon.profile == turnons[0].profile:
                categories.setdefault(turnon.category, []).append(turnon)
        tables = [turnon_table(*part, with_bins=with_bins) for part in categories.values()]
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

    def pictures(self, result: Efficiencies) -> Pictures:
        """Draw a turn-on of each observable in each category; with several menus, the gains over the first
        below it."""
        from trigemu.results.section import Picture

        for t in result.turnons:
            if t.events.any():
                stem = re.sub(r"[^\w.+-]+", "_", f"{t.profile.name}_{t.full_name}").strip("_.")
                yield Picture(bounded_stem(stem), "", figure_of(t.profile, t.curves, t.heading), {})


def events_of(result: Efficiencies) -> str:
    """Return the samples, and which of their events are measured."""
    required = f" with {result.require}" if result.require else ""
    return f"Events of {' + '.join(result.samples)}{required}"
