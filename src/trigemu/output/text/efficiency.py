"""Efficiencies as JSON, CSV, tables for a terminal and figures. Numbers only: nothing is computed here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType

from trigemu.output.documents import in_csv, in_json, left_out
from trigemu.output.text.terminal import Page, Table
from trigemu.samples import Catalogue
from trigemu.studies import Curve, Efficiencies, Turnon
from trigemu.support import FloatArray, bounded_stem

_COLUMNS = {
    "efficiency": "value", "low": "low", "high": "high", "gain": "gain", "gain_error": "gain_error"
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
        "turnons": [
            {
                "observable": turnon.profile.observable,
                "category": turnon.category,
                "labels": [names.get(text, text) for text in (turnon.profile.observable, turnon.category)],
                "edges": list(turnon.profile.edges),
                "selected": turnon.selected,
                "events": turnon.events.tolist(),
                "effective_events": _numbers(turnon.effective_events),
                "curves": [_curve(curve) for curve in turnon.curves],
            }
            for turnon in result.turnons
        ],
        "provenance": {
            "version": version,
            "menus": [
                {"name": menu.name, "path": str(menu.path), "sha256": menu.sha256} for menu in result.menus
            ],
            "catalogue": {"path": str(catalogue.path), "sha256": catalogue.sha256},
        },
    }
    return in_json(document)


def _curve(curve: Curve) -> dict[str, Any]:
    bins = {key: _numbers(getattr(curve, name)) for key, name in _COLUMNS.items()}
    whole = {key: _number(getattr(curve.overall, name)) for key, name in _COLUMNS.items()}
    return {"menu": curve.menu, "trigger": curve.trigger} | bins | {"overall": whole}


def _numbers(values: FloatArray) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def as_csv(result: Efficiencies) -> str:
    """Return CSV with a line for each bin of each curve, and one without edges for the whole category."""
    head = ["observable", "category", "menu", "trigger", "low_edge", "high_edge", "events"]
    rows: list[list[object]] = [[*head, *_COLUMNS]]
    for turnon in result.turnons:
        edges = turnon.profile.edges
        for curve in turnon.curves:
            names = [turnon.profile.observable, turnon.category, curve.menu, curve.trigger or ""]
            columns = [getattr(curve, name).tolist() for name in _COLUMNS.values()]
            for i, numbers in enumerate(zip(*columns, strict=True)):
                filled = ["" if np.isnan(number) else number for number in numbers]
                rows.append([*names, edges[i], edges[i + 1], int(turnon.events[i]), *filled])
            whole = [getattr(curve.overall, name) for name in _COLUMNS.values()]
            rows.append([*names, "", "", turnon.selected, *whole])
    return in_csv(rows)


def efficiency_tables(result: Efficiencies, names: Mapping[str, str] | None = None) -> RenderableType:
    """Return what `trigemu efficiency` prints: each category as a whole; for one observable also its bins."""
    names = names or {}
    first = result.turnons[0].profile
    one = all(turnon.profile == first for turnon in result.turnons)
    parts: list[RenderableType] = []
    for turnon in result.turnons:
        if turnon.profile != first:
            continue
        observable = names.get(first.observable, first.observable) if one else ""
        table = _table(names.get(turnon.category, turnon.category), observable)
        if one:
            _add_bins(table, turnon)
        for i, curve in enumerate(turnon.curves):
            overall = [getattr(curve.overall, name) for name in _COLUMNS.values()]
            where = ("", "") if i else ("all", str(turnon.selected))
            table.add_row(*where, *_cells(curve, *overall), style="bold")
        parts += ["", table] if parts else [table]
    return Page(parts, _notes(result, one))


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


def _cells(curve: Curve, value: float, low: float, high: float, gain: float, error: float) -> tuple[str, ...]:
    names = curve.menu, curve.trigger or ""
    if np.isnan(value):
        return (*names, "–", "", "")
    difference = f"{100 * gain:+.{_DIGITS}f} ± {100 * error:.{_DIGITS}f}" if gain or error else "0"
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
    if not one:
        yield "Bins of several observables are not printed: --json, --csv and --figures have them."
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
    from trigemu.output.figures.style import save

    written: set[str] = set()
    for turnon in result.turnons:
        if not turnon.events.any():
            continue
        label, category = (
            (names or {}).get(text, text) for text in (turnon.profile.observable, turnon.category)
        )
        stem = _file_name(f"{label}_{category}")
        while stem.casefold() in written:
            stem += "_"
        written.add(stem.casefold())
        unit = (units or {}).get(turnon.profile.observable, "")
        path = folder / f"{stem}.png"
        save(_figure(turnon, label, unit, category), path)
        told(path)


def _figure(turnon: Turnon, label: str, unit: str, category: str) -> Any:
    from trigemu.output.figures.turnon import draw_efficiency

    reference = turnon.curves[0].menu
    curves = {_name(c): (c.value, c.low, c.high) for c in turnon.curves}
    gains = {
        _name(c): (c.gain, c.gain - c.gain_error, c.gain + c.gain_error)
        for c in turnon.curves
        if c.menu != reference
    }
    return draw_efficiency(label, unit, np.array(turnon.profile.edges), curves, gains, category)


def _name(curve: Curve) -> str:
    return f"{curve.menu}: {curve.trigger}" if curve.trigger else curve.menu


def _file_name(text: str) -> str:
    return bounded_stem(re.sub(r"[^\w.+-]+", "_", text).strip("_."))
