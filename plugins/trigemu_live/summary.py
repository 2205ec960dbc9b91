"""Rates and errors from the counts of a run, with the part of the errors that comes from the events of the
samples."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import switched_off
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate

from .beam import AFTER, BEFORE, DISTANCES, UNIQUE_AFTER, UNIQUE_BEFORE, UNITS, Beam, Counts
from .curve import LiveCurve, LiveFraction, live_curve
from .patterns import MenuArrays
from .results import LiveItem, LiveRates, by_kind
from .rules import Rules


class TableErrors(NamedTuple):
    """Relative errors, float64[rows] each, and rates before the rules over all phases of the counters."""

    before: FloatArray
    after: FloatArray
    unique: FloatArray
    unique_after: FloatArray
    hz: FloatArray
    unique_hz: FloatArray


def table_errors(
    arrays: MenuArrays, emulation: Emulation, without: Collection[str], slope: float, is_scaled: bool = False
) -> TableErrors:
    """Return the relative errors of rates. slope: d ln L / d ln R of the first level. is_scaled: whether R
    is given; then the rates of triggers relative to R vary."""
    counted = emulation.counted(emulation.menus.index(arrays.menu))
    rows, t = arrays.members.shape
    first, levels, joint = int(arrays.level_of.min()), arrays.members[arrays.level_of], arrays.members[t:]

    def both(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        """Return the probabilities that triggers, groups and levels accept m patterns, and that they alone in
        their level do, float64[m, 2 rows]."""
        accepted = acceptances(words, switched_off(menus[0], without), counted.bits[0])
        either = np.column_stack([accepted.either(members) for members in joint])
        rest = [accepted.either(level & ~members) for level, members in zip(levels[t:], joint, strict=True)]
        alone = either[:, arrays.level_of[t:] - t] - np.column_stack(rest)
        unique = sum(accepted.unique(arrays.members[i]).toarray() for i in np.unique(arrays.level_of))
        return np.hstack([accepted.total, either, unique, alone])

    def moved(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        """Return the same with the change of the live fraction."""
        values = both(words, menus)
        return values + slope * ratio * values[:, [first]]

    hz, plain = counted.sums(both, 2 * rows)
    ratio = hz / hz[first] if hz[first] > 0 else np.zeros_like(hz)
    slope = -1.0 if is_scaled else slope
    variance = counted.sums(moved, 2 * rows)[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = [
            np.where(hz > 0, np.sqrt(v) / hz, 0.0) for v in (variance if is_scaled else plain, variance)
        ]
    (before, unique), (after, unique_after) = (np.split(values, 2) for values in relative)
    return TableErrors(before, after, unique, unique_after, *np.split(hz, 2))


#: Input rates at which the curve of the live fraction is computed, relative to that of the menu.
STEPS = (0.02, 0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)
#: Accepts that are drawn for each: the slope is known to a few percent.
ATTEMPTS = 400_000
#: The upper limit at 68 % on a Poisson mean without accepts.
_NONE = 1.14
#: What a crossing is lost by that the first level does not accept.
NOT_ACCEPTED = "first level"


def summarise(beam: Beam, counts: Counts, emulation: Emulation, negative: float) -> LiveRates:
    """Return the rates of a run, their errors and the losses."""
    arrays, rules, number = beam.menu, beam.rules, emulation.menus.index(beam.menu.menu)
    menu, t = arrays.menu, len(arrays.menu.enabled)
    seconds, first = beam.orbits / beam.filling.orbit_hz, int(arrays.level_of.min())
    total, orbits = counts.total, np.diff(beam.edges).astype(np.float64)

    def variance(parts: IntArray) -> FloatArray:
        """Return the variances of sums, from the spread of the parts of the time, int64[p, …], around the
        mean rate."""
        share = orbits / orbits.sum()
        spread = ((parts - np.multiply.outer(share, parts.sum(axis=0))) ** 2).sum(axis=0)
        result: FloatArray = spread / (1 - share @ share)
        return result

    variances = variance(counts.parts)
    of_lost = variance(counts.parts[:, BEFORE] - counts.parts[:, AFTER])
    input_hz = total[BEFORE, first] / seconds
    curve = _curve_around(beam, input_hz)
    slope = 0.0  # d ln L / d ln R
    if input_hz > 0:
        low, at, high = (curve.at(input_hz * by) for by in (0.95, 1.0, 1.05))
        slope = (high - low) / (0.1 * max(at, 1e-9))
    errors = table_errors(arrays, emulation, beam.without, slope, beam.factor != 1.0)

    def rate(what: int, row: int, relative: FloatArray, mean: FloatArray) -> tuple[Rate, float, float]:
        """Return a rate, and the parts of its error in Hz: of the drawing and of the table. Without accepts
        the limit is not below the mean over the phases of counters: accepts at some phases may be many."""
        count = int(total[what, row])
        if not count:
            limit = max(_NONE / seconds, float(mean[row]) * beam.factor)
            return Rate(0.0, 0.0, 0, 0.0, limit), 0.0, 0.0
        hz = count / seconds
        drawing, table = math.sqrt(float(variances[what, row])) / seconds, hz * float(relative[row])
        error = math.hypot(drawing, table)
        return Rate(hz, error, count, (hz / error) ** 2 if error else 0.0, None), drawing, table

    def live_of(row: int) -> tuple[float, float]:
        """Return the part of the accepts that are recorded, and its error from the drawing; where none or all
        are lost, the limit on the others at 68 %."""
        before, after = (float(total[what, row]) for what in (BEFORE, AFTER))
        live = after / before if before else 1.0
        if live in (0.0, 1.0):
            return live, min(1.0, _NONE / before if before else 1.0) if rules.rules else 0.0
        of_before, of_after = (float(variances[what, row]) for what in (BEFORE, AFTER))
        covariance = (of_before + of_after - float(of_lost[row])) / 2
        return live, math.sqrt(max(of_after - 2 * live * covariance + live**2 * of_before, 0.0)) / before

    def gain(row: int) -> tuple[float, float, float]:
        """Return what the other triggers would gain in Hz without a trigger, its error, and the rise of the
        live fraction: without it, the rate before the rules is lower by its unique rate."""
        unique = total[UNIQUE_BEFORE, row] / seconds
        rest = input_hz - unique
        if not rules.rules or not unique or not rest > 0:
            return 0.0, 0.0, 0.0
        rise = curve.at(rest) - curve.at(input_hz)
        drawing = math.sqrt(float(variances[UNIQUE_BEFORE, row])) / (unique * seconds)
        relative = math.hypot(float(errors.unique[row]), drawing)
        of_curve = max(point.error for point in curve.points) * min(1.0, unique / (0.3 * input_hz))
        return rest * rise, rest * math.hypot(rise * relative, of_curve), rise

    items = []
    for row, (name, kind) in enumerate(arrays.rows):
        after, drawing, table = rate(AFTER, row, errors.after, errors.hz)
        live, live_error = live_of(row)
        is_first = row < t and arrays.level_of[row] == first
        gain_hz, gain_error_hz, gain_live = gain(row) if is_first else (None, None, None)
        items.append(
            LiveItem(
                name=name,
                kind=kind,
                level=arrays.rows[arrays.level_of[row]][0] or None,
                prescale=menu.enabled[row].prescale if row < t else None,
                before=rate(BEFORE, row, errors.before, errors.hz)[0],
                after=after,
                unique=rate(UNIQUE_AFTER, row, errors.unique_after, errors.unique_hz)[0],
                drawing_error_hz=drawing,
                table_error_hz=table,
                live=live,
                live_error=live_error,
                lost=losses(counts, row, rules),
                because=blockers(counts, row, menu),
                gain_hz=gain_hz,
                gain_error_hz=gain_error_hz,
                gain_live=gain_live,
            )
        )
    live, live_error = live_of(first)
    return LiveRates(
        menu=menu,
        catalogue=emulation.catalogue,
        filling=beam.filling,
        rules=rules,
        seconds=seconds,
        seed=beam.seed,
        start=beam.start,
        factor=beam.factor,
        **by_kind(items),
        live=live,
        live_error=math.hypot(live_error, abs(slope) * live * float(errors.before[first])),
        by_slot=counts.slots,
        lost_by_slot=counts.slot_lost,
        lost_error_hz=np.sqrt(variances[BEFORE, len(items) :]) / seconds,
        distances=counts.distances,
        distance_edges=DISTANCES,
        early=(int(counts.early[0]), int(counts.early[1])),
        curve=curve,
        negative=negative,
        models=emulation.plan.models[number],
        warnings=(*emulation.catalogue.warnings, *emulation.plan.warnings[number]),
    )


def _curve_around(beam: Beam, input_hz: float) -> LiveCurve:
    """Return the live fraction of independent crossings around the rate of a menu."""
    rates = [input_hz * step for step in STEPS if 0 < input_hz * step < beam.filling.crossing_rate_hz]
    if not beam.rules.rules or not rates:
        points = tuple(LiveFraction(rate, 1.0, 0.0) for rate in rates or [1.0])
        return LiveCurve(beam.rules, beam.filling, points)
    return live_curve(beam.rules, beam.filling, rates, attempts=ATTEMPTS, seed=beam.seed)


def losses(counts: Counts, row: int, rules: Rules) -> dict[str, int]:
    """Return the lost accepts by rule, and by the first level, if any."""
    labels = [*rules.labels, NOT_ACCEPTED]
    lost = zip(labels, counts.lost[row].tolist(), strict=True)
    return {label: n for label, n in lost if n or label != NOT_ACCEPTED}


def blockers(counts: Counts, row: int, menu: Menu) -> dict[str, float]:
    """Return the part of the lost accepts that accepts of each trigger blocked."""
    parts = counts.because[row]
    return {menu.enabled[n].name: int(parts[n]) / UNITS for n in np.flatnonzero(parts).tolist()}
