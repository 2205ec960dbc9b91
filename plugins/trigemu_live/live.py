"""The rates that an experiment records of a menu, and their errors: those of the drawing, from the spread of
the parts of the time, and those of the events of the samples."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, get_args

import numpy as np

from trigemu.base.arrays import FloatArray, Words
from trigemu.base.errors import SampleError, TrigemuError, nearest
from trigemu.base.mapping import engine_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import switched_off
from trigemu.counting.quantities import MENU, Label, fractions
from trigemu.emulation.loop import Emulation, emulate
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_crossing_rate
from trigemu.menus.read import MenuLike, menu_of
from trigemu.rates.menu_rates import rates_of
from trigemu.rates.results import Rate
from trigemu.samples.memory import SamplesLike, samples_of

from .beam import AFTER, BEFORE, PARTS, UNIQUE_AFTER, UNIQUE_BEFORE, Beam, Start
from .filling import ORBIT_HZ, Filling, every_slot
from .patterns import MenuArrays, menu_arrays, patterns_of
from .results import LiveItem, LiveRates, by_kind
from .rules import NO_RULES, LiveFraction, Rules, live_at, live_fraction, veto_of

#: The longest time of beam at the LHC in seconds, its orbits, and the least number of orbits, one a part.
MAX_SECONDS = 100_000.0
MAX_ORBITS, MIN_ORBITS = round(MAX_SECONDS * ORBIT_HZ), PARTS
#: Input rates at which the curve of the live fraction is computed, relative to that of the menu.
STEPS = (0.02, 0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)
#: Accepts that are drawn for each: the slope is known to a few percent.
ATTEMPTS = 400_000
#: The upper limit at 68 % on a Poisson mean without accepts.
_NONE = 1.14


def live_rates(
    menu: MenuLike,
    catalogue: SamplesLike = None,
    *,
    filling: Filling | None = None,
    rules: Rules = NO_RULES,
    seconds: float = 10.0,
    seed: int = 1,
    counters: Start = "random",
    input_rate_hz: float | None = None,
    without: Sequence[str] = (),
    workers: int = 1,
    executor: Any = None,
) -> LiveRates:
    """Run crossings in order through the triggers and prescale counters of a menu, and through rules.

    The crossing rate of the menu becomes that of the filling scheme; without one, every slot is filled.
    catalogue, executor: as in `emulate`; events must be crossings. seconds: of all beams together.
    seed: the result does not depend on the number of workers, which are threads. counters: prescale counters
    begin at random in each of 32 beams, or at zero in one beam. input_rate_hz: all rates are scaled such that
    the first level accepts this rate before the rules. without: triggers that never accept; all others see
    the same crossings.

    Raises SampleError if the events are single interactions; TrigemuError if a budget cannot be met, or the
    rules veto everything.

    >>> from trigemu_live import live_rates, read_filling, read_rules
    >>> scheme, rules = read_filling("lhc-2018-2544"), read_rules("cms")
    >>> result = live_rates("menus/primary.toml", filling=scheme, rules=rules, seconds=2)
    >>> 0.995 < result.live < 1
    True
    """
    menu = menu_of(menu)
    filling = filling or every_slot(menu.crossing_rate_hz)
    if not MIN_ORBITS <= seconds * filling.orbit_hz <= MAX_ORBITS:  # not, if it is NaN
        raise TrigemuError(
            f"{seconds:g} s of beam: expected at least {MIN_ORBITS} orbits, "
            f"{MIN_ORBITS / filling.orbit_hz:.2g} s, and at most {MAX_ORBITS:.2g} orbits, which are "
            f"{MAX_ORBITS / filling.orbit_hz:.3g} s at a crossing rate of {filling.crossing_rate_hz:.3g} Hz"
        )
    if counters not in get_args(Start):
        raise TrigemuError(f"counters {counters!r}: expected one of {', '.join(get_args(Start))}")
    check_triggers(menu, without)
    veto_of(rules, filling)  # which raises an error if nothing could be recorded
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    if samples.table.convention == "luminosity":
        raise SampleError(
            f"{samples.path}: the events are single interactions (convention 'luminosity'), not crossings: "
            f"how often two accepts follow each other cannot be drawn from them"
        )
    emulation = emulate(at_crossing_rate(menu, filling.crossing_rate_hz), samples, executor=engine)
    factor = 1.0
    if input_rate_hz is not None:
        rates = rates_of(emulation)
        now = rates.levels[0].rate.hz if rates.levels else rates.rate.hz
        if not now > 0:
            raise TrigemuError(f"{rates.menu.path}: no trigger accepts an event: its rate cannot be scaled")
        factor = input_rate_hz / now
    arrays = menu_arrays(emulation.menus[0])
    beam = Beam(
        menu=arrays,
        patterns=patterns_of(arrays, emulation, factor),
        filling=filling,
        rules=rules,
        without=frozenset(without),
        factor=factor,
        start=counters,
        seed=seed,
        orbits=round(seconds * filling.orbit_hz),
    )
    return _recorded(beam, emulation, workers)


def check_triggers(menu: Menu, without: Sequence[str]) -> None:
    """Raise TrigemuError if a trigger to leave out is not in the menu."""
    known = [trigger.name for trigger in menu.enabled]
    for name in without:
        if name not in known:
            raise TrigemuError(f"{menu.path}: unknown trigger {name!r}{nearest(name, known)}")


def _recorded(beam: Beam, emulation: Emulation, workers: int) -> LiveRates:
    """Run beams, and return the rates, their errors and the losses."""
    counts, arrays, rules, menu = beam.run(workers), beam.menu, beam.rules, beam.menu.menu
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
        low, now, high = (live_at(curve, input_hz * by) for by in (0.95, 1.0, 1.05))
        slope = (high - low) / (0.1 * max(now, 1e-9))
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

    # The part of the accepts that are recorded, and its error from the drawing; where none or all are lost,
    # the limit on the others at 68 %.
    before, some = total[BEFORE, :rows], np.maximum(total[BEFORE, :rows], 1.0)
    live = np.where(before > 0, total[AFTER, :rows] / some, 1.0)
    of_before, of_after = variances[BEFORE, :rows], variances[AFTER, :rows]
    covariance = (of_before + of_after - spread(parts[:, BEFORE, :rows] - parts[:, AFTER, :rows])) / 2
    live_variance = of_after - 2 * live * covariance + live**2 * of_before
    limit = np.where(before > 1, _NONE / some, 1.0) if rules.rules else np.zeros(rows)
    live_error = np.where(
        (live == 0.0) | (live == 1.0), limit, np.sqrt(np.maximum(live_variance, 0.0)) / some
    )

    def gain(row: int) -> tuple[float, float, float]:
        """Return what the other triggers would gain in Hz without a trigger, its error, and the rise of the
        live fraction: without it, the rate before the rules is lower by its unique rate."""
        unique = float(hz[UNIQUE_BEFORE, row])
        rest = input_hz - unique
        if not rules.rules or not unique or not rest > 0:
            return 0.0, 0.0, 0.0
        rise = live_at(curve, rest) - live_at(curve, input_hz)
        error = math.hypot(relative[UNIQUE_BEFORE, row], drawing[UNIQUE_BEFORE, row] / unique)
        of_curve = max(point.error for point in curve) * min(1.0, unique / (0.3 * input_hz))
        return rest * rise, rest * math.hypot(rise * error, of_curve), rise

    items = []
    for number, row in enumerate(arrays.rows):
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
                live=float(live[number]),
                live_error=float(live_error[number]),
                **counts.causes(number, rules.labels, menu),
                gain_hz=gain_hz,
                gain_error_hz=gain_error_hz,
                gain_live=gain_live,
            )
        )
    of_rate = abs(slope) * live[first] * relative[BEFORE, first]
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
        live=float(live[first]),
        live_error=math.hypot(live_error[first], of_rate),
        by_slot=counts.slots,
        lost_by_slot=counts.slot_lost,
        lost_error_hz=drawing[BEFORE, rows:],
        distances=counts.distances,
        curve=curve,
        negative=beam.patterns.negative,
        models=emulation.plan.models[0],
        warnings=(*emulation.catalogue.warnings, *emulation.plan.warnings[0]),
    )


def _curve_around(beam: Beam, input_hz: float) -> tuple[LiveFraction, ...]:
    """Return the live fraction of independent crossings around the rate of a menu."""
    rates = [input_hz * step for step in STEPS if 0 < input_hz * step < beam.filling.crossing_rate_hz]
    if not beam.rules.rules or not rates:
        return tuple(LiveFraction(rate, 1.0, 0.0) for rate in rates or [1.0])
    how = beam.rules, beam.filling
    return tuple(live_fraction(*how, rate, attempts=ATTEMPTS, seed=beam.seed) for rate in rates)


def table_errors(
    arrays: MenuArrays, emulation: Emulation, without: Collection[str], slope: float, is_scaled: bool
) -> tuple[FloatArray, FloatArray]:
    """Return rates before the rules over all phases of the counters, float64[4, rows], total, total, unique,
    unique, and the relative errors of the four numbers of accepts. slope: d ln L / d ln R of the first level.
    is_scaled: whether R is given; then the rates of triggers relative to R vary."""
    counted, labels = emulation.counted(0), []
    for quantity in ("total", "unique"):  # a level is alone in itself
        of_level = Label("level", "", "rate") if arrays.menu.levels else MENU
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
