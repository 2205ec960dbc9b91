"""Efficiencies as JSON, CSV, tables for a terminal and figures. Numbers only: nothing is computed here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType

from trigemu.results.documents import in_csv, in_json, left_out
from trigemu.results.text.terminal import Page, Table
from trigemu.samples import Catalogue
from trigemu.studies import Curve, Efficiencies, Turnon
from trigemu.support import FloatArray, bounded_stem

_COLUMNS = {
    "efficiency": "value", "low": "low", "high": "high", "gain": "gain", "gain_error": "gain_error",
    "gain_threshold_error": "gain_threshold_error",
}  # fmt: skip
#: Decimals of percentages.
_DIGITS = 2


def as_json(
    result: Efficiencies, catalogue: Catalogue, version: str, names: Mapping[str, str] | None = None
) -> str:
    """Return the JSON document of `trigemu efficiency`; null where a bin has no event. names: labels of
    observables and categories, by their expressions."""
    names = names or {}
    document = {
        "samples": list(result.samples),
        "require": result.require,
        "halved": list(result.halved),
        "left_out": left_out(catalogue),
        "warnings": list(result.warnings),
        "turnons": [of_turnon(turnon, names) for turnon in result.turnons],
        "provenance": {
            "version": version,
            "menus": [
                {"name": menu.name, "path": str(menu.path), "sha256": menu.sha256} for menu in result.menus
            ],
            "catalogue": {"path": str(catalogue.path), "sha256": catalogue.sha256},
        },
    }
    return in_json(document)


def of_turnon(turnon: Turnon, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one observable in one category, as in the JSON document."""
    return {
        "sample": turnon.sample,
        "observable": turnon.profile.observable,
        "category": turnon.category,
        "labels": [names.get(text, text) for text in (turnon.profile.observable, turnon.category)],
        "edges": list(turnon.profile.edges),
        "selected": turnon.selected,
        "events": turnon.events.tolist(),
        "effective_events": _numbers(turnon.effective_events),
        "curves": [of_curve(curve) for curve in turnon.curves],
    }


def of_curve(curve: Curve) -> dict[str, Any]:
    """Return one curve, as in the JSON document."""
    bins = {key: _numbers(getattr(curve, name)) for key, name in _COLUMNS.items()}
    whole = {key: _number(getattr(curve.overall, name)) for key, name in _COLUMNS.items()}
    return {"menu": curve.menu, "trigger": curve.trigger} | bins | {"overall": whole}


def _numbers(values: FloatArray) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def as_csv(result: Efficiencies) -> str:
    """Return CSV with a line for each bin of each curve, and one without edges for the whole category."""
    rows = [row for turnon in result.turnons for row in rows_of(turnon)]
    lines = ([_filled(value) for value in row.values()] for row in rows)
    return in_csv([list(rows[0]), *lines])


def rows_of(turnon: Turnon) -> Iterator[dict[str, Any]]:
    """Yield a row for each bin of each curve, and one without edges for the whole category."""
    of = {} if turnon.sample is None else {"sample": turnon.sample}
    head = of | {"observable": turnon.profile.observable, "category": turnon.category}
    edges = turnon.profile.edges
    places = [*zip(edges[:-1], edges[1:], turnon.events.tolist(), strict=True), (None, None, turnon.selected)]
    for curve in turnon.curves:
        names = {"menu": curve.menu, "trigger": curve.trigger or ""}
        for place, numbers in zip(places, numbers_of(curve), strict=True):
            yield head | names | dict(zip(("low_edge", "high_edge", "events"), place, strict=True)) | numbers


def numbers_of(curve: Curve) -> Iterator[dict[str, float]]:
    """Yield the numbers of a curve in each bin, then those of the whole category."""
    for numbers in zip(*(getattr(curve, name).tolist() for name in _COLUMNS.values()), strict=True):
        yield dict(zip(_COLUMNS, numbers, strict=True))
    yield {key: getattr(curve.overall, name) for key, name in _COLUMNS.items()}


def _filled(value: Any) -> object:
    return "" if value is None or (isinstance(value, float) and np.isnan(value)) else value


def efficiency_tables(result: Efficiencies, names: Mapping[str, str] | None = None) -> RenderableType:
    """Return what `trigemu efficiency` prints: each category as a whole; for one observable also its bins."""
    names = names or {}
    first = result.turnons[0].profile
    one = all(turnon.profile == first for turnon in result.turnons)
    shown = [turnon for turnon in result.turnons if turnon.profile == first]
    if shown[0].sample is None:
        tables = [turnon_table(turnon, names, with_bins=one) for turnon in shown]
    else:
        tables, one = [*_by_category(shown, names)], False
    parts: list[RenderableType] = []
    for table in tables:
        parts += [*([""] if parts else []), table]
    return Page(parts, _notes(result, one))


def _by_category(turnons: Sequence[Turnon], names: Mapping[str, str]) -> Iterator[Table]:
    """Yield a table for each category, with the samples that were measured apart."""
    for category in dict.fromkeys(turnon.category for turnon in turnons):
        table = _table(names.get(category, category), "sample")
        for turnon in turnons:
            if turnon.category == category:
                _add_overall(table, turnon, str(turnon.sample))
        yield table


