"""Rates as JSON, CSV and a table for a terminal. Numbers only: nothing is computed here."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trigemu.halves import NAMES
from trigemu.menu import Menu
from trigemu.results import MenuRates, Rate, TriggerRates
from trigemu.samples import Catalogue

_QUANTITIES = ("total", "unique", "share")
#: Those of 40 MHz over 1 Hz, without an exponent.
_PRESCALE_DIGITS = 8
#: Of a distribution of pile-up: what goes without saying if it is missing.
_MISSING_TOLD = 1e-4


def as_dict(result: MenuRates, version: str) -> dict[str, Any]:
    """The JSON document of `trigemu run`; rates in Hz, absent numbers null."""
    menu, catalogue = result.menu, result.catalogue
    return {
        "menu": {
            "name": menu.name,
            "crossing_rate_hz": menu.crossing_rate_hz,
            "rate_hz": result.rate.hz,
            "rate_error_hz": result.rate.error_hz,
            "events": result.rate.events,
            "effective_events": result.rate.effective_events,
        },
        "triggers": [row(trigger) for trigger in result.triggers],
        "groups": [row(group) for group in result.groups],
        "overlap": {
            "names": [trigger.name for trigger in result.triggers],
            "hz": result.overlap.tolist(),
            "error_hz": result.overlap_error.tolist(),
        },
        "samples": [
            {"name": sample.name, "events": sample.entries, "rate_hz": sample.rate_hz}
            for sample in catalogue.background
        ],
        "half": half(result),
        "warnings": list(result.warnings),
        "provenance": {
            "version": version,
            "menu": {"path": str(menu.path), "sha256": menu.sha256},
            "catalogue": {"path": str(catalogue.path), "sha256": catalogue.sha256} | _conditions(catalogue),
            "samples": {
                sample.name: dict(zip((source.path for source in sample.sources), sample.sha256, strict=True))
                for sample in catalogue.background
            },
            "plugins": {plugin.name: plugin.sha256 for plugin in menu.plugins},
            "models": dict(result.models),
        },
    }


def half(result: MenuRates) -> dict[str, Any] | None:
    if result.half is None:
        return None
    scales = {s.name: result.half.scales[s.number] for s in result.catalogue.background}
    return {"name": NAMES[result.half.number], "scales": scales}


def _conditions(catalogue: Catalogue) -> dict[str, Any]:
    """The luminosity that interactions stand for, the pile-up that crossings were reweighted to."""
    of_interactions = catalogue.table.convention == "luminosity"
    return {
        "luminosity_cm2s": catalogue.table.luminosity_cm2s if of_interactions else None,
        "pileup": asdict(catalogue.pileup) if catalogue.pileup else None,
    }


def as_json(result: MenuRates, version: str) -> str:
    return json.dumps(as_dict(result, version), indent=2, allow_nan=False) + "\n"


def as_csv(result: MenuRates) -> str:
    """A line for each trigger and group, then one for the menu as its own group."""
    return in_csv(all_rows(result))


def all_rows(result: MenuRates) -> list[dict[str, Any]]:
    """Of each trigger and group, then of the menu, which has fewer numbers."""
    whole = {"name": result.menu.name, "kind": "menu"} | rate_numbers("total", result.rate)
    return [*(row(trigger) for trigger in (*result.triggers, *result.groups)), whole]


def in_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first row has all columns."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def row(trigger: TriggerRates) -> dict[str, Any]:
    """All numbers of a trigger or group, under the names of JSON and CSV."""
    numbers = {
        "name": trigger.name,
        "kind": trigger.kind,
        "group": trigger.group,
        "prescale": trigger.prescale,
        "threshold": trigger.threshold,
        "threshold_error": trigger.threshold_error,
    }
    for quantity in _QUANTITIES:
        numbers |= rate_numbers(quantity, getattr(trigger, quantity))
    return numbers


def rate_numbers(quantity: str, rate: Rate) -> dict[str, Any]:
    return {
        f"{quantity}_hz": rate.hz,
        f"{quantity}_error_hz": rate.error_hz,
        f"{quantity}_events": rate.events,
        f"{quantity}_effective_events": rate.effective_events,
        f"{quantity}_upper_limit_hz": rate.upper_limit_hz,
    }


def format_rate(rate: Rate) -> str:
    """`18.7 ± 1.4 kHz`, the error with two digits; `< 12 Hz` for an upper limit at 68 %."""
    if rate.upper_limit_hz is not None:
        return f"< {in_unit(rate.upper_limit_hz, 0.0)}"
    return in_unit(rate.hz, rate.error_hz)


def in_unit(hz: float, error_hz: float) -> str:
    """`18.7 ± 1.4 kHz`, without the error where it is 0."""
    size = float(f"{max(abs(hz), abs(error_hz)):.3g}")
    if not size:
        return "0 Hz"
    unit, scale = next(
        ((u, s) for u, s in (("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)) if size >= s), ("mHz", 1e-3)
    )
    if error_hz <= 0:
        return f"{hz / scale:.3g} {unit}"
    return f"{with_error(hz / scale, error_hz / scale)} {unit}"


def with_error(value: float, error: float) -> str:
    """`18.7 ± 1.4`, the error with two digits."""
    if error <= 0:
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(float(f"{error:.1e}")))
    rounded = (f"{round(x, digits):.{max(0, digits)}f}" for x in (value, error))
    return " ± ".join(rounded)


def rate_table(result: MenuRates) -> RenderableType:
    """What `trigemu run` prints."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("trigger", overflow="fold")
    table.add_column("prescale", justify="right")
    for quantity in _QUANTITIES:
        table.add_column(quantity, justify="right", no_wrap=True)
    table.add_column("events", justify="right", no_wrap=True)
    for trigger in result.triggers:
        table.add_row(*_cells(trigger))
    if result.groups:
        table.add_row("")
    for group in result.groups:
        table.add_row(*_cells(group), style="cyan")
    table.add_row("")
    whole = marked(result.rate)
    table.add_row(f"menu {result.menu.name}", "", whole, "", "", events_text(result.rate), style="bold")
    return Group(table, *(Text(note, style="dim") for note in notes(result)))


