"""Rates against an observable as JSON, CSV, a table for a terminal and a figure. Numbers only: nothing is
computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import RenderableType

from trigemu.menus import unit_of_observable
from trigemu.rates import Rate
from trigemu.results.documents import in_json
from trigemu.results.notes import notes, texts
from trigemu.results.numbers import EVENTS, events_text, in_unit, marked
from trigemu.results.text.rates import as_dict, csv_of, rate_numbers
from trigemu.results.text.terminal import Page, Table
from trigemu.studies import Bin, BinnedRates
from trigemu.support import FloatArray


def as_json(result: BinnedRates, version: str) -> str:
    """Return the JSON document of `trigemu rates-vs`; rates in Hz. `whole` is as in `run`; a bin without
    events has null rates."""
    whole = as_dict(result.whole, version)
    shared = {key: whole.pop(key) for key in ("samples", "left_out", "half", "provenance")}
    document = {
        "observable": result.observable,
        "crossings_hz": result.crossings.hz,
        "outside_hz": result.outside.hz,
        "bins": [
            {
                "low": part.low,
                "high": part.high,
                "events": part.crossings.events,
                "effective_events": part.crossings.effective_events,
                "crossings_hz": part.crossings.hz,
                "crossings_error_hz": part.crossings.error_hz,
                "fraction": part.crossings.hz / result.crossings.hz,
            }
            | {"menu": None, "triggers": []}
            | _of_bin(part)
            for part in result.bins
        ],
        "whole": whole,
    }
    return in_json(document | shared)


def _of_bin(part: Bin) -> dict[str, Any]:
    each = [{"name": name} | _numbers(*rates) for name, *rates in _each(part)]
    if not each:
        return {}
    menu, *triggers = each
    return {"menu": menu, "triggers": triggers}


def _each(part: Bin) -> Iterator[tuple[str, Rate, Rate]]:
    """Yield name, rate in the bin, and rate rescaled to all crossings: of the menu, then of each trigger."""
    if part.rates and part.menu_if_all:
        yield part.rates.menu.name, part.rates.rate, part.menu_if_all
        for trigger, if_all in zip(part.rates.triggers, part.if_all, strict=True):
            yield trigger.name, trigger.total, if_all


def _numbers(rate: Rate, if_all: Rate) -> dict[str, Any]:
    keys = ("if_all_hz", "if_all_error_hz", "if_all_upper_limit_hz", "if_all_unseen")
    numbers = rate_numbers("if_all", if_all)
    return rate_numbers("total", rate) | {key: numbers[key] for key in keys}


def as_csv(result: BinnedRates) -> str:
    """Return CSV with a line for the menu and for each trigger in each bin."""
    return csv_of(all_rows(result))


def all_rows(result: BinnedRates) -> list[dict[str, Any]]:
    """Return a row for the menu and for each trigger in each bin that has crossings."""
    head = {"observable": result.observable}
    return [
        head
        | {"low": part.low, "high": part.high, "crossings_hz": part.crossings.hz}
        | {"name": name, "kind": "trigger" if number else "menu"}
        | _numbers(*rates)
        for part in result.bins
        for number, (name, *rates) in enumerate(_each(part))
    ]


def rates_vs_table(result: BinnedRates, triggers: Sequence[str] = ()) -> RenderableType:
    """Return what `trigemu rates-vs` prints: a line per bin, for some triggers or for all."""
    table = Table()
    table.add_column("trigger", "name")
    table.add_column(result.observable, "name")
    table.add_column("crossings", gives_way=1)
    for name in ("rate in bin", "rescaled"):
        table.add_column(name)
    table.add_column(EVENTS, gives_way=2)
    whole = result.whole
    names = [t.name for t in whole.triggers if t.name in triggers or not triggers]
    for number, name in ((0, f"menu {whole.menu.name}"), *((_position(result, n), n) for n in names)):
        label, style = name, "" if number else "bold"
        for part in result.bins:
            rates = list(_each(part))[number] if part.rates else None
            cells = ("–", "", "") if rates is None else _cells(*rates[1:])
            low_high, share = f"{part.low:g} to {part.high:g}", part.crossings.hz / result.crossings.hz
            table.add_row(label, low_high, f"{100 * share:.3g} %", *cells, style=style)
            label = ""
    shown = (note for note in notes(whole) if note.about != "budget")  # in a bin, a rate is no budget
    return Page([table], (*texts(shown), *_notes(result)))


def _position(result: BinnedRates, name: str) -> int:
    """Return the place of a trigger in `_each`, where the menu comes first."""
    return 1 + [trigger.name for trigger in result.whole.triggers].index(name)


def _cells(rate: Rate, if_all: Rate) -> tuple[str, str, str]:
    return marked(rate), marked(if_all), events_text(rate)


def _notes(result: BinnedRates) -> Iterator[str]:
    yield "Rescaled to all crossings: the rate if all crossings were like those in the bin."
    if result.outside.events:
        yield f"Crossings of {in_unit(result.outside.hz, 0.0)} have no value in the bins."


def values_of(result: BinnedRates, rescaled: bool) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the rates of the menu and of each trigger in each bin, or those rescaled to all crossings, by
    name: values in Hz and variances, float64[bins] each. In a bin without crossings, the former are 0 and the
    latter NaN."""
    names = [f"menu {result.whole.menu.name}", *(trigger.name for trigger in result.whole.triggers)]
    missing = (np.nan, np.nan) if rescaled else (0.0, 0.0)
    found = {}
    for number, name in enumerate(names):
        each = [list(_each(part))[number][1 + rescaled] if part.rates else None for part in result.bins]
        pairs = [(rate.hz, rate.error_hz) if isinstance(rate, Rate) else missing for rate in each]
        hz, error = np.array(pairs).T
        found[name] = (hz, error**2)
    return found


def figure_of(result: BinnedRates, triggers: Sequence[str]) -> Any:
    """Draw the rates, rescaled to all crossings, of the menu and of some triggers in each bin."""
    from trigemu.results.figures.rates_in_bins import draw_rates_vs

    edges = np.array([result.bins[0].low, *(part.high for part in result.bins)])
    curves = {}
    for number, name in (
        (0, f"menu {result.whole.menu.name}"),
        *((_position(result, n), n) for n in triggers),
    ):
        rates = [list(_each(part))[number][2] if part.rates else None for part in result.bins]
        shown = [rate if rate and rate.events else None for rate in rates]
        curves[name] = (
            np.array([rate.hz if rate else np.nan for rate in shown]),
            np.array([rate.error_hz if rate else np.nan for rate in shown]),
        )
    return draw_rates_vs(axis_label(result), edges, curves)


def axis_label(result: BinnedRates) -> str:
    """Return the observable with its unit."""
    unit = unit_of_observable(result.whole.menu, result.observable)
    return f"{result.observable} [{unit}]" if unit else result.observable
