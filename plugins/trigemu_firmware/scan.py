"""A trigger in several precisions, each compared with floating point at the same threshold, event by
event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from trigemu_anomaly.fixed_point import MAX_WIDTH
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
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.comparison import compare_pair

from .model import halves, read_rows, tree_model, with_trees
from .ranges import PAPER_PRECISION, Ranges, choose, ranges, with_widths
from .rtl import Resources

#: Largest number of precisions in a scan: each is evaluated on every event.
MAX_POINTS = 40


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
    """Evaluate a trigger in several widths, each the bits of inputs and thresholds, and of the score.

    Bits before the point are chosen on the half that the trees were fitted on, rates are from the other half;
    a threshold with a rate budget is solved once, in floating point.
    """
    menu = at_own_column(menu)
    trigger = with_trees(menu, name)
    if not trigger.enabled:
        raise TrigemuError(f"{trigger.place}: trigger {name!r} is disabled: it has no rates to compare")
    if not 1 <= len(widths) <= MAX_POINTS:
        raise TrigemuError(f"{len(widths)} precisions: expected 1 to {MAX_POINTS}")
    (floating,) = solve_budgets([in_precision(menu, name, None)], catalogue, executor=executor)
    model, types = tree_model(floating, name), types or types_of(menu, name)
    fitted_on, evaluated = halves(
        floating, catalogue, read_rows(floating, catalogue, name, executor=executor)
    )
    chosen = [
        choose(model.ensemble, fitted_on.x, model.inputs.texts, with_widths(types, *pair)) for pair in widths
    ]
    menus = [
        replace(in_precision(floating, name, table_of(fixed)), name=f"{menu.name} ({number})")
        for number, fixed in enumerate(chosen)
    ]
    emulation = emulate([floating, *menus], catalogue, executor=executor)
    scales = emulation.scales * scaling.crossing_scale(menu, catalogue)
    return BitScan(
        trigger=name,
        floating=rates_of(emulation, floating),
        preselected_events=len(evaluated.x),
        preselected_hz=float(np.sum(evaluated.weight * scales[evaluated.sample])),
        points=tuple(
            _point(emulation, name, number, fixed, ranges(fixed, evaluated.x, model.inputs.texts))
            for number, fixed in enumerate(chosen, start=1)
        ),
        models=tuple(chosen),
    )


def each_of(
    models: Sequence[FixedEnsemble],
    estimate: Callable[[FixedEnsemble], Resources],
    workers: int,
    progress: Callable[[int], None] | None = None,
) -> list[Resources]:
    """Estimate the resources of models, several at once, since other programs do the work. After a failure no
    further estimate begins."""
    with ThreadPoolExecutor(workers) as pool:
        begun = [pool.submit(estimate, model) for model in models]
        try:
            for done in as_completed(begun):
                done.result()
                if progress:
                    progress(1)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done.result() for done in begun]


def with_resources(scan: BitScan, resources: Sequence[Resources]) -> BitScan:
    """Return a scan with the resources of each of its models."""
    pairs = zip(scan.points, resources, strict=True)
    return replace(scan, points=tuple(replace(point, resources=estimate) for point, estimate in pairs))


def types_of(menu: Menu, name: str) -> Precision:
    """Return the types of a trigger's precision, or the paper's if it has none."""
    fixed = tree_model(menu, name).fixed
    return fixed.precision if fixed else PAPER_PRECISION


def parse_bits(text: str) -> tuple[int, ...]:
    """Read widths, `8:18` (first and last) or `8,12,16`; TrigemuError if they are not valid."""
    try:
        first, colon, last = text.partition(":")
        bits = range(int(first), int(last) + 1) if colon else [int(part) for part in text.split(",")]
    except ValueError:
        raise TrigemuError(
            f"bits {quoted(text)}: expected FIRST:LAST, or widths separated by commas"
        ) from None
    ends = (bits[0], bits[-1]) if isinstance(bits, range) and bits else bits  # a range may be endless
    if not bits or min(ends) < 1 or max(ends) > MAX_WIDTH:
        raise TrigemuError(
            f"bits {quoted(text)}: expected widths of 1 to {MAX_WIDTH}, the first not above the last"
        )
    return tuple(sorted(set(bits)))


def in_precision(menu: Menu, name: str, precision: PrecisionTable | None) -> Menu:
    """Return the menu with one trigger in a precision, None for floating point."""
    trigger = with_trees(menu, name)
    description = msgspec.structs.replace(trigger.description, precision=precision)
    changed = replace(trigger, description=description)
    return replace(menu, triggers=tuple(changed if t.name == name else t for t in menu.triggers))


def _point(emulation: Emulation, name: str, number: int, fixed: FixedEnsemble, of_events: Ranges) -> Point:
    events, hz = _differ(emulation, name, number)
    shifts = {
        difference.quantity: Shift(difference.b_minus_a_hz, difference.error_hz)
        for difference in compare_pair(emulation, 0, number).differences
        if difference.what == name
    }
    return Point(
        input_bits=fixed.precision.input.width,
        score_bits=fixed.precision.score.width,
        precision=table_of(fixed),
        total=shifts["total_hz"],
        unique=shifts["unique_hz"],
        differ_events=events,
        differ_hz=hz,
        ranges=of_events,
    )


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
