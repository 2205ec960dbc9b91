"""A scan of thresholds: what `trigemu scan` shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
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
        """Over a plane, only the rates of the levels and of the menu are printed; rejections beside those of
        levels."""
        levels, one = result.points[0].menu.levels, len(result.steps) == 1
        shown = {f"{result.steps[0].trigger} {quantity}": quantity for quantity in COMPARED} if one else {}
        shown |= {f"{level} rate": level for level in levels} or {"menu rate": "menu"}
        rejections = [f"{before} / {level}" for before, level in pairwise(levels)]
        steps = {step.name: step.name if step.vary else f"{step.trigger} above" for step in result.steps}
        columns = [
            *(Column(key, heading=heading, leads=True, text=_short) for key, heading in steps.items()),
            *(Column(key, "rate", heading) for key, heading in shown.items()),
            *(Column(heading, "number", heading) for heading in rejections),
        ]
        table = Table(columns)
        for values, point in zip(result.values, result.points, strict=True):
            texts = map(rejection_text, point.levels[1:])
            row = dict(zip([*steps, *rejections], [*values, *texts], strict=True))
            table.add_record(row | _rates(result, point))
        scanned = [t for p in result.points for t in p.triggers if one and t.name == result.steps[0].trigger]
        marks = [*legend(scanned, result.points, COMPARED)]
        every = (note for point in result.points for note in notes(point, marks))
        below = dict.fromkeys(note for note in every if note.about not in ("events", "rejection"))
        return Page([table], [*map(_sentence, self._brackets(result)), *below])

    def table(self, result: Scan) -> Table:
        keys = [step.name if step.vary else f"{step.trigger} threshold" for step in result.steps]
        settings = (Column(key, meaning="The value of what is scanned.", leads=True) for key in keys)
        names = _rates(result, result.points[0])
        rates = (Column(key, "rate", None, "A rate at these thresholds.") for key in names)
        table = Table((*settings, *rates))
        for values, point in zip(result.values, result.points, strict=True):
            table.add(*values, *_rates(result, point).values())
        return table

    def document(self, result: Scan) -> dict[str, Any]:
        """Each point is as in `run`, without what all share."""
        documents = [MenuRatesView().document(point) for point in result.points]
        keys = ("menu", "triggers", "groups", "warnings")
        points = zip(result.values, documents, strict=True)
        return {
            "scanned": [asdict(step) for step in result.steps],
            "points": [{"values": at} | {key: document[key] for key in keys} for at, document in points],
            "met": [asdict(entry) | {"at": dict(entry.at)} for entry in self._brackets(result)],
        } | {key: documents[0][key] for key in ("samples", "left_out", "half", "provenance")}

    def figures(self, result: Scan) -> Figures:
        """Draw the rates against one threshold, or over the plane of two, with lines at the budgets."""
        from trigemu.results.figures.draw import draw_plane, draw_scan
        from trigemu.results.figures.style import shown

        if len(result.steps) > _DRAWN:
            raise TrigemuError(f"{len(result.steps)} triggers are scanned: a figure can show {_DRAWN}")
        menu, triggers = result.points[0].menu, {step.trigger for step in result.steps}
        short = shown([*sorted(triggers), menu.name])
        labels = [
            step.name.replace(step.trigger, short[step.trigger])
            if step.vary
            else threshold_label(menu, step.trigger, short[step.trigger])
            for step in result.steps
        ]
        values, title = [np.array(step.values) for step in result.steps], f"menu {short[menu.name]}"
        if len(result.steps) == 1:
            names = {
                f"{name} {quantity}": f"{short[name]} {quantity}"
                for name in triggers
                for quantity in COMPARED
            }
            names |= {f"{level} rate": f"level {level}" for level in menu.levels} | {"menu rate": title}
            points = [_rates(result, point) for point in result.points]
            drawn = {
                names[key]: np.array([(rates[key].hz, rates[key].error_hz) for rates in points]).T
                for key in points[0]
            }
            yield draw_scan(labels[0], values[0], drawn, self.budgets)
            return
        plane = np.array([point.rate.hz for point in result.points]).reshape([len(v) for v in values])
        yield draw_plane((labels[0], labels[1]), (values[0], values[1]), plane, self.budgets, title)

    def _brackets(self, result: Scan) -> Iterator[BudgetBracket]:
        return (entry for budget in self.budgets for entry in budget_brackets(result, budget))


def _rates(scan: Scan, point: MenuRates) -> dict[str, Rate]:
    """Return the rates at a point by the names of their columns: of the scanned triggers, of the levels, and
    of the menu."""
    names = dict.fromkeys(step.trigger for step in scan.steps)
    triggers = {trigger.name: trigger.rates for trigger in point.triggers}
    rates = {f"{name} {quantity}": triggers[name][quantity] for name in names for quantity in COMPARED}
    return rates | {f"{level.name} rate": level.rate for level in point.levels} | {"menu rate": point.rate}


def _short(value: float) -> str:
    return f"{value:.10g}"


def _sentence(entry: BudgetBracket) -> str:
    """Return where a rate meets a budget."""
    low = f"{entry.vary} = {_short(entry.low)}" if entry.vary else _short(entry.low)
    if entry.low != entry.high:
        rates = f"{in_unit(entry.low_hz, 0.0)} and {in_unit(entry.high_hz, 0.0)}"
        where = f"between {low} and {_short(entry.high)}, where it is {rates}"
    else:
        where = f"at {low}"
    others = "".join(f" with {name} at {_short(value)}" for name, value in entry.at)
    what = _NAMES[entry.quantity]
    return f"{entry.trigger}: {what} is {in_unit(entry.budget_hz, 0.0)} {where}{others}."
