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
from trigemu.results.documents import left_out
from trigemu.results.notes import points
from trigemu.results.numbers import count
from trigemu.results.rates import working_point
from trigemu.results.table import Column, Page, Table, stacked
from trigemu.results.view import Figures, View, name
from trigemu.studies.efficiency import Efficiencies, Turnon
from trigemu.studies.intervals import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trigemu.results.section import Picture

#: The edges of a bin, in files.
EDGES = (
    Column("low_edge", meaning="The lower edge of the bin; empty for the whole category.", upper="high_edge"),
    Column(
        "high_edge",
        meaning="The upper edge of the bin, which is not part of it; empty for the whole category.",
    ),
)
_VALUE = "The efficiency; null in a bin without events."
_GAIN = "The efficiency minus that of the first menu, on the same events."
_OF_BUDGETS = "The part of that uncertainty that comes from thresholds that rate budgets found."
#: The numbers of a curve, in files.
NUMBERS = (
    Column("efficiency", "share", None, _VALUE, errors=("low", "high")),
    Column("low", "share", None, "The lower end of its interval at 68 %."),
    Column("high", "share", None, "The upper end of its interval at 68 %."),
    Column("gain", "share", None, _GAIN, errors=("gain_error",)),
    Column("gain_error", "share", None, "The uncertainty of the gain."),
    Column("gain_threshold_error", "share", None, _OF_BUDGETS),
)
#: The attributes of a curve that hold these numbers, by their names.
_ATTRIBUTES = {c.name: "value" if c.name == "efficiency" else c.name for c in NUMBERS}
#: A bin of a curve, in files.
COLUMNS = (
    Column("sample", "label", None, "The sample, if samples are measured apart."),
    Column("observable", "label", None, "The observable."),
    Column("category", "label", None, "The condition of the category."),
    Column("menu", "label", None, "The menu."),
    Column("trigger", "label", None, "The trigger; empty for the whole menu."),
    *EDGES,
    Column("events", "count", None, "The number of events."),
    *NUMBERS,
)
#: The numbers as they are printed, as texts in percent with these decimals.
_DIGITS = 2
PRINTED = (
    Column("efficiency", "share", "efficiency [%]"),
    Column("interval", "share", "interval [%]", gives_way=2),
    Column("gain", "share", "gain [%]"),
)


def rows_of(curve: Curve) -> Iterator[dict[str, Any]]:
    """Yield the row of each bin of a curve in files, then that of the whole category, without edges."""
    columns = zip(*(getattr(curve, attribute).tolist() for attribute in _ATTRIBUTES.values()), strict=True)
    for low, high in pairwise(curve.profile.edges):
        yield {"low_edge": low, "high_edge": high, **dict(zip(_ATTRIBUTES, next(columns), strict=True))}
    overall = {key: getattr(curve.overall, attribute) for key, attribute in _ATTRIBUTES.items()}
    yield {"low_edge": None, "high_edge": None, **overall}


def of_curve(curve: Curve) -> dict[str, Any]:
    """Return one curve, as in the JSON document."""
    *bins, overall = rows_of(curve)
    numbers = {key: [row[key] for row in bins] for key in _ATTRIBUTES}
    of_all = {key: overall[key] for key in _ATTRIBUTES}
    return {"menu": curve.menu, "trigger": curve.trigger} | numbers | {"overall": of_all}


def printed_rows(curve: Curve) -> Iterator[dict[str, Any]]:
    """Yield the texts of `PRINTED` for each bin of a curve, then those of the whole category."""
    for row in rows_of(curve):
        first, last, *numbers = row.values()
        value, low, high, gain, error, _ = (100 * number for number in numbers)
        texts = {"bin": "all" if first is None else f"{first:g} to {last:g}", "efficiency": "–"}
        if not math.isnan(value):
            texts["efficiency"] = f"{value:.{_DIGITS}f}"
            texts["interval"] = f"{low:.{_DIGITS}f} to {high:.{_DIGITS}f}"
            texts["gain"] = f"{gain:+z.{_DIGITS}f} ± {error:.{_DIGITS}f}" if gain or error else "0"
        yield texts


