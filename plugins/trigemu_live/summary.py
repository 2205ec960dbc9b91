"""Rates and errors from the counts of a run, with the part of the errors that comes from the events of the
samples."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, Words
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import members_by_level
from trigemu.counting.sums import RateSums
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate

from .beam import Setup
from .counts import AFTER, BEFORE, DISTANCES, LOST, UNIQUE_AFTER, UNIQUE_BEFORE, UNITS, Counts
from .curve import LiveCurve, LiveFraction, live_curve
from .results import LiveItem, LiveRates


class TableErrors(NamedTuple):
    """Relative errors, float64[rows] each, of rates before and after the rules, and of unique rates. hz and
    unique_hz: float64[rows], the rates before the rules, over all phases of the prescale counters."""

    before: FloatArray
    after: FloatArray
    unique: FloatArray
    unique_after: FloatArray
    hz: FloatArray
    unique_hz: FloatArray


def rows_of(menu: Menu, words: Words, bits: Mapping[str, int]) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities that triggers, groups and levels accept m patterns, and that they alone in
    their level do, float64[m, rows] each."""
    acceptance = acceptances(words, menu, bits)
    levels = members_by_level(menu)
    either = [acceptance.either(members) for members in levels.values()]
    names = [trigger.group for trigger in menu.enabled]
    total = [acceptance.total]
    unique = [sum(acceptance.unique(m).toarray() for m in levels.values())]
    for group in dict.fromkeys(name for name in names if name):
        inside = np.array([name == group for name in names])
        number = next(n for n, members in enumerate(levels.values()) if members[inside].all())
        members = list(levels.values())[number]
        total.append(acceptance.either(inside)[:, None])
        unique.append((either[number] - acceptance.either(members & ~inside))[:, None])
    of_levels = np.column_stack(either)
    return np.hstack([*total, of_levels]), np.hstack([*unique, of_levels])


