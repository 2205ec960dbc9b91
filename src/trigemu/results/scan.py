"""A scan of thresholds: what `trigemu scan` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from trigemu.base.errors import TrigemuError
from trigemu.counting.quantities import COMPARED
from trigemu.rates.results import MenuRates, Rate
from trigemu.results.notes import legend, notes
from trigemu.results.numbers import count, in_unit, rejection_text, threshold_label
from trigemu.results.rates import MenuRatesView
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import Figures, View, name
from trigemu.studies.scan import BudgetBracket, Scan, budget_brackets

#: The largest number of thresholds that a figure has axes for.
_DRAWN = 2
_NAMES = {"total_hz": "its total rate", "unique_hz": "its unique rate", "rate_hz": "the rate of the menu"}


@dataclass(frozen=True)
class ScanView(View[Scan]):
    """A row has the thresholds of a point, the rates of their triggers, and those of levels and menu."""

    budgets: tuple[float, ...] = ()  #: Rates in Hz: the settings that bracket them are shown

    def line(self, result: Scan) -> str:
        steps = ", ".join(f"{name(step.name)} at {count(len(step.values), 'value')}" for step in result.steps)
        return f"of {name(result.points[0].menu.name)}: {steps}"

    def page(self, result: Scan) -> Page:
        """Over a plane, only the rates of the levels and of the menu are printed."""
        scanned = [t for p in result.points for t in p.triggers if t.name in _scanned(result)]
        marks = [*legend(scanned if len(result.steps) == 1 else (), result.points, COMPARED)]
        every = (note for point in result.points for note in notes(point, marks))
        below = dict.fromkeys(note for note in every if note.about not in ("events", "rejection"))
        return Page([_printed(result)], [*_lines(self._brackets(result)), *below])

    def table(self, result: Scan) -> Table:
        keys = [step.name if step.vary else f"{step.trigger} threshold" for step in result.steps]
        names = [*_rates(result, result.points[0])]
        settings = (Column(key, meaning="The value of what is scanned.", leads=True) for key in keys)
        rates = (Column(key, "rate", None, "A rate at these thresholds.") for key in names)
        table = Table((*settings, *rates))
        for values, point in _points(result):
            table.add(*values, *_rates(result, point).values())
        return table

    def document(self, result: Scan) -> dict[str, Any]:
        """Each point is as in `run`, without what all share."""
        documents = [MenuRatesView().document(point) for point in result.points]
        keys = ("menu", "triggers", "groups", "warnings")
        points = [
            {"values": values} | {key: document[key] for key in keys}
            for (values, _), document in zip(_points(result), documents, strict=True)
        ]
        return {
            "scanned": [asdict(step) for step in result.steps],
            "points": points,
            "met": [asdict(entry) | {"at": dict(entry.at)} for entry in self._brackets(result)],
        } | {key: documents[0][key] for key in ("samples", "left_out", "half", "provenance")}

    def figures(self, result: Scan) -> Figures:
        """Draw the rates against one threshold, or over the plane of two, with lines at the budgets."""
        from trigemu.results.figures.draw import draw_plane, draw_scan

        if len(result.steps) > _DRAWN:
            raise TrigemuError(f"{len(result.steps)} triggers are scanned: a figure can show {_DRAWN}")
        menu = result.points[0].menu
        labels = [
            step.name if step.vary else threshold_label(menu, step.trigger, step.trigger)
            for step in result.steps
        ]
        values = [np.array(step.values) for step in result.steps]
        if len(result.steps) == 1:
            names = {f"{level} rate": f"level {level}" for level in menu.levels}
            names["menu rate"] = f"menu {menu.name}"
            points = [_rates(result, point) for point in result.points]
            curves = {names.get(key, key): [rates[key] for rates in points] for key in points[0]}
            drawn = {key: np.array([(r.hz, r.error_hz) for r in curve]).T for key, curve in curves.items()}
            yield draw_scan(labels[0], values[0], drawn, self.budgets)
            return
        plane = np.array([point.rate.hz for point in result.points]).reshape([len(v) for v in values])
        yield draw_plane(
            (labels[0], labels[1]), (values[0], values[1]), plane, self.budgets, f"menu {menu.name}"
        )

    def _brackets(self, result: Scan) -> Iterator[BudgetBracket]:
        return (entry for budget in self.budgets for entry in budget_brackets(result, budget))


def _points(scan: Scan) -> Iterator[tuple[tuple[float, ...], MenuRates]]:
    """Yield the values and the rates of each point."""
    return zip(product(*(step.values for step in scan.steps)), scan.points, strict=True)


def _scanned(scan: Scan) -> list[str]:
    """Return the names of the scanned triggers, each once."""
    return list(dict.fromkeys(step.trigger for step in scan.steps))


def _rates(scan: Scan, point: MenuRates) -> dict[str, Rate]:
    """Return the rates at a point by the names of their columns: of the scanned triggers, of the levels, and
    of the menu."""
    triggers = {trigger.name: trigger for trigger in point.triggers}
    rates = {f"{name} {q}": triggers[name].rates[q] for name in _scanned(scan) for q in COMPARED}
    return rates | {f"{level.name} rate": level.rate for level in point.levels} | {"menu rate": point.rate}


def _printed(scan: Scan) -> Table:
    """Return the rates, and rejections beside those of levels."""
    levels = scan.points[0].menu.levels
    rates = [f"{scan.steps[0].trigger} {quantity}" for quantity in COMPARED] if len(scan.steps) == 1 else []
    headings = dict(zip(rates, COMPARED, strict=False)) | {f"{level} rate": level for level in levels}
    rejections = [f"{before} / {level}" for before, level in pairwise(levels)]
    steps = {step.name: step.name if step.vary else f"{step.trigger} above" for step in scan.steps}
    table = Table(
        [
            *(Column(key, heading=heading, leads=True, text=_short) for key, heading in steps.items()),
            *(Column(key, "rate", heading) for key, heading in headings.items()),
            *(Column(heading, "number", heading) for heading in rejections),
            *([] if levels else [Column("menu rate", "rate", "menu")]),  # that of the last level
        ]
    )
    for values, point in _points(scan):
        shown = dict(zip(rejections, map(rejection_text, point.levels[1:]), strict=True))
        settings = dict(zip(steps, values, strict=True))
        table.add_record(settings | _rates(scan, point) | shown)
    return table


def _short(value: float) -> str:
    return f"{value:.10g}"


def _lines(brackets: Iterable[BudgetBracket]) -> Iterator[str]:
    for entry in brackets:
        low = f"{entry.vary} = {_short(entry.low)}" if entry.vary else _short(entry.low)
        where = f"at {low}"
        if entry.low != entry.high:
            rates = f"{in_unit(entry.low_hz, 0.0)} and {in_unit(entry.high_hz, 0.0)}"
            where = f"between {low} and {_short(entry.high)}, where it is {rates}"
        others = "".join(f" with {name} at {_short(value)}" for name, value in entry.at)
        what = _NAMES[entry.quantity]
        yield f"{entry.trigger}: {what} is {in_unit(entry.budget_hz, 0.0)} {where}{others}."
