"""Rates and decisions against the number of bits, as tables, JSON and TOML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec
from trigemu_anomaly.fixed_point import SATURATING, ApFixed
from trigemu_anomaly.precision import PrecisionTable

from trigemu import __version__
from trigemu.base import toml_text
from trigemu.results import notes, numbers
from trigemu.results.table import Column, Page, Table, in_json

from .ranges import Survey
from .scan import BitScan, Point


def as_toml(precision: PrecisionTable) -> str:
    """Return a precision as the line of a trigger in a menu."""
    keys = {k: v for k, v in msgspec.structs.asdict(precision).items() if v is not None}
    return toml_text.entry("precision", keys)


def survey_json(survey: Survey) -> str:
    """Return the JSON document of `trigemu firmware precision`."""
    precision = msgspec.structs.asdict(survey.precision)
    return in_json(asdict(survey) | {"precision": precision, "version": __version__})


def survey_table(survey: Survey) -> Page:
    """Return what `trigemu firmware precision` prints."""
    names = ("events", "thresholds", "scale", "step", "holds", "overflows")
    table = Table((Column("", "key", ""), *(Column(name, "number", name) for name in names)))
    ranges = survey.ranges
    for input_range in ranges.inputs:
        thresholds = _span(*input_range.thresholds) if input_range.thresholds else "none"
        scale = f"2^{input_range.scale}" if input_range.scale else "1"
        events, held = _span(input_range.low, input_range.high), _span(*input_range.holds)
        overflows = str(input_range.overflows)
        table.add(input_range.name, events, thresholds, scale, input_range.step, held, overflows)
    span = _span(ranges.low, ranges.high)
    table.add("score", span, "", "", ranges.step, _span(*ranges.holds), str(ranges.overflows))
    return Page([table], [*_remarks(survey)])


def _span(low: float, high: float) -> str:
    return f"{low:.6g} … {high:.6g}"


def _remarks(survey: Survey) -> Iterator[str]:
    ranges = survey.ranges
    trees = f"{survey.trees} trees with {survey.split_nodes} splits"
    yield f"{trees}; overflows: in the {ranges.events} events that pass the preselection of {survey.trigger}."
    if survey.chosen:
        yield f"Bits before the point were chosen on {survey.chosen} of them, which the trees may have seen."
    saturates = ApFixed.parse(survey.precision.input).overflow in SATURATING
    if saturates and any(input_range.overflows for input_range in ranges.inputs) and not ranges.thresholds:
        yield "Inputs that overflow saturate beyond the last threshold, where all values decide alike."
    if ranges.thresholds or ranges.leaves:
        yield f"Warning: {ranges.thresholds} thresholds and {ranges.leaves} leaf values overflow."
    lowest = (low for r in ranges.inputs for low in (r.low, *(r.thresholds or ())))
    if ApFixed.parse(survey.precision.input).signed and all(low >= 0.0 for low in lowest):
        yield "No input is negative: ap_ufixed in the menu would use the sign bit for resolution."
    if survey.spared > 0:
        yield (
            f"Inputs that saturate (--overflow AP_SAT) need {survey.spared} bits fewer before the point, "
            f"and have as many more behind it."
        )


def scan_json(scan: BitScan) -> str:
    """Return the JSON document of `trigemu firmware scan`; `floating` is as in `run`."""
    document = {
        "trigger": scan.trigger,
        "asked_events": scan.preselected_events,
        "asked_hz": scan.preselected_hz,
        "points": [asdict(p) | {"precision": msgspec.structs.asdict(p.precision)} for p in scan.points],
        "floating": scan.floating.to_dict(),
    }
    return in_json(document)


def scan_table(scan: BitScan) -> Page:
    """Return what `trigemu firmware scan` prints."""
    with_resources = any(point.resources for point in scan.points)
    table = Table(
        (
            *(Column(name, "number", name, leads=True) for name in ("input", "score")),
            *(Column(name, "difference", name) for name in ("total", "unique")),
            Column("differ", "count", "differ"),
            *(Column(name, "number", name, text="{:.2e}".format) for name in ("of events", "of rate")),
            Column("overflow", "number", "overflow"),
            *(Column(name, "count", name) for name in (("LUT", "registers") if with_resources else ())),
        )
    )
    for point in scan.points:
        table.add(*_cells(scan, point))
    return Page([table], [*_scan_notes(scan)])


def _cells(scan: BitScan, point: Point) -> Iterator[Any]:
    for text in (point.precision.input, point.precision.score):
        kind = ApFixed.parse(text)
        yield f"{kind.width},{kind.integer}"
    yield from ((shift.hz, shift.error_hz) for shift in (point.total, point.unique))
    yield point.differ_events
    yield share(point.differ_events, scan.preselected_events)
    yield share(point.differ_hz, scan.preselected_hz)
    yield "/".join(str(n) for n in (*(r.overflows for r in point.ranges.inputs), point.ranges.overflows))
    if point.resources:
        yield from (point.resources.lut, point.resources.ff)


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _scan_notes(scan: BitScan) -> Iterator[str]:
    own_precision = scan.own
    total, unique = (numbers.format_rate(rate) for rate in (own_precision.total, own_precision.unique))
    yield (
        f"{scan.trigger} in floating point: total {total}, unique {unique}, "
        f"threshold {own_precision.threshold:.6g}, the same for all."
    )
    yield "Types are width,integer bits. Rates are differences from floating point, on the same events."
    inputs = ", ".join(input_range.name for input_range in scan.points[0].ranges.inputs)
    yield (
        f"Differ: events whose decision changes, and their fraction of the {scan.preselected_events} events "
        f"that pass the preselection and of their rate. Overflow: number of events, by {inputs} / score."
    )
    if any(point.ranges.thresholds or point.ranges.leaves for point in scan.points):
        yield "Warning: thresholds or leaf values overflow (--json has the numbers)."
    if any(point.resources for point in scan.points):
        yield "LUT and registers: an estimate by yosys for UltraScale+, of the Verilog in two clocks."
    left_out = ("events", "unseen", "few", "budget")
    yield from (note for note in notes.notes(scan.floating) if note and note.about not in left_out)