def turnon_table(turnon: Turnon, names: Mapping[str, str], with_bins: bool = True) -> Table:
    """Return the efficiencies in a category as a whole, and in the bins of its observable."""
    observable = turnon.profile.observable
    label = names.get(observable, observable) if with_bins else ""
    table = _table(names.get(turnon.category, turnon.category), label)
    if with_bins:
        _add_bins(table, turnon)
    _add_overall(table, turnon, "all", style="bold")
    return table


def _add_overall(table: Table, turnon: Turnon, name: str, style: str = "") -> None:
    for i, curve in enumerate(turnon.curves):
        overall = [getattr(curve.overall, name) for name in _COLUMNS.values()]
        where = ("", "") if i else (name, str(turnon.selected))
        table.add_row(*where, *_cells(curve, *overall), style=style)


def _table(category: str, observable: str) -> Table:
    table = Table(category)
    table.add_column(observable, "name")
    table.add_column("events", gives_way=1)
    table.add_column("menu", "name")
    table.add_column("trigger", "name")
    table.add_column("efficiency [%]")
    table.add_column("interval [%]", gives_way=2)
    table.add_column("gain [%]")
    return table


def _add_bins(table: Table, turnon: Turnon) -> None:
    edges = turnon.profile.edges
    for i in range(len(edges) - 1):
        for number, curve in enumerate(turnon.curves):
            label = f"{edges[i]:g} to {edges[i + 1]:g}" if not number else ""
            events = str(turnon.events[i]) if not number else ""
            values = [float(getattr(curve, name)[i]) for name in _COLUMNS.values()]
            table.add_row(label, events, *_cells(curve, *values))


def curve_table(curve: Curve) -> Table:
    """Return the efficiencies of one curve in the bins of its observable, then in its whole category."""
    table = Table(curve.name)
    table.add_column(curve.profile.name, "name")
    for name in ("efficiency", "interval", "gain"):
        table.add_column(f"{name} [%]")
    edges = curve.profile.edges
    labels = [*(f"{low:g} to {high:g}" for low, high in pairwise(edges)), "all"]
    for label, numbers in zip(labels, numbers_of(curve), strict=True):
        table.add_row(label, *_cells(curve, *numbers.values())[2:], style="bold" if label == "all" else "")
    return table


def _cells(
    curve: Curve, value: float, low: float, high: float, gain: float, error: float, _: float
) -> tuple[str, ...]:
    """Return the cells of a row; the last number is part of the error."""
    names = curve.menu, curve.trigger or ""
    if np.isnan(value):
        return (*names, "–", "", "")
    difference = f"{100 * gain:+z.{_DIGITS}f} ± {100 * error:.{_DIGITS}f}" if gain or error else "0"
    return (
        *names,
        f"{100 * value:.{_DIGITS}f}",
        f"{100 * low:.{_DIGITS}f} to {100 * high:.{_DIGITS}f}",
        difference,
    )


def _notes(result: Efficiencies, one: bool) -> Iterator[str]:
    required = f" with {result.require}" if result.require else ""
    yield f"Events of {' + '.join(result.samples)}{required}; intervals at 68 %."
    yield f"Gain: efficiency less that of {result.menus[0].name}, on the same events."
    if any(curve.overall.gain_threshold_error > 0 for t in result.turnons for curve in t.curves):
        yield "Errors of gains include those of thresholds that rate budgets found."
    if not one:
        yield "Bins are not printed: --json, --csv and --figures have them."
    for name in result.halved:
        yield f"Only the half of {name} is used on which no model or threshold was fitted."
    for turnon in result.turnons:
        if not turnon.events.any():
            yield f"{turnon.profile.observable} has no value within its bins where {turnon.category}."
    yield from (f"Warning: {warning}." for warning in result.warnings)


def write_figures(
    result: Efficiencies,
    folder: Path,
    names: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    told: Callable[[Path], object] = lambda path: None,
) -> None:
    """Write a turn-on of each observable in each category as PNG into a folder; with several menus, the gains
    over the first are drawn below it."""
    from trigemu.results.figures.style import save

    written: set[str] = set()
    for turnon in result.turnons:
        if not turnon.events.any():
            continue
        label, category = (
            (names or {}).get(text, text) for text in (turnon.profile.observable, turnon.category)
        )
        category = f"{turnon.sample}, {category}" if turnon.sample else category
        stem = _file_name(f"{label}_{category}")
        while stem.casefold() in written:
            stem += "_"
        written.add(stem.casefold())
        unit = (units or {}).get(turnon.profile.observable, "")
        path = folder / f"{stem}.png"
        save(figure_of(turnon, label, unit, category), path)
        told(path)


def figure_of(turnon: Turnon, label: str, unit: str, category: str) -> Any:
    """Draw the curves of one observable in one category, and the gains over the first menu."""
    from trigemu.results.figures.style import shown
    from trigemu.results.figures.turnon import draw_efficiency

    reference = turnon.curves[0].menu
    labels = shown(c.name for c in turnon.curves)
    curves = {labels[c.name]: (c.value, c.low, c.high) for c in turnon.curves}
    gains = {
        labels[c.name]: (c.gain, c.gain - c.gain_error, c.gain + c.gain_error)
        for c in turnon.curves
        if c.menu != reference
    }
    return draw_efficiency(label, unit, np.array(turnon.profile.edges), curves, gains, category)


def _file_name(text: str) -> str:
    return bounded_stem(re.sub(r"[^\w.+-]+", "_", text).strip("_."))