def table_errors(
    emulation: Emulation, number: int, without: Collection[str], slope: float, is_scaled: bool = False
) -> TableErrors:
    """Return the relative errors of the rates of a menu. without: triggers that never accept. slope: κ R,
    d ln L / d ln R of the first level. is_scaled: whether all rates are scaled such that R is given; then
    those of triggers relative to R vary."""
    counted = emulation.counted(number)
    (menu,), (bits,) = counted.menus, counted.bits
    levels = len(menu.levels or ("",))
    width = len(menu.enabled) + len({t.group for t in menu.enabled if t.group}) + levels
    first = width - levels

    def both(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        never = (replace(t, prescale=math.inf) if t.name in without else t for t in menus[0].triggers)
        return np.hstack(rows_of(replace(menus[0], triggers=tuple(never)), words, bits))

    constant = counted.constant_part(both)

    def sums(slope: float, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        def moved(values: FloatArray) -> FloatArray:
            return values + slope * ratio * values[..., first, None]

        sums = RateSums(
            counted.table, counted.scales, 2 * width, None if constant is None else moved(constant)
        )
        for rows in counted.blocks():
            sums.add(rows, moved(counted.fractions(rows, both).toarray()))
        return sums.result()

    hz, plain = sums(0.0, np.zeros(2 * width))
    ratio = hz / hz[first] if hz[first] > 0 else np.zeros_like(hz)
    moved = sums(-1.0 if is_scaled else slope, ratio)[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = [np.where(hz > 0, np.sqrt(v) / hz, 0.0) for v in (moved if is_scaled else plain, moved)]
    (before, unique), (after, unique_after) = (np.split(values, 2) for values in relative)
    return TableErrors(before, after, unique, unique_after, *np.split(hz, 2))


def first_level_rate(emulation: Emulation) -> float:
    """Return the rate in Hz that the first level of the first menu of an emulation accepts."""
    counted = emulation.counted(0)
    levels = len(counted.menus[0].levels or ("",))

    def first(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        total = rows_of(menus[0], words, counted.bits[0])[0]
        return total[:, total.shape[1] - levels, None]

    sums = RateSums(counted.table, counted.scales, 1)
    for rows in counted.blocks():
        sums.add(rows, counted.fractions(rows, first))
    return float(sums.result()[0][0])


#: Input rates at which the curve of the live fraction is computed, relative to that of the menu.
STEPS = (0.02, 0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)
#: Accepts that are drawn for each: the slope is known to a few percent.
ATTEMPTS = 400_000
#: The upper limit at 68 % on a Poisson mean without accepts.
_NONE = 1.14
#: What a crossing is lost by that the first level does not accept.
NOT_ACCEPTED = "first level"


def summarise(setup: Setup, counts: Counts, emulation: Emulation, negative: float) -> LiveRates:
    """Return the result of a run."""
    number = emulation.menus.index(setup.arrays.menu)
    summary = _Summary(setup, counts, emulation, number)
    t, g = len(setup.arrays.menu.enabled), len(setup.arrays.groups)
    items = [*summary.items()]
    return LiveRates(
        menu=setup.arrays.menu,
        catalogue=emulation.catalogue,
        filling=setup.filling,
        rules=setup.rules,
        seconds=summary.seconds,
        seed=setup.seed,
        start=setup.start,
        factor=setup.factor,
        triggers=tuple(items[:t]),
        groups=tuple(items[t : t + g]),
        levels=tuple(items[t + g :]),
        live=items[t + g].live,
        live_error=math.hypot(items[t + g].live_error, summary.live_table_error()),
        by_slot=counts.slots,
        lost_by_slot=counts.slot_lost[:-1],
        lost_error_hz=summary.lost_error_hz(),
        distances=counts.distances,
        distance_edges=DISTANCES,
        early=(int(counts.early[0]), int(counts.early[1])),
        curve=summary.curve,
        negative=negative,
        models=emulation.plan.models[number],
        warnings=_warnings(emulation, number),
    )


def _warnings(emulation: Emulation, number: int) -> tuple[str, ...]:
    """Return what is to be said of a menu and its samples before its rates are used."""
    return (*emulation.catalogue.warnings, *emulation.plan.warnings[number])


class _Summary:
    def __init__(self, setup: Setup, counts: Counts, emulation: Emulation, number: int) -> None:
        self._setup, self._counts = setup, counts
        self.seconds = setup.orbits / setup.filling.orbit_hz
        self._first = int(setup.arrays.nodes.level_of.min())
        self._variance = self._variances()
        self.input_hz = counts.total[BEFORE, self._first] / self.seconds
        self.curve = self._curve()
        without = [name for name, never in zip(setup.arrays.names, setup.removed, strict=True) if never]
        is_scaled = setup.factor != 1.0
        self._table: TableErrors = table_errors(emulation, number, without, self._slope(), is_scaled)

    def _variances(self) -> FloatArray:
        """float64[5, rows + r], the variance of each count, from the spread of the parts of the time around
        the mean rate."""
        counts, orbits = self._counts, np.diff(self._setup.edges).astype(np.float64)
        rate, squared = counts.total / orbits.sum(), float(orbits @ orbits)
        spread = counts.squares - 2 * rate * counts.products + rate**2 * squared
        variance: FloatArray = np.maximum(spread, 0.0) / (1 - squared / orbits.sum() ** 2)
        return variance

    def _curve(self) -> LiveCurve:
        setup, rates = self._setup, [self.input_hz * step for step in STEPS]
        rates = [rate for rate in rates if 0 < rate < setup.filling.crossing_rate_hz]
        if not setup.rules.rules or not rates:
            points = tuple(LiveFraction(rate, 1.0, 0.0) for rate in rates or [1.0])
            return LiveCurve(setup.rules, setup.filling, points)
        return live_curve(setup.rules, setup.filling, rates, attempts=ATTEMPTS, seed=setup.seed)

    def _slope(self) -> float:
        """Return d ln L / d ln R at the rate of the menu."""
        rate, step = self.input_hz, 0.05
        if not rate > 0:
            return 0.0
        low, high = self.curve.at(rate * (1 - step)), self.curve.at(rate * (1 + step))
        return (high - low) / (2 * step * max(self.curve.at(rate), 1e-9))

    def live_table_error(self) -> float:
        """Return the error of the live fraction that comes from that of the rate of the first level."""
        live, _ = self._live(self._first)
        return abs(self._slope()) * live * float(self._table.before[self._first])

    def _live(self, row: int) -> tuple[float, float]:
        """Return the part of the accepts of a row that are recorded, and its error from the drawing."""
        before, after = (float(self._counts.total[what, row]) for what in (BEFORE, AFTER))
        if not before:
            return 1.0, 0.0
        live = after / before
        v_before, v_after, v_lost = (float(self._variance[what, row]) for what in (BEFORE, AFTER, LOST))
        covariance = (v_before + v_after - v_lost) / 2
        variance = v_after - 2 * live * covariance + live**2 * v_before
        return live, math.sqrt(max(variance, 0.0)) / before

    def lost_error_hz(self) -> FloatArray:
        """float64[r], the error of the rate that each rule vetoes, from the drawing."""
        error: FloatArray = np.sqrt(self._variance[BEFORE, len(self._table.hz) :]) / self.seconds
        return error

    def _rate(self, what: int, row: int, relative: FloatArray, mean: FloatArray) -> tuple[Rate, float, float]:
        """Return a rate, and the parts of its error in Hz: of the drawing and of the table. Without accepts
        the limit is not below the mean over the phases of counters: accepts at some phases may be many."""
        count = int(self._counts.total[what, row])
        if not count:
            limit = max(_NONE / self.seconds, float(mean[row]) * self._setup.factor)
            return Rate(0.0, 0.0, 0, 0.0, limit), 0.0, 0.0
        hz = count / self.seconds
        drawing = math.sqrt(float(self._variance[what, row])) / self.seconds
        table = hz * float(relative[row])
        error = math.hypot(drawing, table)
        effective = (hz / error) ** 2 if error else 0.0
        return Rate(hz, error, count, effective, None), drawing, table

    def items(self) -> Iterator[LiveItem]:
        """Yield the rates of triggers, groups and levels."""
        arrays, events_table = self._setup.arrays, self._table
        t, g = len(arrays.menu.enabled), len(arrays.groups)
        names = [*(trigger.name for trigger in arrays.menu.enabled), *arrays.groups, *arrays.levels]
        for row, name in enumerate(names):
            before, *_ = self._rate(BEFORE, row, events_table.before, events_table.hz)
            after, drawing, table = self._rate(AFTER, row, events_table.after, events_table.hz)
            unique, *_ = self._rate(UNIQUE_AFTER, row, events_table.unique_after, events_table.unique_hz)
            live, live_error = self._live(row)
            level = arrays.levels[int(arrays.nodes.level_of[row]) - t - g] or None
            is_first = arrays.nodes.level_of[row] == self._first
            gain = self._gain(row) if row < t and is_first else (None, None, None)
            yield LiveItem(
                name=name,
                kind="trigger" if row < t else "group" if row < t + g else "level",
                level=level,
                prescale=arrays.menu.enabled[row].prescale if row < t else None,
                before=before,
                after=after,
                unique=unique,
                drawing_error_hz=drawing,
                table_error_hz=table,
                live=live,
                live_error=live_error,
                lost=self._lost(row),
                because=self._because(row),
                gain_hz=gain[0],
                gain_error_hz=gain[1],
                gain_live=gain[2],
            )

    def _lost(self, row: int) -> dict[str, int]:
        labels = [*self._setup.rules.labels, NOT_ACCEPTED]
        counts = self._counts.lost[row].tolist()
        return {label: n for label, n in zip(labels, counts, strict=True) if n or label != NOT_ACCEPTED}

    def _because(self, row: int) -> dict[str, float]:
        parts = self._counts.because[row]
        enabled = self._setup.arrays.menu.enabled
        return {enabled[n].name: int(parts[n]) / UNITS for n in np.flatnonzero(parts).tolist()}

    def _gain(self, row: int) -> tuple[float, float, float]:
        """Return what the other triggers would gain in Hz without a trigger, its error, and the rise of the
        live fraction: without it, the rate before the rules is lower by its unique rate."""
        unique = self._counts.total[UNIQUE_BEFORE, row] / self.seconds
        rest = self.input_hz - unique
        if not self._setup.rules.rules or not unique or not rest > 0:
            return 0.0, 0.0, 0.0
        rise = self.curve.at(rest) - self.curve.at(self.input_hz)
        relative = math.hypot(
            float(self._table.unique[row]),
            math.sqrt(float(self._variance[UNIQUE_BEFORE, row])) / (unique * self.seconds),
        )
        of_curve = max(point.error for point in self.curve.points) * min(1.0, unique / (0.3 * self.input_hz))
        return rest * rise, rest * math.hypot(rise * relative, of_curve), rise