def band(curve: Curve) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values of a curve, and the lower and upper ends of their intervals."""
    return curve.value, curve.low, curve.high


class CurveView(View[Curve]):
    """A row is a bin, or without edges the whole category."""

    def line(self, result: Curve) -> str:
        return f"of {name(result.name)}: {100 * result.overall.value:.2f} % of all events"

    def page(self, result: Curve) -> Page:
        table = Table((Column("bin", "key", result.profile.name), *PRINTED), title=result.name)
        for row in printed_rows(result):
            table.add_record(row, "summary" if row["bin"] == "all" else "plain")
        return Page([table])

    def table(self, result: Curve) -> Table:
        return Table.of((*EDGES, *NUMBERS), rows_of(result))

    def document(self, result: Curve) -> dict[str, Any]:
        return of_curve(result)

    def figures(self, result: Curve) -> Figures:
        from trigemu.results.figures.curves import draw_efficiency

        profile, curves = result.profile, {result.name: band(result)}
        yield draw_efficiency(profile.name, profile.unit, np.array(profile.edges), curves, {})


class TurnonView(View[Turnon]):
    def line(self, result: Turnon) -> str:
        where = f"against {name(result.profile.observable)} in {name(result.category)}"
        return f"{where}: {count(len(result.curves), 'curve')}, {count(result.selected, 'event')}"

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
    table = Table([column for column in COLUMNS if apart or column.name != "sample"])
    for turnon in turnons:
        head = {"observable": turnon.profile.observable, "category": turnon.category, "sample": turnon.sample}
        events = (*turnon.events.tolist(), turnon.selected)
        for curve in turnon.curves:
            names = {"menu": curve.menu, "trigger": curve.trigger or ""}
            for number, row in zip(events, rows_of(curve), strict=True):
                table.add_record(head | names | {"events": number} | row)
    return table


def _printed_table(title: str, bins: str, turnon: Turnon) -> Table:
    """Return a table for the lines of curves, without gains if there is one menu, and without triggers if
    there is none. bins: the heading of the first column."""
    names = [Column("menu", "key", "menu")]
    if any(curve.trigger for curve in turnon.curves):
        names.append(Column("trigger", "key", "trigger"))
    numbers = PRINTED if has_gains(turnon) else PRINTED[:-1]
    place = Column("bin", "key", bins), Column("events", "count", "events", gives_way=1)
    return Table((*place, *names, *numbers), title=title)


def has_gains(turnon: Turnon) -> bool:
    """Return whether there is a menu whose efficiency can be compared with that of the first."""
    return len({curve.menu for curve in turnon.curves}) > 1


def turnon_table(turnon: Turnon, with_bins: bool = True) -> Table:
    """Return the efficiencies in a category as a whole, and in the bins of its observable."""
    table = _printed_table(turnon.name, turnon.profile.name if with_bins else "", turnon)
    for row, is_whole in _lines(turnon, "all"):
        if with_bins or is_whole:
            table.add_record(row, "summary" if is_whole else "plain")
    return table


def _lines(turnon: Turnon, whole: str | None) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the lines of each bin, then those of the `whole` category: one of each curve, of which the first
    has the bin and its events."""
    events = (*turnon.events.tolist(), turnon.selected)
    for number, *rows in zip(events, *map(printed_rows, turnon.curves), strict=True):
        is_whole = rows[0]["bin"] == "all"
        place = {"bin": whole if is_whole else rows[0]["bin"], "events": number}
        for row, curve in zip(rows, turnon.curves, strict=True):
            yield row | {"menu": curve.menu, "trigger": curve.trigger, "bin": ""} | place, is_whole
            place = {}


def figure_of(turnon: Turnon) -> Figure:
    """Draw the curves of one observable in one category, and the gains over the first menu."""
    from trigemu.results.figures.curves import draw_efficiency
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

    def line(self, result: Efficiencies) -> str:
        menus = ", ".join(name(menu.name) for menu in result.menus)
        samples = ", ".join(map(name, result.samples))
        return f"of {menus} on {samples}: {count(len(result.turnons), 'set')} of curves"

    def page(self, result: Efficiencies) -> Page:
        """Each category as a whole; for one observable also its bins."""
        first = result.turnons[0].profile
        shown = [turnon for turnon in result.turnons if turnon.profile == first]
        if shown[0].sample is not None:
            return Page(stacked(_by_category(shown)), [*_notes(result, with_bins=False)])
        one = len(shown) == len(result.turnons)
        return Page(stacked(turnon_table(turnon, one) for turnon in shown), [*_notes(result, one)])

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
        for turnon in result.turnons:
            if turnon.events.any():
                yield figure_of(turnon)


def events_of(result: Efficiencies) -> str:
    """Return the samples, and which of their events are measured."""
    required = f" with {result.require}" if result.require else ""
    return f"Events of {' + '.join(result.samples)}{required}"


def _by_category(turnons: Sequence[Turnon]) -> Iterator[Table]:
    """Yield a table for each category, with the samples that were measured apart."""
    for category in dict.fromkeys(turnon.name for turnon in turnons):
        table = _printed_table(category, "sample", turnons[0])
        of_category = (turnon for turnon in turnons if turnon.name == category)
        for row, is_whole in (line for turnon in of_category for line in _lines(turnon, turnon.sample)):
            if is_whole:
                table.add_record(row)
        yield table


def _notes(result: Efficiencies, with_bins: bool) -> Iterator[str]:
    yield f"{events_of(result)}; intervals at 68 %."
    if has_gains(result.turnons[0]):
        yield f"Gain: efficiency less that of {result.menus[0].name}, on the same events."
    if any(curve.overall.gain_threshold_error > 0 for t in result.turnons for curve in t.curves):
        yield "Errors of gains include those of thresholds that rate budgets found."
    if not with_bins:
        yield "Bins are not printed: --json, --csv and --figures have them."
    for sample in result.halved:
        yield f"Only the half of {sample} is used on which no model or threshold was fitted."
    for turnon in result.turnons:
        if not turnon.events.any():
            yield f"{turnon.profile.observable} has no value within its bins where {turnon.category}."
    yield from points(result.menus, result.catalogue)
    yield from (f"Warning: {warning}." for warning in result.warnings)


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
