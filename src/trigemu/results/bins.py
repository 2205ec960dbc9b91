"""Rates in the bins of an observable: what `trigemu rates-vs` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.counting.quantities import MEANINGS
from trigemu.menus.checks import unit_of_observable
from trigemu.rates.results import Rate
from trigemu.results.notes import notes
from trigemu.results.numbers import EVENTS, events_text, in_unit, with_unit
from trigemu.results.rates import MenuRatesView
from trigemu.results.table import Column, Page, RowStyle, Table, records
from trigemu.results.view import Figures, View
from trigemu.studies.bins import Bin, BinnedRates

_RESCALED = "The rate if all crossings were like those in the bin."
#: The rates of the menu, or of a trigger, in a bin.
_RATES = (
    Column("total", "rate", "rate in bin", MEANINGS["total"]),
    Column("if_all", "rate", "rescaled", _RESCALED, parts=("hz", "error_hz", "upper_limit_hz", "unseen")),
)
#: A rate in a bin, in files.
COLUMNS = (
    Column("observable", "label", None, "The observable."),
    Column("low", "number", None, "The lower edge of the bin.", upper="high"),
    Column("high", "number", None, "The upper edge of the bin, which is not part of it."),
    Column("crossings_hz", "number", None, "The rate of all crossings in the bin."),
    Column("name", "label", None, "The name of the trigger or menu."),
    Column("kind", "label", None, "`trigger` or `menu`."),
    *_RATES,
)


def axis_of(result: BinnedRates) -> tuple[str, FloatArray]:
    """Return the label of the axis of the bins, with its unit, and their edges."""
    unit = unit_of_observable(result.whole.menu, result.observable)
    return with_unit(result.observable, unit), np.array([result.bins[0].low, *(b.high for b in result.bins)])


def curves_of(result: BinnedRates, only: Sequence[str] = ()) -> dict[str, list[tuple[Rate, Rate] | None]]:
    """Return the rates in each bin, and those rescaled to all crossings, by name: of the menu, then of each
    trigger, or of some `only`. A bin without crossings has None."""
    curves, bins = {}, [_rows(part) for part in result.bins]
    for number, name in enumerate((result.whole.menu.name, *(t.name for t in result.whole.triggers))):
        if not (number and only) or name in only:
            rates = [(rows[number]["total"], rows[number]["if_all"]) if rows else None for rows in bins]
            curves[name if number else f"menu {name}"] = rates
    return curves


def _rows(part: Bin) -> list[dict[str, Any]]:
    """Return the rates in a bin: of the menu, then of each trigger; none in a bin without crossings."""
    if not (part.rates and part.menu_if_all):
        return []
    menu = {"name": part.rates.menu.name, "kind": "menu", "total": part.rates.rate}
    triggers = ({"name": t.name, "kind": "trigger", "total": t.total} for t in part.rates.triggers)
    rescaled = (part.menu_if_all, *part.if_all)
    return [row | {"if_all": rate} for row, rate in zip((menu, *triggers), rescaled, strict=True)]


@dataclass(frozen=True)
class BinnedRatesView(View[BinnedRates]):
    triggers: tuple[str, ...] = ()  #: The triggers that are printed and drawn, with the menu; by default all

    def page(self, result: BinnedRates) -> Page:
        """A line per bin."""
        names = Column("name", "key", "trigger"), Column("bin", "key", result.observable)
        crossings = Column("crossings", "share", "crossings", gives_way=1)
        events = Column("events", "number", EVENTS, gives_way=2, text=events_text)
        table = Table((*names, crossings, *_RATES, events))
        style: RowStyle = "summary"  # of the menu, which is first
        for label, pairs in curves_of(result, self.triggers).items():
            for number, (part, pair) in enumerate(zip(result.bins, pairs, strict=True)):
                place = "" if number else label, f"{part.low:g} to {part.high:g}"
                rates = part.crossings.hz / result.crossings.hz, *(pair or ("–", None)), pair and pair[0]
                table.add(*place, *rates, style=style)
            style = "plain"
        # In a bin, a rate is no budget.
        below: list[str] = [note for note in notes(result.whole) if note.about != "budget"]
        below.append("Rescaled to all crossings: the rate if all crossings were like those in the bin.")
        if result.outside.events:
            below.append(f"Crossings of {in_unit(result.outside.hz, 0.0)} have no value in the bins.")
        return Page([table], below)

    def table(self, result: BinnedRates) -> Table:
        """The rates of the menu and of each trigger in each bin that has crossings."""
        table = Table(COLUMNS)
        for part in result.bins:
            place = {"low": part.low, "high": part.high, "crossings_hz": part.crossings.hz}
            for row in _rows(part):
                table.add_record({"observable": result.observable} | place | row)
        return table

    def document(self, result: BinnedRates) -> dict[str, Any]:
        """`whole` is as in `run`; a bin without events has null rates."""
        bins: list[dict[str, Any]] = []
        for part in result.bins:
            rates = records(Table.of((COLUMNS[4], *_RATES), _rows(part)))
            crossings = {
                "low": part.low,
                "high": part.high,
                "events": part.crossings.events,
                "effective_events": part.crossings.effective_events,
                "crossings_hz": part.crossings.hz,
                "crossings_error_hz": part.crossings.error_hz,
                "fraction": part.crossings.hz / result.crossings.hz,
            }
            bins.append(crossings | {"menu": rates[0] if rates else None, "triggers": rates[1:]})
        whole = MenuRatesView().document(result.whole)
        shared = {key: whole.pop(key) for key in ("samples", "left_out", "half", "provenance")}
        head = {"observable": result.observable, "crossings_hz": result.crossings.hz}
        return head | {"outside_hz": result.outside.hz, "bins": bins, "whole": whole} | shared

    def figures(self, result: BinnedRates) -> Figures:
        """Rates rescaled to all crossings."""
        from trigemu.results.figures.draw import draw_scan

        (label, edges), curves = axis_of(result), {}
        for key, pairs in curves_of(result, self.triggers).items():
            rates = [(pair[1].hz, pair[1].error_hz) if pair else (np.nan, np.nan) for pair in pairs]
            curves[key] = np.array(rates).T
        yield draw_scan(label, edges, curves, what="rate rescaled to all crossings [Hz]")
