"""A fill: rates, live fraction and efficiencies while the luminosity falls, with columns and controllers.

In each step the pile-up gives the rate of the menu (`fill_events.py`), and the rate gives the live fraction
of its rules, from a curve for independent crossings. Every controlled threshold begins where its target is
met. Then it is fixed; or, at the end of each step, a controller that has counted some accepts, prescaled and
with their Poisson noise, moves it by

    Δθ = θ' · (P (e − e_before) + I e),        e = log(counted / expected),

with θ' the change of the threshold that lowers its rate by a factor of e, at the beginning. The threshold of
a trigger stays where a column switches it off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError, nearest, quoted
from trigemu.base.mapping import engine_of
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets, threshold_for
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import Columns, interactions, per_event, take_rows
from trigemu.emulation.plan import make_plan
from trigemu.emulation.reweight import at_pileup
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_column, at_crossing_rate
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.samples.sample import INTERACTIONS, Sample
from trigemu.triggers.base import ScoreKind

from .fill_config import FillConfig
from .fill_events import NAMES, FillEvents, read_fill
from .fill_results import BOTH, COLUMNS, CONTROL, FIXED, Fill, FillTrace
from .filling import Filling, every_slot
from .rules import NO_RULES, Rules, live_at, live_fraction

#: Points in pile-up between which factors of events are interpolated; exact ones would need a pass for each.
PILEUPS = 9
#: Controlled thresholds cannot move below the one at which, at the lowest pile-up, this many times the target
#: is accepted.
LOOSEST = 2.0
#: Rates for which the live fraction is computed, relative to the largest of the fill.
RATES = np.geomspace(0.02, 1.6, 12)
#: Thresholds are found for the live fraction at the rate with them: the two agree after a few turns.
TURNS = 20
#: A controller needs this many accepts in each step; with fewer, its logarithm is biased.
FEWEST = 1.0


def through_fill(
    menu: MenuLike,
    config: FillConfig,
    catalogue: SamplesLike = None,
    *,
    filling: Filling | None = None,
    rules: Rules = NO_RULES,
    seeds: Sequence[int] = (1,),
    executor: Any = None,
) -> Fill:
    """Run a menu through a fill.

    catalogue: samples whose events are crossings with `n_interaction`. seeds: those with which controllers
    run. The rest is as in `live_rates`. Budgets are met at the pile-up of the samples, in the column at the
    beginning of the fill.

    Raises SampleError if the samples cannot be reweighted to a pile-up of the fill; TrigemuError if a
    controlled trigger has no threshold, or shares its counter, or others read it, or if a column or a signal
    does not exist.
    """
    menu = menu_of(menu)
    filling = filling or every_slot(menu.crossing_rate_hz)
    own = replace(menu.columns, pileup=(), luminosity_cm2s=())  # the fill has its own pile-up
    menu = at_crossing_rate(replace(menu, columns=own), filling.crossing_rate_hz)
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    hours, pileup = config.fill.hours_and_pileup()
    _check(menu, config, samples, float(pileup.max()))
    signals = [samples.sample(name) for name in config.fill.signals]
    # Factors by number of interactions: those of a few pile-ups, between which they are interpolated.
    grid = np.unique([*np.geomspace(pileup.min(), pileup.max(), PILEUPS), pileup[0]])
    reweighted = [at_pileup(samples, mean, executor=engine) for mean in grid.tolist()]
    with np.errstate(divide="ignore"):
        log = np.log([catalogue.background[0].per_interactions for catalogue in reweighted])
    factors = np.exp([np.interp(np.log(pileup), np.log(grid), of_number) for of_number in log.T]).T
    menus = tuple(at_column(menu, column.name) for column in config.columns) or (menu,)
    begin = config.column_at(float(pileup[0])) or 0
    (solved,) = solve_budgets((menus[begin],), samples, executor=engine)
    solutions = {trigger.name: trigger.solution for trigger in solved.triggers if trigger.solution}
    menus = tuple(of_column.solved(solutions) for of_column in menus)
    plan = make_plan(menus)
    half = scaling.unseen_half(menus, plan, samples)
    fitted = frozenset().union(*scaling.fitted_in(menus, plan, samples))
    controlled = [control.trigger for control in config.controls]
    slots = {name: slot for bits in plan.bits for name, slot in bits.items()}
    if off := [name for name in controlled if name not in slots]:
        raise TrigemuError(
            f"{config.path}: control of {quoted(off[0])}: it is switched off at all times: give another "
            f"prescale or column"
        )
    read = partial(read_fill, tuple(slots[name] for name in controlled))

    def gathered(some: Sequence[Sample]) -> Columns:
        """Return the events of some samples."""
        known = all(INTERACTIONS[1] in sample.schema.scalars for sample in some)
        job = Job(menus, plan, samples, frozenset({INTERACTIONS} if known else ()))
        columns = per_event(job, NAMES, read, samples=some, executor=engine)
        return columns | {"interaction": interactions(columns, samples)}

    how = menus, plan.bits, controlled, factors
    events = gathered(samples.background)
    if controlled and events["weight"].min(initial=0.0) < 0:
        raise SampleError(f"{samples.path}: an event has a negative weight: no threshold can be controlled")
    background, of_signals = FillEvents(events, *how, filling.crossing_rate_hz, fitted, half), []
    for signal in signals:  # as efficiencies: a background is judged on its unseen half
        events = gathered([signal])
        if half is not None and signal.table.role == "background":
            events = take_rows(events, events["half"] == half)
        of_signals.append(FillEvents(events, *how, 1.0))
    model = _Model(menus, config, filling, rules, background, of_signals)
    traces = [model.run(FIXED, 0)]
    traces += [model.run(COLUMNS, 0)] if config.columns else []
    traces += [model.run(CONTROL, seed) for seed in seeds if config.controls]
    traces += [model.run(BOTH, seed) for seed in seeds if config.controls and config.columns]
    stratum_of = np.array(reweighted[0].stratum_of)
    return Fill(
        menus=menus,
        catalogue=samples,
        config=config,
        filling=filling,
        rules=rules,
        hours=hours,
        pileup=pileup,
        targets=tuple(model.targets),
        target_hz=model.target_hz,
        traces=tuple(traces),
        errors={trace.name: model.errors(trace, stratum_of) for trace in reversed(traces)},
        models={path: sha256 for models in plan.models for path, sha256 in models.items()},
    )


def _check(menu: Menu, config: FillConfig, samples: Catalogue, highest: float) -> None:
    """Raise an error if the fill, up to its highest pile-up, cannot be run with a menu and samples."""
    names = [trigger.name for trigger in menu.enabled]
    first = (menu.levels or ("",))[0]
    for control in config.controls:
        where = f"{config.path}: control of {control.trigger!r}"
        if control.trigger not in names:
            raise TrigemuError(f"{where}: {menu.name!r} has no such trigger{nearest(control.trigger, names)}")
        trigger = menu.trigger(control.trigger)
        readers = [other.name for other in menu.used if control.trigger in other.inputs()]
        reasons = {
            "it has no threshold": not isinstance(trigger.description, ScoreKind),
            "it has a seed": trigger.seed is not None,
            f"it is not of the first level, {first}": (trigger.level or first) != first,
            f"it shares its counter ({trigger.coherent!r})": trigger.coherent is not None,
            f"{', '.join(map(repr, readers))} reads it": bool(readers),
        }
        for why in (why for why, holds in reasons.items() if holds):
            raise TrigemuError(f"{where}: its threshold cannot be moved by itself: {why}")
        if control.of == "menu" and menu.levels[1:]:
            raise TrigemuError(
                f"{where}: the rate of the menu is that of {menu.levels[-1]}, which a threshold of {first} "
                f'does not move: leave of = "menu" out'
            )
    if menu.columns.names and not (config.columns or menu.columns.default or menu.columns.chosen):
        raise TrigemuError(
            f"{menu.columns.path or menu.path} has columns of prescales, {', '.join(menu.columns.names)}: "
            f"choose one or several with [[column]] in {config.path}, or one with --column, or with column "
            f"under [menu]"
        )
    if config.columns and config.column_at(highest) is None:
        below = max(column.below for column in config.columns)
        raise TrigemuError(
            f"{config.path}: the pile-up is up to {highest:g}, but the columns of prescales begin at "
            f"{below:g}: give one with below = {highest:g} or more"
        )
    if samples.table.convention == "luminosity":
        raise SampleError(
            f"{samples.path}: the events are single interactions (convention 'luminosity'), not crossings"
        )


class _Model:
    """The rates of menus, one for each column, in each step at any thresholds; targets, and gains."""

    def __init__(
        self,
        menus: Sequence[Menu],
        config: FillConfig,
        filling: Filling,
        rules: Rules,
        background: FillEvents,
        signals: Sequence[FillEvents],
    ) -> None:
        self._config, self._filling, self._rules = config, filling, rules
        self._background, self._signals = background, signals
        self._curve = np.zeros(1), np.ones(1)
        self._pileup = config.fill.hours_and_pileup()[1]
        self._columns = np.array([config.column_at(mean) or 0 for mean in self._pileup.tolist()])
        self._column = int(self._columns[0])
        #: The time in which each controller counts in a step, over the prescale of the accepts.
        self._exposure = [min(c.seconds, config.fill.step_seconds) / c.prescale for c in config.controls]
        kinds = [menus[0].trigger(control.trigger).description for control in config.controls]
        self._start = np.array([kind.threshold for kind in kinds if isinstance(kind, ScoreKind)])
        self._begin(menus[self._column])

    def _begin(self, menu: Menu) -> None:
        """Find the thresholds at the beginning, the targets, and the gain and lowest value of thresholds."""
        live, controls, background = np.nan, self._config.controls, self._background
        for _ in range(TURNS):
            (first, of_menu, own), before = background.rates(0, self._start, self._column), live
            live = self._live(first)
            if live == before:
                break
            for k, control in enumerate(controls):
                if control.target_hz and control.of == "trigger":
                    self._start[k] = self._threshold(k, control.target_hz / max(live, 1e-9))[0]
        self.target_hz = self._config.fill.target_hz or of_menu * live
        if not self.target_hz > 0:
            raise TrigemuError(
                f"{self._config.path}: {menu.name!r} accepts no event at the beginning of the fill, so there "
                f"is no rate to follow: give target_hz under [fill], or another menu"
            )
        self.targets = [
            control.target_hz or (self.target_hz if control.of == "menu" else hz * live)
            for control, hz in zip(controls, own.tolist(), strict=True)
        ]
        self._scales, self._loosest = np.zeros(len(controls)), np.full(len(controls), np.inf)
        for k, (control, hz) in enumerate(zip(controls, own.tolist(), strict=True)):
            above = f"{self._start[k]:g}"
            if not hz > 0:
                prescale = menu.trigger(control.trigger).prescale
                with_ = "switched off" if prescale == np.inf else f"with a prescale of {prescale:g}"
                raise self._error(
                    k,
                    f"above {above} and {with_} it accepts no event at the beginning of the fill: give "
                    f"target_hz, or another threshold, prescale or column",
                )
            expected = self.targets[k] * self._exposure[k]
            if expected < FEWEST:
                counts = f"{expected:.3g} accepts ({self.targets[k]:.4g} Hz, one in {control.prescale:g})"
                raise self._error(
                    k, f"it would count {counts} in a step: give more seconds, or a smaller prescale"
                )
            (looser, high), (tighter, low) = (self._threshold(k, hz * np.exp(by)) for by in (0.5, -0.5))
            if not high > low:
                raise self._error(
                    k,
                    f"no threshold beside {above}, with {hz:.4g} Hz, has a rate within a factor of "
                    f"{np.e:.2f}, so that it cannot be moved: too many events share a score",
                )
            self._scales[k] = (tighter - looser) / np.log(high / low)
            # In a column with a larger prescale the same rate needs a looser threshold.
            chance = background.chance[:, k]
            most = hz * LOOSEST * max(chance[self._column] / other for other in chance if other)
            for step in (0, int(np.argmin(self._pileup))):
                scores, rates = background.scored(step, k, self._column)
                order = np.argsort(-scores, kind="stable")
                reached = min(int(np.searchsorted(np.cumsum(rates[order]), most)), len(order) - 1)
                loosest = float(np.nextafter(scores[order[reached]], -np.inf))
                self._loosest[k] = min(self._loosest[k], loosest)
        for events in (background, *self._signals) if controls else ():
            events.select(self._loosest)

    def _error(self, k: int, message: str) -> TrigemuError:
        name = quoted(self._config.controls[k].trigger)
        return TrigemuError(f"{self._config.path}: control of {name}: {message}")

    def _live(self, before: float) -> float:
        """Return the live fraction at a rate; those of many rates are computed when one exceeds all known."""
        if self._rules.rules and before > self._curve[0][-1] * (1 + 1e-9):
            rates = sorted({min(rate, self._filling.crossing_rate_hz) for rate in (before * RATES).tolist()})
            points = [live_fraction(self._rules, self._filling, rate, attempts=400_000) for rate in rates]
            fine = np.linspace(rates[0], rates[-1], 500)
            self._curve = fine, np.array([live_at(points, rate) for rate in fine.tolist()])
        return float(np.interp(before, *self._curve))

    def _threshold(self, k: int, hz: float) -> tuple[float, float]:
        """Return the threshold of a controlled trigger with the rate nearest to one at the beginning, and
        this rate."""
        try:
            solution = threshold_for(*self._background.scored(0, k, self._column), hz)
        except ValueError as error:
            raise self._error(k, f"{hz:.4g} Hz before the rules {error}") from None
        return solution.threshold, solution.hz

    def run(self, name: str, seed: int) -> FillTrace:
        """Run through the fill in one way."""
        rng = np.random.Generator(np.random.PCG64(seed))
        thresholds, errors = self._start.copy(), np.zeros(len(self._start))
        steps = []
        for step, in_columns in enumerate(self._columns.tolist()):
            column = in_columns if name in (COLUMNS, BOTH) else self._column
            first, menu, own = self._background.rates(step, thresholds, column)
            live, chance = self._live(first), self._background.chance[column]
            efficiencies = [live * signal.rates(step, thresholds, column)[1] for signal in self._signals]
            steps.append((first, menu, live, own * live, thresholds.copy(), efficiencies, column))
            for k, control in enumerate(self._config.controls if name in (CONTROL, BOTH) else ()):
                if not chance[k]:  # it is off in this column
                    continue
                rate = menu * live if control.of == "menu" else float(own[k] * live)
                counted = rng.poisson(min(rate * self._exposure[k], 1e18))  # the largest mean it takes
                error = float(np.log(max(counted, 0.5) / (self.targets[k] * self._exposure[k])))
                move = control.proportional * (error - float(errors[k])) + control.integral * error
                thresholds[k] = max(thresholds[k] + self._scales[k] * move, self._loosest[k])
                errors[k] = error
        return FillTrace(name, seed, *(np.array(values).T for values in zip(*steps, strict=True)))

    def errors(self, trace: FillTrace, stratum_of: IntArray) -> FloatArray:
        """Return the errors of the recorded rates in the first and the last step, as in `Fill`."""
        errors = []
        for step in (0, len(self._pileup) - 1):
            first, live, column = float(trace.before[step]), float(trace.live[step]), int(trace.columns[step])
            slope = 20 * (1.0 - float(np.interp(0.95 * first, *self._curve)) / live)  # d ln L / d ln R
            how = step, trace.thresholds[:, step], column, slope, stratum_of
            errors.append(self._background.errors(*how) * live)
        return np.array(errors).T
