"""A trigger in its precision, or in several, each compared with floating point at the same threshold,
event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec
import numpy as np
from trigemu_anomaly.fixed_point import MAX_WIDTH, ApFixed
from trigemu_anomaly.precision import PrecisionTable, table_of
from trigemu_anomaly.trees import FixedEnsemble, Precision

from trigemu.base.errors import TrigemuError, quoted
from trigemu.counting.sums import RateSums
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.loop import Emulation, emulate
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.rates.menu_rates import rates_of
from trigemu.rates.results import MenuRates, TriggerRates
from trigemu.results import notes, numbers
from trigemu.results.table import Column, Page, Table, in_json
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.comparison import compare_pair

from .circuit import Resources
from .model import halves, in_precision, read_rows, tree_model, with_trees
from .precision import Change, Ranges, choose, ranges, ranges_table, remarks, types_of


@dataclass(frozen=True)
class Shift:
    """A rate in fixed point minus the rate in floating point, in Hz, with the paired uncertainty."""

    hz: float
    error_hz: float


@dataclass(frozen=True)
class Point:
    """One precision of a scan."""

    input_bits: int
    score_bits: int
    precision: PrecisionTable
    total: Shift
    unique: Shift
    differ_events: int  # differ_events, differ_hz: Of the events whose decision differs from floating point
    differ_hz: float
    ranges: Ranges  # On the half for rates
    resources: Resources | None = None  # None unless requested


@dataclass(frozen=True)
class BitScan:
    """A trigger in several precisions."""

    trigger: str
    floating: MenuRates  # With the trees in floating point, at the common threshold
    preselected_events: int  # preselected_events, preselected_hz: Of the events that pass the preselection
    preselected_hz: float
    points: tuple[Point, ...]
    models: tuple[FixedEnsemble, ...]  # Of the points

    @property
    def own(self) -> TriggerRates:
        """The rates of the trigger in floating point."""
        return next(trigger for trigger in self.floating.triggers if trigger.name == self.trigger)


def scan_bits(
    menu: Menu,
    name: str,
    widths: Sequence[tuple[int, int]],
    catalogue: Catalogue,
    *,
    types: Precision | None = None,
    executor: Any = None,
) -> BitScan:
    """Evaluate a trigger in several widths, each the bits of inputs and thresholds, and of the score; without
    any, in its own precision.

    Bits before the point are chosen on the half that the trees were fitted on, rates are from the other half;
    a threshold with a rate budget is solved once, in floating point.
    """
    menu = at_own_column(menu)
    trigger = with_trees(menu, name)
    if not trigger.enabled:
        raise TrigemuError(f"{trigger.place}: trigger {name!r} is disabled: it has no rates to compare")
    own = tree_model(menu, name).fixed
    if not (widths or own):
        raise TrigemuError(f"{trigger.place}: trigger {name!r} has no precision: --bits chooses one")
    (floating,) = solve_budgets([in_precision(menu, name, None)], catalogue, executor=executor)
    model, types = tree_model(floating, name), types or types_of(menu, name)
    rows, names = read_rows(floating, catalogue, name, executor=executor), model.inputs.texts
    fitted_on, evaluated = halves(floating, catalogue, rows)
    chosen = [choose(model.ensemble, fitted_on.x, names, Change(*pair).of(types)) for pair in widths]
    chosen = chosen or [own] if own else chosen
    menus = [
        replace(in_precision(floating, name, table_of(fixed)), name=f"{menu.name} ({number})")
        for number, fixed in enumerate(chosen)
    ]
    emulation = emulate([floating, *menus], catalogue, executor=executor)
    scales = emulation.scales * scaling.crossing_scale(menu, catalogue)
    points = []
    for number, fixed in enumerate(chosen, start=1):
        shifts = {
            difference.quantity: Shift(difference.b_minus_a_hz, difference.error_hz)
            for difference in compare_pair(emulation, 0, number).differences
            if difference.what == name
        }
        point = Point(
            fixed.precision.input.width,
            fixed.precision.score.width,
            table_of(fixed),
            shifts["total_hz"],
            shifts["unique_hz"],
            *_differ(emulation, name, number),
            ranges(fixed, evaluated.x, names),
        )
        points.append(point)
    hz = float(np.sum(evaluated.weight * scales[evaluated.sample]))
    floating_rates = rates_of(emulation, floating)
    return BitScan(name, floating_rates, len(evaluated.x), hz, tuple(points), tuple(chosen))


def _differ(emulation: Emulation, name: str, number: int) -> tuple[int, float]:
    """Return the number and rate in Hz of the events in which the trigger decides differently in a menu than
    in the first menu."""
    counted = emulation.counted(0, number)
    table = counted.table
    first, second = (
        table.words[:, bits[name] // 64] >> np.uint64(bits[name] % 64) & np.uint64(1) for bits in counted.bits
    )
    differs = (first != second).astype(np.float64)
    if name in counted.fitted[0]:
        differs *= counted.unseen
    sums = RateSums(counted, 1)
    for rows in counted.blocks():
        sums.add(rows, differs[rows, np.newaxis])
    return int(table.n[differs > 0].sum()), float(sums.result()[0][0])


def parse_bits(text: str) -> tuple[int, ...]:
    """Read widths, `8:18` (first and last) or `8,12,16`; TrigemuError if they are not valid."""
    first, colon, last = text.partition(":")
    try:
        bits = [int(part) for part in text.split(",")] if not colon else [int(first), int(last)]
    except ValueError:
        raise TrigemuError(
            f"bits {quoted(text)}: expected FIRST:LAST, or widths separated by commas"
        ) from None
    if min(bits) < 1 or max(bits) > MAX_WIDTH or (colon and bits[0] > bits[1]):
        raise TrigemuError(
            f"bits {quoted(text)}: expected widths of 1 to {MAX_WIDTH}, the first not above the last"
        )
    return tuple(range(bits[0], bits[1] + 1)) if colon else tuple(sorted({*bits}))


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


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _bits(text: str) -> str:
    kind = ApFixed.parse(text)
    return f"{kind.width},{kind.integer}"


def _overflows(point: Point) -> str:
    numbers = [*(r.overflows for r in point.ranges.inputs), point.ranges.overflows]
    return "/".join(map(str, numbers))


def scan_page(scan: BitScan) -> Page:
    """Return what `trigemu firmware scan` prints."""
    events, hz = scan.preselected_events, scan.preselected_hz
    columns = [
        Column("input", "number", "input", leads=True, of=lambda p: _bits(p.precision.input)),
        Column("score", "number", "score", leads=True, of=lambda p: _bits(p.precision.score)),
        Column("total", "difference", "total", of=lambda p: (p.total.hz, p.total.error_hz)),
        Column("unique", "difference", "unique", of=lambda p: (p.unique.hz, p.unique.error_hz)),
        Column("differ", "count", "differ", of=lambda p: p.differ_events),
        Column(
            "events", text="{:.2e}".format, heading="of events", of=lambda p: _share(p.differ_events, events)
        ),
        Column("rate", text="{:.2e}".format, heading="of rate", of=lambda p: _share(p.differ_hz, hz)),
        Column("overflow", "number", "overflow", of=_overflows),
    ]
    if any(point.resources for point in scan.points):
        columns += [
            Column("lut", "count", "LUT", of=lambda p: p.resources.lut),
            Column("ff", "count", "registers", of=lambda p: p.resources.ff),
        ]
    tables = [Table.of(columns, scan.points)]
    if len(scan.points) == 1:
        tables.append(ranges_table(scan.points[0].ranges))
    return Page(tables, [*_notes(scan)])


def _notes(scan: BitScan) -> Iterator[str]:
    total, unique = (numbers.format_rate(rate) for rate in (scan.own.total, scan.own.unique))
    yield (
        f"{scan.trigger} in floating point: total {total}, unique {unique}, "
        f"threshold {scan.own.threshold:.6g}, the same for all."
    )
    yield "Types are width,integer bits. Rates are differences from floating point, on the same events."
    inputs = ", ".join(input_range.name for input_range in scan.points[0].ranges.inputs)
    yield (
        f"Differ: events whose decision changes, and their fraction of the {scan.preselected_events} events "
        f"that pass the preselection and of their rate. Overflow: number of events, by {inputs} / score."
    )
    if any(point.ranges.thresholds or point.ranges.leaves for point in scan.points):
        yield "Warning: thresholds or leaf values overflow (--json has the numbers)."
    if len(scan.points) == 1:
        yield from remarks(scan.points[0].precision, scan.points[0].ranges)
    if any(point.resources for point in scan.points):
        yield "LUT and registers: an estimate by yosys for UltraScale+, of the Verilog in two clocks."
    left_out = ("events", "unseen", "few", "budget")
    yield from (note for note in notes.notes(scan.floating) if note and note.about not in left_out)


def figure_of(scan: BitScan) -> Any:
    """Draw, above, the shift of both rates in percent against the number of bits; below, the fraction of
    events whose decision differs."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    from trigemu.results.figures import style

    points = scan.points
    bits, scores = np.array([p.input_bits for p in points]), sorted({p.score_bits for p in points})
    differ = np.array([_share(p.differ_events, scan.preselected_events) for p in points])
    several = len(scores) > 1
    with style.figure(8.0, 7.0) as (figure, axes):
        axes.remove()
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        for number, name in enumerate(("total", "unique")):
            rate, shifts = getattr(scan.own, name).hz, [getattr(p, name) for p in points]
            percent = 100.0 / rate if rate else 0.0
            upper.errorbar(
                bits + (-0.08, 0.08)[number],
                np.array([shift.hz for shift in shifts]) * percent,
                np.array([shift.error_hz for shift in shifts]) * percent,
                color=style.COLOURS[number],
                marker="os"[number],
                markersize=5,
                linewidth=1.2,
                capsize=2,
                label=f"{name} rate",
            )
        upper.axhline(0.0, color="black", linewidth=0.8)
        upper.set_yscale("symlog", linthresh=1.0)
        upper.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
        upper.set_ylabel("fixed − floating [%]")
        upper.set_title(style.literal(scan.trigger), loc="left", fontsize=12)
        upper.legend(frameon=False)
        shown = np.where(differ > 0, differ, np.nan)
        lower.plot(bits, shown, color=style.COLOURS[2], marker="o", markersize=5)
        if (differ > 0).any():
            lower.set_yscale("log")
        lower.set_ylabel("differ")
        varied = "inputs, thresholds and score" if several else f"inputs, score of {scores[0]} bits"
        lower.set_xlabel(f"bits of {varied}")
        lower.set_xlim(bits[0] - 0.5, bits[-1] + 0.5)
        lower.xaxis.set_major_locator(MaxNLocator(14, integer=True))
        lower.xaxis.set_minor_locator(NullLocator())
    return figure
