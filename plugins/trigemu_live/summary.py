"""Rates, losses and their errors from the counts of a run: those of the drawing, from the spread of the parts
of the time, and those of the events of the samples."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from trigemu.base.arrays import FloatArray, Words
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import switched_off
from trigemu.counting.quantities import MENU, Label, fractions
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate

from .beam import AFTER, BEFORE, DISTANCES, UNIQUE_AFTER, UNIQUE_BEFORE, UNITS, Beam, Counts
from .curve import LiveCurve, LiveFraction, live_curve
from .patterns import MenuArrays
from .results import LiveItem, LiveRates, by_kind
from .rules import Rules

#: Input rates at which the curve of the live fraction is computed, relative to that of the menu.
STEPS = (0.02, 0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)
#: Accepts that are drawn for each: the slope is known to a few percent.
ATTEMPTS = 400_000
#: The upper limit at 68 % on a Poisson mean without accepts.
_NONE = 1.14
#: What a crossing is lost by that the first level does not accept.
NOT_ACCEPTED = "first level"


def table_errors(
    arrays: MenuArrays, emulation: Emulation, without: Collection[str], slope: float, is_scaled: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return rates before the rules over all phases of the counters, float64[4, rows], total, total, unique,
    unique, and the relative errors of the four numbers of accepts. slope: d ln L / d ln R of the first level.
    is_scaled: whether R is given; then the rates of triggers relative to R vary."""
    menu = arrays.menu
    counted = emulation.counted(emulation.menus.index(menu))
    labels = []
    for quantity in ("total", "unique"):  # a level is alone in itself
        of_level = Label("level", "", "rate") if menu.levels else MENU
        labels += [
            of_level._replace(name=row.name) if row.kind == "level" else Label(row.kind, row.name, quantity)
            for row in arrays.rows
        ]

    def accepted(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        """Return the probabilities that the rows accept m patterns, and alone do, float64[m, 2 rows]."""
        off = switched_off(menus[0], without)
        accept = fractions(off, acceptances(words, off, counted.bits[0]), ("total", "unique"))
        values: FloatArray = accept.of(labels).toarray()
        return values

    def moved(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        """Return the same with the change of the live fraction."""
        values = accepted(words, menus)
        return values + slope * ratio * values[:, [arrays.first]]

    hz, plain = counted.sums(accepted, len(labels))
    first_hz = hz[arrays.first]
    ratio = hz / first_hz if first_hz > 0 else np.zeros_like(hz)
    slope = -1.0 if is_scaled else slope
    variance = counted.sums(moved, len(labels))[1]
    variances = np.array([variance if is_scaled else plain, variance]).reshape(2, 2, -1)
    rates = np.repeat(hz.reshape(2, -1), 2, axis=0)
    errors = np.sqrt(variances.swapaxes(0, 1).reshape(rates.shape))
    return rates, np.divide(errors, rates, out=np.zeros_like(rates), where=rates > 0)


def summarise(beam: Beam, counts: Counts, emulation: Emulation) -> LiveRates:
    """Return the rates of a run, their errors and the losses."""
    arrays, rules, menu = beam.menu, beam.rules, beam.menu.menu
    seconds, first, rows = beam.orbits / beam.filling.orbit_hz, arrays.first, len(arrays.rows)
    share = np.diff(beam.edges) / beam.orbits

    def spread(parts: FloatArray) -> FloatArray:
        """Return the variances of sums, from the spread of the parts of the time, float64[p, …], around the
        mean rate."""
        around = parts - np.multiply.outer(share, parts.sum(axis=0))
        result: FloatArray = (around**2).sum(axis=0) / (1 - share @ share)
        return result

    parts = counts.parts.astype(np.float64)
    total, variances = parts.sum(axis=0), spread(parts)
    input_hz = float(total[BEFORE, first]) / seconds
    curve, slope = _curve_around(beam, input_hz), 0.0  # d ln L / d ln R
    if input_hz > 0:
        low, at, high = (curve.at(input_hz * by) for by in (0.95, 1.0, 1.05))
        slope = (high - low) / (0.1 * max(at, 1e-9))
    mean_hz, relative = table_errors(arrays, emulation, beam.without, slope, beam.factor != 1.0)
    hz, drawing = total / seconds, np.sqrt(variances) / seconds
    of_table = hz[:, :rows] * relative

    def rate(what: int, row: int) -> Rate:
        """Return a rate. Without accepts the limit is not below the mean over the phases of counters: accepts
        at some phases may be many."""
        if not total[what, row]:
            limit = max(_NONE / seconds, float(mean_hz[what, row]) * beam.factor)
            return Rate(0.0, 0.0, 0, 0.0, limit)
        value, error = float(hz[what, row]), math.hypot(drawing[what, row], of_table[what, row])
        return Rate(value, error, int(total[what, row]), (value / error) ** 2 if error else 0.0, None)

    of_lost = spread(parts[:, BEFORE] - parts[:, AFTER])

    def live_of(row: int) -> tuple[float, float]:
        """Return the part of the accepts that are recorded, and its error from the drawing; where none or all
        are lost, the limit on the others at 68 %."""
        before, after = total[[BEFORE, AFTER], row].tolist()
        live = after / before if before else 1.0
        if live in (0.0, 1.0):
            return live, min(1.0, _NONE / before if before else 1.0) if rules.rules else 0.0
        of_before, of_after = variances[[BEFORE, AFTER], row].tolist()
        covariance = (of_before + of_after - float(of_lost[row])) / 2
        return live, math.sqrt(max(of_after - 2 * live * covariance + live**2 * of_before, 0.0)) / before

    def gain(row: int) -> tuple[float, float, float]:
        """Return what the other triggers would gain in Hz without a trigger, its error, and the rise of the
        live fraction: without it, the rate before the rules is lower by its unique rate."""
        unique = float(hz[UNIQUE_BEFORE, row])
        rest = input_hz - unique
        if not rules.rules or not unique or not rest > 0:
            return 0.0, 0.0, 0.0
        rise = curve.at(rest) - curve.at(input_hz)
        error = math.hypot(relative[UNIQUE_BEFORE, row], drawing[UNIQUE_BEFORE, row] / unique)
        of_curve = max(point.error for point in curve.points) * min(1.0, unique / (0.3 * input_hz))
        return rest * rise, rest * math.hypot(rise * error, of_curve), rise

    items = []
    for number, row in enumerate(arrays.rows):
        live, live_error = live_of(number)
        is_first = row.kind == "trigger" and row.level == arrays.rows[first].name
        gain_hz, gain_error_hz, gain_live = gain(number) if is_first else (None, None, None)
        items.append(
            LiveItem(
                name=row.name,
                kind=row.kind,
                level=row.level or None,
                prescale=menu.trigger(row.name).prescale if row.kind == "trigger" else None,
                before=rate(BEFORE, number),
                after=rate(AFTER, number),
                unique=rate(UNIQUE_AFTER, number),
                drawing_error_hz=float(drawing[AFTER, number]),
                table_error_hz=float(of_table[AFTER, number]),
                live=live,
                live_error=live_error,
                lost=losses(counts, number, rules),
                because=blockers(counts, number, menu),
                gain_hz=gain_hz,
                gain_error_hz=gain_error_hz,
                gain_live=gain_live,
            )
        )
    live, live_error = live_of(first)
    number = emulation.menus.index(menu)
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
        live_error=math.hypot(live_error, abs(slope) * live * float(relative[BEFORE, first])),
        by_slot=counts.slots,
        lost_by_slot=counts.slot_lost,
        lost_error_hz=drawing[BEFORE, rows:],
        distances=counts.distances,
        distance_edges=DISTANCES,
        early=(int(counts.early[0]), int(counts.early[1])),
        curve=curve,
        negative=beam.patterns.negative,
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
    lost = zip([*rules.labels, NOT_ACCEPTED], counts.lost[row].tolist(), strict=True)
    return {label: n for label, n in lost if n or label != NOT_ACCEPTED}


def blockers(counts: Counts, row: int, menu: Menu) -> dict[str, float]:
    """Return the part of the lost accepts that accepts of each trigger blocked."""
    parts = counts.because[row]
    return {menu.enabled[n].name: int(parts[n]) / UNITS for n in np.flatnonzero(parts).tolist()}
