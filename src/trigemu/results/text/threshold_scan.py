"""A scan as JSON, CSV and a table for a terminal. Numbers only: nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise, product
from typing import Any

from rich.console import RenderableType

from trigemu.counting import COMPARED
from trigemu.rates import MenuRates, Rate
from trigemu.results.documents import in_csv, in_json
from trigemu.results.notes import notes
from trigemu.results.numbers import in_unit, marked, rejection_text, threshold_label
from trigemu.results.text.rates import as_dict, in_cell, rate_numbers
from trigemu.results.text.terminal import Page, Table
from trigemu.studies import Met, Scan

_NAMES = {"total_hz": "its total rate", "unique_hz": "its unique rate", "rate_hz": "the rate of the menu"}


def as_json(scan: Scan, met: Sequence[Met], version: str) -> str:
    """Return the JSON document of `trigemu scan`; each point is as in `run`, without what all share."""
    documents = [as_dict(point, version) for point in scan.points]
    shared = {key: documents[0][key] for key in ("samples", "left_out", "half", "provenance")}
    own = ("menu", "triggers", "groups", "warnings")
    document = {
        "scanned": [asdict(step) for step in scan.steps],
        "points": [
            {"values": values} | {key: point[key] for key in own}
            for values, point in zip(_values(scan), documents, strict=True)
        ],
        "met": [asdict(entry) | {"at": dict(entry.at)} for entry in met],
    }
    return in_json(document | shared)


def _values(scan: Scan) -> Iterator[tuple[float, ...]]:
    return product(*(step.values for step in scan.steps))


def as_csv(scan: Scan) -> str:
    """Return CSV with a line per point: values, rates of the scanned triggers, of the levels and menu."""
    columns = _columns(scan)
    rates = [f"{column}_{key}" for column in columns for key in ("hz", "error_hz", "unseen")]
    rows: list[list[object]] = [[*_keys(scan), *rates]]
    for values, point in zip(_values(scan), scan.points, strict=True):
        every = [*_rates(scan, point), *_levels(point), point.rate]
        numbers = [n for rate in every for n in (rate.hz, rate.error_hz, in_cell(rate.unseen))]
        rows.append([*values, *numbers])
    return in_csv(rows)


def rows(scan: Scan) -> Iterator[dict[str, Any]]:
    """Yield the numbers of a point by their keys in CSV, with upper limits and samples that are unseen."""
    for values, point in zip(_values(scan), scan.points, strict=True):
        row: dict[str, Any] = dict(zip(_keys(scan), values, strict=True))
        for column, rate in zip(
            _columns(scan), [*_rates(scan, point), *_levels(point), point.rate], strict=True
        ):
            row |= rate_numbers(column, rate)
        yield row


def _keys(scan: Scan) -> list[str]:
    """Return the names of the columns of what is scanned."""
    return [step.name if step.vary else f"{step.trigger} threshold" for step in scan.steps]


def _columns(scan: Scan) -> list[str]:
    """Return the names of the columns of rates: of the scanned triggers, of the levels and of the menu."""
    own = [f"{name} {quantity}" for name in _scanned(scan) for quantity in COMPARED]
    return [*own, *(f"{level} rate" for level in scan.points[0].menu.levels), "menu rate"]


def _scanned(scan: Scan) -> list[str]:
    """Return the names of the scanned triggers, each once."""
    return list(dict.fromkeys(step.trigger for step in scan.steps))


def _rates(scan: Scan, point: MenuRates) -> list[Rate]:
    """List the rates of each scanned trigger that variants are compared by."""
    own = {trigger.name: trigger.rates for trigger in point.triggers}
    return [own[name][quantity] for name in _scanned(scan) for quantity in COMPARED]


def _levels(point: MenuRates) -> list[Rate]:
    return [level.rate for level in point.levels]


def scan_table(scan: Scan, met: Sequence[Met]) -> RenderableType:
    """Return what `trigemu scan` prints; over a plane, only the rates of the levels and of the menu."""
    table = Table()
    one = len(scan.steps) == 1
    for step in scan.steps:
        table.add_column(step.name if step.vary else f"{step.trigger} above", key=True)
    for quantity in COMPARED if one else ():
        table.add_column(quantity)
    levels = scan.points[0].menu.levels
    wholes = [*levels, *(f"{before} / {level}" for before, level in pairwise(levels)), "menu"]
    for name in wholes:
        table.add_column(name)
    for values, point in zip(_values(scan), scan.points, strict=True):
        shown = [*map(marked, (*(_rates(scan, point) if one else ()), *_levels(point)))]
        shown += [rejection_text(level) for level in point.levels[1:]]
        table.add_row(*(f"{value:.10g}" for value in values), *shown, marked(point.rate))
    return Page([table], [*_lines(met), *_notes(scan)])


def _lines(met: Sequence[Met]) -> Iterator[str]:
    for entry in met:
        low = f"{entry.vary} = {entry.low:.10g}" if entry.vary else f"{entry.low:.10g}"
        where = f"at {low}"
        if entry.low != entry.high:
            rates = f"{in_unit(entry.low_hz, 0.0)} and {in_unit(entry.high_hz, 0.0)}"
            where = f"between {low} and {entry.high:.10g}, where it is {rates}"
        at = "".join(f" with {name} at {value:.10g}" for name, value in entry.at)
        what = _NAMES[entry.quantity]
        yield f"{entry.trigger}: {what} is {in_unit(entry.budget_hz, 0.0)} {where}{at}."


def _notes(scan: Scan) -> Iterator[str]:
    """Yield the notes of `run` about all points, each once."""
    yield from dict.fromkeys(note.text for point in scan.points for note in notes(point))


def figure_of(scan: Scan, budgets: Sequence[float]) -> Any:
    """Draw the rates against one threshold, or over the plane of two."""
    import numpy as np

    from trigemu.results.figures.threshold_scan import draw_plane, draw_scan

    menu = scan.points[0].menu
    labels = [
        step.name if step.vary else threshold_label(menu, step.trigger, step.trigger) for step in scan.steps
    ]
    values = [np.array(step.values) for step in scan.steps]
    if len(scan.steps) == 1:
        name = scan.steps[0].trigger
        every = ([*_rates(scan, point), *_levels(point), point.rate] for point in scan.points)
        columns = list(zip(*every, strict=True))
        levels = (f"level {level}" for level in menu.levels)
        own = (f"{name} {quantity}" for quantity in COMPARED)
        names = (*own, *levels, f"menu {menu.name}")
        hz = {n: np.array([rate.hz for rate in c]) for n, c in zip(names, columns, strict=True)}
        errors = {n: np.array([rate.error_hz for rate in c]) for n, c in zip(names, columns, strict=True)}
        return draw_scan(labels[0], values[0], hz, errors, budgets)
    plane = np.array([point.rate.hz for point in scan.points]).reshape([len(v) for v in values])
    return draw_plane((labels[0], labels[1]), (values[0], values[1]), plane, budgets, f"menu {menu.name}")