def _cells(trigger: TriggerRates) -> list[str]:
    name = f"group {trigger.name}" if trigger.kind == "group" else trigger.name
    prescale = prescale_text(trigger.prescale)
    values = [marked(getattr(trigger, quantity)) for quantity in _QUANTITIES]
    return [name, prescale, *values, events_text(trigger.total)]


def prescale_text(prescale: float | None) -> str:
    """Nothing for 1."""
    return "" if prescale in (None, 1.0) else f"{prescale:.{_PRESCALE_DIGITS}g}"


def marked(rate: Rate) -> str:
    """Narrow, so that a table fits 100 columns; with a mark, or its room, so that numbers stand below
    each other."""
    return format_rate(rate).replace(" ± ", "±") + ("*" if rate.unseen else " ")


def events_text(rate: Rate) -> str:
    return f"{short(rate.events)} ({short(rate.effective_events)})"


def short(count: float) -> str:
    """Three digits: 37900 is 37.9k."""
    size = float(f"{count:.3g}")
    unit, scale = next(((u, s) for u, s in (("G", 1e9), ("M", 1e6), ("k", 1e3)) if size >= s), ("", 1.0))
    return f"{size / scale:.3g}{unit}"


def notes(result: MenuRates) -> Iterator[str]:
    samples = " + ".join(sample.name for sample in result.catalogue.background)
    kind = result.catalogue.table.convention
    yield ""
    yield f"Sample {result.catalogue.table.name!r} ({kind} weights): {samples}."
    if kind == "luminosity" and result.catalogue.table.luminosity_cm2s:
        yield f"Luminosity: {result.catalogue.table.luminosity_cm2s:g} cm⁻² s⁻¹."
    yield "Events: how many enter the total, and how many of equal weight they are worth."
    every = [getattr(t, q) for t in (*result.triggers, *result.groups) for q in _QUANTITIES]
    if any(rate.upper_limit_hz is not None for rate in every):
        yield "<: no event; upper limit at 68 %."
    unseen = sorted({name for rate in (result.rate, *every) for name in rate.unseen})
    if unseen:
        yield (
            f"*: none of these events is from {', '.join(unseen)}, where a single one would weigh more "
            f"than the error: the error is too small."
        )
    if pileup := result.catalogue.pileup:
        yield (
            f"Pile-up: crossings reweighted from {pileup.sample_mean:.4g} to {pileup.mean:g} interactions on "
            f"average (Poisson), worth {short(pileup.effective_events)} of equal weight, "
            f"{short(pileup.effective_before)} before."
        )
        if pileup.missing >= _MISSING_TOLD:
            yield (
                f"Of that distribution {100 * pileup.missing:.2g} % are missing, for want of crossings with "
                f"so few or so many interactions; the others stand for them."
            )
    if result.half:
        yield (
            f"Rates are from the {NAMES[result.half.number]} half of each sample, scaled to all of it: "
            f"models or thresholds were fitted on this sample."
        )
    yield from solutions(result.menu)
    yield from (f"Warning: {warning}." for warning in result.warnings)


def solutions(menu: Menu) -> Iterator[str]:
    """A line for each threshold that was found from a budget, and what they are worth."""
    solved = [(t.name, t.budget, t.solution) for t in menu.triggers if t.budget and t.solution]
    for name, budget, solution in solved:
        yield (
            f"{name}: threshold {with_error(solution.cut, solution.error)} for "
            f"{in_unit(budget.hz, 0.0)} of {budget.quantity} rate."
        )
    if solved:
        yield (
            "Such a rate is true by construction on this half; as a prediction for other data its error is "
            "about √2 times the one printed."
        )


def overlap_table(result: MenuRates) -> RenderableType:
    """Overlap rates in Hz, the totals on the diagonal; columns are numbered to stay narrow."""
    table = Table(box=None, pad_edge=False, header_style="bold", title="Overlap in Hz", title_justify="left")
    table.add_column("", justify="right")
    table.add_column("trigger", overflow="fold")
    for number in range(1, len(result.triggers) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    for i, trigger in enumerate(result.triggers):
        values = [f"{hz:.4g} ± {e:.2g}" if hz else "0" for hz, e in _lower(result, i)]
        table.add_row(str(i + 1), trigger.name, *values)
    return table


def _lower(result: MenuRates, row: int) -> Iterator[tuple[float, float]]:
    for column in range(row + 1):
        yield float(result.overlap[row, column]), float(result.overlap_error[row, column])
