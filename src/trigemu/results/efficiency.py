"""Efficiencies: one curve, turn-ons, and sets of them: what `trigemu efficiency` shows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu import __version__
from trigemu.base.errors import bounded_stem
from trigemu.results.documents import Histograms, left_out
from trigemu.results.exports import Axis, CorrectionValues, Described, as_set, of_curves, of_values
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, Row, RowStyle, Table, stacked
from trigemu.results.view import View, name
from trigemu.studies.efficiency import Efficiencies, Turnon, ratios_to
from trigemu.studies.intervals import Curve, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Curve(View[Curve]):
    """A row is a bin, or without edges the whole category. The variance of an efficiency is the square
    of half its interval."""

    def line(self, result: Curve) -> str:
        return f"of {name(result.name)}: {100 * result.overall.value:.2f} % of all events"

    def page(self, result: Curve) -> Page:
        table = Table((Column("bin", "key", result.profile.name), *PRINTED), title=result.name)
        *bins, overall = printed_rows(result)
        for (low, high), row in zip(pairwise(result.profile.edges), bins, strict=True):
            table.add_record({"bin": f"{low:g} to {high:g}"} | row)
        table.add_record({"bin": "all"} | overall, "summary")
        return Page([table])

    def table(self, result: Curve) -> Table:
        return Table.of((*EDGES, *NUMBERS), rows_of(result))

    def document(self, result: Curve) -> dict[str, Any]:
        return of_curve(result)

    def figures(self, result: Curve) -> Iterator[Figure]:
        from trigemu.results.figures.curves import draw_efficiency

        profile, band = result.profile, (result.value, result.low, result.high)
        yield draw_efficiency(profile.name, profile.unit, np.array(profile.edges), {result.name: band}, {})

    def histograms(self, result: Curve, **options: bool) -> Histograms:
        values = {"": (result.value, ((result.high - result.low) / 2) ** 2)}
        return Histograms(with_unit(result.profile), np.array(result.profile.edges), values)

    def correction(self, result: Curve, **options: Any) -> Any:
        about = Described(result.name, f"The efficiency of {result.name}.", "efficiency", EFFICIENCY)
        return of_values(about, axis_of(result.profile), values_of(result), options["flow"])


CURVE = _Curve()


#: Decimals of percentages.
_DIGITS = 2
#: The edges of a bin, in files.
EDGES = (
    Column(
        "low_edge",
        "number",
        None,
        "The lower edge of the bin; empty for the whole category.",
        upper="high_edge",
    ),
    Column(
        "high_edge",
        "number",
        None,
        "The upper edge of the bin, which is not part of it; empty for the whole category.",
    ),
)
#: The numbers of a curve, in files.
NUMBERS = (
    Column(
        "efficiency", "share", None, "The efficiency; null in a bin without events.", errors=("low", "high")
    ),
    Column("low", "share", None, "The lower end of its interval at 68 %."),
    Column("high", "share", None, "The upper end of its interval at 68 %."),
    Column(
        "gain",
        "share",
        None,
        "The efficiency minus that of the first menu, on the same events.",
        errors=("gain_error",),
    ),
    Column("gain_error", "share", None, "The uncertainty of the gain."),
    Column(
        "gain_threshold_error",
        "share",
        None,
        "The part of that uncertainty that comes from thresholds that rate budgets found.",
    ),
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
#: What the value of a correction is.
EFFICIENCY = "The efficiency; up and down are the ends of its interval at 68 %."
#: As they are printed.
PRINTED = (
    Column("shown efficiency", "share", "efficiency [%]", text=lambda value: f"{100 * value:.{_DIGITS}f}"),
    Column("interval", "share", "interval [%]", gives_way=2, text=lambda ends: _interval(*ends)),
    Column("shown gain", "share", "gain [%]", text=lambda gain: _gain(*gain)),
)
_NAMES = Column("menu", "key", "menu"), Column("trigger", "key", "trigger")


class _Turnon(View[Turnon]):
    """The variance of an efficiency is the square of half its interval."""

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

    def figures(self, result: Turnon) -> Iterator[Figure]:
        yield figure_of(result)

    def histograms(self, result: Turnon, **options: bool) -> Histograms:
        values = {c.name: (c.value, ((c.high - c.low) / 2) ** 2) for c in result.curves}
        return Histograms(with_unit(result.profile), np.array(result.profile.edges), values)

    def correction(self, result: Turnon, **options: Any) -> Any:
        key = ", ".join(_key(result))
        what = f"{count(result.selected, 'event')} in {result.name}"
        if (over := options["over"]) is None:
            curves = {(c.menu, c.trigger): values_of(c) for c in result.curves}
            about = Described(key, f"Efficiencies of {what}.", "efficiency", EFFICIENCY)
        else:
            reference = result[over]
            curves = {
                (c.menu, c.trigger): CorrectionValues(
                    *(part.tolist() for part in (ratio.value, ratio.low, ratio.high))
                )
                for c, ratio in ratios_to(result, reference)
            }
            meaning = f"The efficiency over that of {reference.name}; up and down are bounds of its error."
            about = Described(f"{key} / {reference.name}", f"Ratios of {what}.", "scale factor", meaning)
        return of_curves(about, axis_of(result.profile), curves, options["flow"])


TURN_ON = _Turnon()


def _key(turnon: Turnon) -> list[str]:
    """List the observable, the category and the sample of a turn-on, without those that are not chosen."""
    category = [] if turnon.category == "all" else [turnon.category]
    return [turnon.profile.observable, *category, *([turnon.sample] if turnon.sample else [])]


def values_of(curve: Curve) -> CorrectionValues:
    """Return the efficiencies of a curve and their intervals, for a correction."""
    return CorrectionValues(curve.value.tolist(), curve.low.tolist(), curve.high.tolist())


def axis_of(profile: Profile) -> Axis:
    """Return the axis of a correction."""
    return Axis(profile.observable, with_unit(profile), profile.edges)


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


def numbers_of(curve: Curve) -> Iterator[dict[str, float]]:
    """Yield the numbers of a curve in each bin, then those of the whole category."""
    for numbers in zip(*(getattr(curve, key).tolist() for key in _ATTRIBUTES.values()), strict=True):
        yield dict(zip(_ATTRIBUTES, numbers, strict=True))
    yield {key: getattr(curve.overall, attribute) for key, attribute in _ATTRIBUTES.items()}


def rows_of(curve: Curve) -> Iterator[dict[str, Any]]:
    """Yield the row of each bin of a curve in files, then that of the whole category, without edges."""
    places = [*pairwise(curve.profile.edges), (None, None)]
    for (low, high), numbers in zip(places, numbers_of(curve), strict=True):
        yield {"low_edge": low, "high_edge": high} | numbers


def of_curve(curve: Curve) -> dict[str, Any]:
    """Return one curve, as in the JSON document."""
    *bins, overall = numbers_of(curve)
    numbers = {key: [row[key] for row in bins] for key in _ATTRIBUTES}
    return {"menu": curve.menu, "trigger": curve.trigger} | numbers | {"overall": overall}


def printed_rows(curve: Curve) -> Iterator[dict[str, Any]]:
    """Yield the values of `PRINTED` for each bin of a curve, then those of the whole category."""
    for n in numbers_of(curve):
        if math.isnan(n["efficiency"]):
            yield {"shown efficiency": "–"}
        else:
            interval, gain = (n["low"], n["high"]), (n["gain"], n["gain_error"])
            yield {"shown efficiency": n["efficiency"], "interval": interval, "shown gain": gain}


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.{_DIGITS}f} to {100 * high:.{_DIGITS}f}"


def _gain(gain: float, error: float) -> str:
    return f"{100 * gain:+z.{_DIGITS}f} ± {100 * error:.{_DIGITS}f}" if gain or error else "0"


def printed_table(title: str, bins: str, turnon: Turnon) -> Table:
    """Return a table for the lines of curves, without rows: without gains if there is one menu, and without
    triggers if there is none. bins: the heading of the first column."""
    events = Column("events", "count", "events", gives_way=1)
    menu, trigger = _NAMES
    names = (menu, trigger) if any(curve.trigger for curve in turnon.curves) else (menu,)
    numbers = PRINTED if has_gains(turnon) else PRINTED[:-1]
    return Table((Column("bin", "key", bins), events, *names, *numbers), title=title)


def has_gains(turnon: Turnon) -> bool:
    """Return whether there is a menu whose efficiency can be compared with that of the first."""
    return len({curve.menu for curve in turnon.curves}) > 1


def turnon_table(turnon: Turnon, with_bins: bool = True) -> Table:
    """Return the efficiencies in a category as a whole, and in the bins of its observable."""
    table = printed_table(turnon.name, turnon.profile.name if with_bins else "", turnon)
    rows = [[*printed_rows(curve)] for curve in turnon.curves]
    for i, (low, high) in enumerate(pairwise(turnon.profile.edges) if with_bins else ()):
        _add_lines(table, turnon, f"{low:g} to {high:g}", turnon.events[i], [row[i] for row in rows])
    add_overall(table, turnon, "all", "summary")
    return table


def add_overall(table: Table, turnon: Turnon, label: str, style: RowStyle = "plain") -> None:
    """Add a line of each curve for the whole category, the first with a `label`."""
    overall = [[*printed_rows(curve)][-1] for curve in turnon.curves]
    _add_lines(table, turnon, label, turnon.selected, overall, style)


def _add_lines(
    table: Table,
    turnon: Turnon,
    label: str,
    events: int,
    rows: Sequence[dict[str, Any]],
    style: RowStyle = "plain",
) -> None:
    for number, (curve, row) in enumerate(zip(turnon.curves, rows, strict=True)):
        place = {} if number else {"bin": label, "events": int(events)}
        table.rows.append(Row(place | {"menu": curve.menu, "trigger": curve.trigger} | row, style))


def figure_of(turnon: Turnon) -> Figure:
    """Draw the curves of one observable in one category, and the gains over the first menu."""
    from trigemu.results.figures.curves import draw_efficiency
    from trigemu.results.figures.style import shown

    reference = turnon.curves[0].menu
    labels = shown(c.name for c in turnon.curves)
    curves = {labels[c.name]: (c.value, c.low, c.high) for c in turnon.curves}
    gains = {
        labels[c.name]: (c.gain, c.gain - c.gain_error, c.gain + c.gain_error)
        for c in turnon.curves
        if c.menu != reference
    }
    profile, edges = turnon.profile, np.array(turnon.profile.edges)
    return draw_efficiency(profile.name, profile.unit, edges, curves, gains, turnon.heading)


def with_unit(profile: Profile) -> str:
    """Return the label of the axis of an observable."""
    return f"{profile.name} [{profile.unit}]" if profile.unit else profile.name


class _Efficiencies(View[Efficiencies]):
    """A row is a bin of a curve, or without edges its whole category."""

    def line(self, result: Efficiencies) -> str:
        menus, samples = (
            ", ".join(map(name, names)) for names in ((m.name for m in result.menus), result.samples)
        )
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
        menus = [{"name": m.name, "path": str(m.path), "sha256": m.sha256} for m in result.menus]
        return {
            "samples": list(result.samples),
            "require": result.require,
            "halved": list(result.halved),
            "left_out": left_out(catalogue),
            "warnings": list(result.warnings),
            "turnons": [*map(TURN_ON.document, result.turnons)],
            "provenance": {
                "version": __version__,
                "menus": menus,
                "catalogue": {"path": str(catalogue.path), "sha256": catalogue.sha256},
            },
        }

    def figures(self, result: Efficiencies) -> Iterator[Figure]:
        for turnon in result.turnons:
            if turnon.events.any():
                yield figure_of(turnon)

    def hepdata(self, result: Efficiencies) -> list[Any]:
        """The tables of each turn-on, which are numbered."""
        tables = []
        for number, turnon in enumerate(result.turnons, 1):
            for table in TURN_ON.hepdata(turnon):
                table.name = table.name.replace("Turnon", f"Turnon {number}")
                tables.append(table)
        return tables

    def correction(self, result: Efficiencies, **options: Any) -> Any:
        required = f" with {result.require}" if result.require else ""
        description = f"Events of {' + '.join(result.samples)}{required}."
        return as_set(description, (TURN_ON.correction(turnon, **options) for turnon in result.turnons))


EFFICIENCIES = _Efficiencies()


def _by_category(turnons: Sequence[Turnon]) -> Iterator[Table]:
    """Yield a table for each category, with the samples that were measured apart."""
    for category in dict.fromkeys(turnon.name for turnon in turnons):
        table = printed_table(category, "sample", turnons[0])
        for turnon in turnons:
            if turnon.name == category:
                add_overall(table, turnon, str(turnon.sample))
        yield table


def _notes(result: Efficiencies, with_bins: bool) -> Iterator[str]:
    required = f" with {result.require}" if result.require else ""
    yield f"Events of {' + '.join(result.samples)}{required}; intervals at 68 %."
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
    yield from (f"Warning: {warning}." for warning in result.warnings)


def write_figures(result: Efficiencies, folder: Path) -> list[Path]:
    """Write a turn-on of each observable in each category as PNG into a folder; with several menus, the gains
    over the first are drawn below it. Return the files."""
    from trigemu.results.figures.style import save

    files: list[Path] = []
    taken: set[str] = set()
    for turnon in result.turnons:
        if not turnon.events.any():
            continue
        stem = _file_name(f"{turnon.profile.name}_{turnon.full_name}")
        while stem.casefold() in taken:
            stem += "_"
        taken.add(stem.casefold())
        files.append(folder / f"{stem}.png")
        save(figure_of(turnon), files[-1])
    return files


def _file_name(text: str) -> str:
    return bounded_stem(re.sub(r"[^\w.+-]+", "_", text).strip("_."))
