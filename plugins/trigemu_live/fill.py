"""A fill: rates, live fraction and efficiencies while the luminosity falls, with columns and controllers.

In each step the pile-up gives the rate of the menu (`fill_sample.py`), and the rate gives the live fraction
of its rules, from a curve for independent crossings. Every controlled threshold begins where its target is
met. Then it is fixed; or, at the end of each step, a controller that has counted some accepts, prescaled and
with their Poisson noise, moves it by

    Δθ = θ' · (P (e − e_before) + I e),        e = log(counted / expected),

with θ' the change of the threshold that lowers its rate by a factor of e, at the beginning. The threshold of
a trigger stays where a column switches it off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError, nearest, quoted
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Shown
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets, threshold_for
from trigemu.emulation.plan import make_plan
from trigemu.emulation.reweight import at_pileup
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_column, at_crossing_rate
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.triggers.base import ScoreKind

from .curve import live_curve
from .fill_config import FillConfig
from .fill_events import Accepted, Gathered, accepted_of, gather
from .filling import Filling, every_slot
from .rules import NO_RULES, Rules

#: Points in pile-up between which factors of events are interpolated; exact ones would need a pass for each.
PILEUPS = 9
#: Controlled thresholds cannot move below the one at which, at the lowest pile-up, this many times the target
#: is accepted.
LOOSEST = 2.0
#: Rates for which the live fraction is computed, relative to the largest of the fill.
RATES = np.geomspace(0.02, 1.6, 12)
#: Thresholds are found for the live fraction at the rate with them: the two agree after a few turns.
TURNS = 20
#: A controller needs this many accepts in each step; with fewer, its logarithm is biased. The generator of
#: Poisson numbers takes means up to the second one.
FEWEST, MOST = 1.0, 1e18
FIXED, COLUMNS, CONTROL, BOTH = "fixed", "columns", "control", "both"


@dataclass(frozen=True)
class FillTrace:
    """A fill with one way of setting thresholds and prescales."""

    name: str  #: The way
    seed: int  #: The seed of the counts that controllers see
    before: FloatArray  #: float64[steps], the rate of the first level before the rules in Hz
    menu: FloatArray  #: float64[steps], that of the menu, which is the rate of its last level
    live: FloatArray  #: float64[steps], the part that is recorded
    rates: FloatArray  #: float64[k, steps], the recorded rate of each controlled trigger in Hz
    thresholds: FloatArray  #: float64[k, steps], their thresholds
    efficiencies: FloatArray  #: float64[s, steps], the recorded part of each signal
    columns: IntArray  #: int64[steps], the number of the column of prescales

    @property
    def recorded(self) -> FloatArray:
        """The recorded rate of the menu in Hz, float64[steps]."""
        return self.menu * self.live


@dataclass(frozen=True, repr=False)
class Fill(Shown):
    """A menu through a fill."""

    _view: ClassVar[str] = "trigemu_live.fill_view:FillView"

    menus: tuple[Menu, ...]  #: The menu with its budgets solved, in each column of prescales
    catalogue: Catalogue  #: The samples
    config: FillConfig  #: The fill
    filling: Filling  #: The filling scheme
    rules: Rules  #: The rules
    #: hours, pileup: float64[steps], the beginning of each step, and its mean number of interactions.
    hours: FloatArray
    pileup: FloatArray
    controlled: tuple[str, ...]  #: The controlled triggers
    #: Their targets in Hz, recorded; of a controller of the menu's rate, that of the menu.
    targets: tuple[float, ...]
    target_hz: float  #: The target of the menu in Hz, recorded
    signals: tuple[str, ...]  #: The signals
    #: Fixed thresholds; columns, if there are any; control with each seed; and control in columns.
    traces: tuple[FillTrace, ...]
    #: float64[2 + k, 2] by way (the first seed), the statistical errors in Hz of the recorded rates of the
    #: first level, the menu and the controlled triggers, in the first and the last step.
    errors: Mapping[str, FloatArray]
    models: Mapping[str, str]  #: The SHA-256 of each model file of the menu, by its path

    @property
    def menu(self) -> Menu:
        """The menu with its budgets solved, in the column of prescales at the beginning."""
        return self.menus[self.config.column_at(float(self.pileup[0])) or 0]

    @property
    def ways(self) -> Mapping[str, Sequence[FillTrace]]:
        """The traces of each way of setting thresholds."""
        names = dict.fromkeys(trace.name for trace in self.traces)
        return {name: [trace for trace in self.traces if trace.name == name] for name in names}

    def on_target(self, rates: FloatArray, target_hz: float) -> float:
        """Return the part of the steps in which a rate, float64[steps], is within the tolerance of a
        target."""
        return float(np.mean(np.abs(rates / target_hz - 1.0) <= self.config.fill.tolerance))


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
    own = replace(menu.columns, pileup=(), luminosity_cm2s=())  # the fill has its own pile-up
    menu = replace(menu, columns=own)
    filling = filling or every_slot(menu.crossing_rate_hz)
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    _check(menu, config, samples)
    factors = Factors(samples, config, engine)
    of_columns = [at_column(menu, column.name) for column in config.columns]
    first = of_columns[config.column_at(float(factors.pileup[0])) or 0] if of_columns else menu
    at_rate = at_crossing_rate(first, filling.crossing_rate_hz)
    (solved,) = solve_budgets((at_rate,), samples, executor=engine)
    solutions = {trigger.name: trigger.solution for trigger in solved.triggers if trigger.solution}
    menus = tuple(
        at_crossing_rate(models.solved(solutions), filling.crossing_rate_hz) for models in of_columns
    ) or (solved,)
    plan = make_plan(menus)
    plan.check_background(samples)
    half = scaling.unseen_half(menus, plan, samples)
    fitted = frozenset().union(*scaling.fitted_in(menus, plan, samples))
    controlled = [control.trigger for control in config.controls]
    events = gather(menus, plan, samples, samples.background, controlled, engine)
    if controlled and events.weight.min(initial=0.0) < 0:
        raise SampleError(f"{samples.path}: an event has a negative weight: no threshold can be controlled")
    background = accepted_of(events, menus, plan.bits, controlled, fitted, half)
    signals = []
    for name in config.fill.signals:  # as efficiencies: a background is judged on its unseen half
        signal = samples.sample(name)
        plan.check(signal)
        events = gather(menus, plan, samples, [signal], controlled, engine)
        if half is not None and signal.table.role == "background":
            events = Gathered(*(column[events.half == half] for column in events))
        signals.append(accepted_of(events, menus, plan.bits, controlled))
    model = Model(menus, config, filling, rules, factors, background, signals, fitted)
    traces = [model.run(FIXED, 0)]
    traces += [model.run(COLUMNS, 0)] if config.columns else []
    traces += [model.run(CONTROL, seed) for seed in seeds if config.controls]
    traces += [model.run(BOTH, seed) for seed in seeds if config.controls and config.columns]
    first_of_way = {trace.name: trace for trace in reversed(traces)}
    return Fill(
        menus,
        samples,
        config,
        filling,
        rules,
        factors.hours,
        factors.pileup,
        tuple(controlled),
        tuple(model.targets),
        model.target_hz,
        tuple(config.fill.signals),
        tuple(traces),
        {way: model.errors(trace) for way, trace in first_of_way.items()},
        {path: sha256 for models in plan.models for path, sha256 in models.items()},
    )


def _check(menu: Menu, config: FillConfig, samples: Catalogue) -> None:
    """Raise an error if the fill cannot be run with a menu and samples."""
    names = [trigger.name for trigger in menu.enabled]
    first = (menu.levels or ("",))[0]
    for control in config.controls:
        where = f"{config.path}: control of {control.trigger!r}"
        if control.trigger not in names:
            raise TrigemuError(f"{where}: {menu.name!r} has no such trigger{nearest(control.trigger, names)}")
        trigger = menu.trigger(control.trigger)
        if not isinstance(trigger.description, ScoreKind) or trigger.seed:
            raise TrigemuError(f"{where}: expected a trigger with a threshold, and without a seed")
        if (trigger.level or "") != first:
            raise TrigemuError(f"{where}: it is not of the first level, {first}")
        readers = [other.name for other in menu.used if control.trigger in other.inputs()]
        if control.of == "menu" and menu.levels[1:]:
            raise TrigemuError(
                f"{where}: the rate of the menu is that of {menu.levels[-1]}, which a threshold of {first} "
                f'does not move: leave of = "menu" out'
            )
        if trigger.coherent or readers:
            what = f"{readers[0]!r} reads it" if readers else f"it shares its counter ({trigger.coherent!r})"
            raise TrigemuError(f"{where}: {what}, so its threshold cannot be moved by itself")
    if menu.columns.names and not (config.columns or menu.columns.default or menu.columns.chosen):
        raise TrigemuError(
            f"{menu.columns.path or menu.path} has columns of prescales, {', '.join(menu.columns.names)}: "
            f"choose one or several with [[column]] in {config.path}, or one with --column, or with column "
            f"under [menu]"
        )
    highest = float(config.fill.hours_and_pileup()[1].max())
    if config.columns and config.column_at(highest) is None:
        below = max(column.below for column in config.columns)
        raise TrigemuError(
            f"{config.path}: the pile-up is up to {highest:g}, but the columns of prescales begin at "
            f"{below:g}: give one with below = {highest:g} or more"
        )
    for name in config.fill.signals:
        samples.sample(name)
    if samples.table.convention == "luminosity":
        raise SampleError(
            f"{samples.path}: the events are single interactions (convention 'luminosity'), not crossings"
        )


class Factors:
    """The factors of events by number of interactions, at the pile-up of each step."""

    def __init__(self, samples: Catalogue, config: FillConfig, executor: Any) -> None:
        self.hours, self.pileup = config.fill.hours_and_pileup()
        low, high = float(self.pileup.min()), float(self.pileup.max())
        grid = np.unique([*np.geomspace(low, high, PILEUPS), self.pileup[0]])
        reweighted = [at_pileup(samples, mean, executor=executor) for mean in grid.tolist()]
        self.stratum = np.array(reweighted[0].stratum_of)  # of each number of interactions
        with np.errstate(divide="ignore"):
            log = np.log([catalogue.background[0].per_interactions for catalogue in reweighted]).T
        self._at = np.exp([np.interp(np.log(self.pileup), np.log(grid), of_number) for of_number in log])

    def of(self, sample: Accepted) -> FloatArray:
        """Return factors by step and number of interactions, float64[steps, m], that keep the sum of weights;
        1 if the numbers are unknown."""
        total = sample.total.sum(axis=0)
        if len(total) == 1:
            return np.ones((len(self.pileup), 1))
        factors = np.zeros((len(self.pileup), len(total)))
        factors[:, : len(self._at)] = self._at[: len(total)].T
        after = factors @ total
        if not (after > 0).all():
            raise SampleError("a signal has only numbers of interactions that no crossing of the fill has")
        scaled: FloatArray = factors * (total.sum() / after)[:, None]
        return scaled


class Model:
    """The rates of a menu, or of one for each column, at any pile-up and thresholds; targets, and gains."""

    def __init__(
        self,
        menus: tuple[Menu, ...],
        config: FillConfig,
        filling: Filling,
        rules: Rules,
        factors: Factors,
        background: Accepted,
        signals: Sequence[Accepted],
        fitted: frozenset[str],
    ) -> None:
        self._config, self._filling, self._rules, self._pileup = config, filling, rules, factors.pileup
        self._background, self._signals = background, [*signals]
        self._factors, self._stratum = factors.of(background), factors.stratum
        self._of_signals = [factors.of(signal) for signal in signals]
        self._hz = filling.crossing_rate_hz / float(background.total.sum())
        names = [control.trigger for control in config.controls]
        chance = [[1.0 / menu.trigger(name).prescale for name in names] for menu in menus]
        self._chance = np.array(chance).reshape(len(menus), len(names))  # 0: it is off
        self._fitted = np.array([name in fitted for name in names], np.bool_)
        #: The time in which each controller counts in a step, over the prescale of the accepts.
        self._exposure = [min(c.seconds, config.fill.step_seconds) / c.prescale for c in config.controls]
        self._curve = np.zeros(1), np.ones(1)
        self.column = config.column_at(float(factors.pileup[0])) or 0
        kinds = [menus[0].trigger(name).description for name in names]
        self._start = np.array([kind.threshold for kind in kinds if isinstance(kind, ScoreKind)])
        self._begin(menus[self.column])

    def _begin(self, menu: Menu) -> None:
        first, live, controls = self._factors[0], np.nan, self._config.controls
        for _ in range(TURNS):
            (at_first, of_menu, own), before = self._rates(first, self._start, self.column), live
            live = self._live(at_first)
            if live == before:
                break
            for k, control in enumerate(controls):
                if control.target_hz and control.of == "trigger":
                    hz = control.target_hz / max(live, 1e-9)
                    self._start[k] = self._threshold(first, k, hz)[0]
        self.target_hz = self._config.fill.target_hz or of_menu * live
        if not self.target_hz > 0:
            raise TrigemuError(
                f"{self._config.path}: {menu.name!r} accepts no event at the beginning of the fill, so there "
                f"is no rate to follow: give target_hz under [fill], or another menu"
            )
        self.targets: list[float] = []
        self._scales, self._loosest = np.zeros(len(controls)), np.zeros(len(controls))
        lowest = self._factors[int(np.argmin(self._pileup))]
        for k, control in enumerate(controls):
            default = self.target_hz if control.of == "menu" else float(own[k]) * live
            self.targets.append(control.target_hz or default)
            hz, above = float(own[k]), f"{self._start[k]:g}"
            if not hz > 0:
                prescale = menu.trigger(control.trigger).prescale
                with_ = "switched off" if prescale == np.inf else f"with a prescale of {prescale:g}"
                raise self._error(
                    k,
                    f"above {above} and {with_} it accepts no event at the beginning of the fill: give "
                    f"target_hz, or another threshold, prescale or column",
                )
            expected = self.targets[k] * self._exposure[k]
            counts = (
                f"{expected:.3g} accepts ({self.targets[k]:.4g} Hz, one in {control.prescale:g}) in a step"
            )
            if expected < FEWEST:
                raise self._error(k, f"it would count {counts}: give more seconds, or a smaller prescale")
            if self._filling.crossing_rate_hz * self._exposure[k] > MOST:
                raise self._error(k, f"it would count {counts}, too many: give a larger prescale")
            (looser, high), (tighter, low) = (
                self._threshold(first, k, hz * by) for by in (np.exp(0.5), np.exp(-0.5))
            )
            if not high > low:
                raise self._error(
                    k,
                    f"no threshold beside {above}, with {hz:.4g} Hz, has a rate within a factor of "
                    f"{np.e:.2f}, so that it cannot be moved: too many events share a score",
                )
            self._scales[k] = (tighter - looser) / np.log(high / low)
            # In a column with a larger prescale the same rate needs a looser threshold.
            most = hz * LOOSEST * max(self._chance[self.column, k] / c for c in self._chance[:, k] if c)
            self._loosest[k] = min(self._loosest_for(step, k, most) for step in (first, lowest))
        if controls:
            self._background = self._background.above(self._loosest)
            self._signals = [signal.above(self._loosest) for signal in self._signals]

    def _error(self, k: int, message: str) -> TrigemuError:
        name = quoted(self._config.controls[k].trigger)
        return TrigemuError(f"{self._config.path}: control of {name}: {message}")

    def _live(self, before: float) -> float:
        """Return the live fraction at a rate; those of many rates are computed when one exceeds all known."""
        if self._rules.rules and before > self._curve[0][-1] * (1 + 1e-9):
            rates = sorted({min(rate, self._filling.crossing_rate_hz) for rate in (before * RATES).tolist()})
            curve = live_curve(self._rules, self._filling, rates, attempts=400_000)
            fine = np.linspace(rates[0], rates[-1], 500)
            self._curve = fine, np.array([curve.at(rate) for rate in fine.tolist()])
        return float(np.interp(before, *self._curve))

    def _rates(
        self, factor: FloatArray, thresholds: FloatArray, column: int
    ) -> tuple[float, float, FloatArray]:
        """Return the rates before the rules of the first level, the menu, and the controlled triggers."""
        first, last, own = self._background.rates(factor, thresholds, self._chance[column], column)
        return first * self._hz, last * self._hz, own * self._hz

    def _scored(self, factor: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
        """Return the scores of a controlled trigger and the rates in Hz of the events with one."""
        rows = self._background
        counts: BoolArray = rows.scores[:, k] > -np.inf
        counts &= (rows.cell >= len(factor)) == self._fitted[k]
        weight = rows.weight * rows.factors(factor)[rows.cell] * self._hz * self._chance[self.column, k]
        return rows.scores[counts, k], weight[counts]

    def _threshold(self, factor: FloatArray, k: int, hz: float) -> tuple[float, float]:
        """Return the threshold of a controlled trigger with the rate nearest to one, and this rate."""
        try:
            solution = threshold_for(*self._scored(factor, k), hz)
        except ValueError as error:
            raise self._error(k, f"{hz:.4g} Hz before the rules {error}") from None
        return solution.threshold, solution.hz

    def _loosest_for(self, factor: FloatArray, k: int, hz: float) -> float:
        """Return a threshold of a controlled trigger at which it accepts at least a rate, or all events."""
        scores, rates = self._scored(factor, k)
        order = np.argsort(-scores, kind="stable")
        reached = min(int(np.searchsorted(np.cumsum(rates[order]), hz)), len(order) - 1)
        return float(np.nextafter(scores[order[reached]], -np.inf))

    def run(self, name: str, seed: int) -> FillTrace:
        """Run through the fill."""
        rng = np.random.Generator(np.random.PCG64(seed))
        thresholds, errors = self._start.copy(), np.zeros(len(self._start))
        steps = []
        for step in range(len(self._pileup)):
            column = self._column(name, step)
            first, menu, own = self._rates(self._factors[step], thresholds, column)
            live, chance = self._live(first), self._chance[column]
            efficiencies = []
            for signal, factors in zip(self._signals, self._of_signals, strict=True):
                accepted = signal.rates(factors[step], thresholds, chance, column)[1]
                efficiencies.append(live * (accepted / float((signal.total @ factors[step]).sum())))
            steps.append((first, menu, live, own * live, thresholds.copy(), efficiencies, column))
            for k, control in enumerate(self._config.controls if name in (CONTROL, BOTH) else ()):
                if not chance[k]:  # it is off in this column
                    continue
                rate = menu * live if control.of == "menu" else float(own[k] * live)
                counted = rng.poisson(rate * self._exposure[k])
                error = float(np.log(max(counted, 0.5) / (self.targets[k] * self._exposure[k])))
                move = control.proportional * (error - float(errors[k])) + control.integral * error
                thresholds[k] = max(thresholds[k] + self._scales[k] * move, self._loosest[k])
                errors[k] = error
        return FillTrace(name, seed, *(np.array(values).T for values in zip(*steps, strict=True)))

    def errors(self, trace: FillTrace) -> FloatArray:
        """Return the errors of the recorded rates in the first and the last step, as in `Fill`."""
        errors = []
        for step in (0, -1):
            first, live = float(trace.before[step]), float(trace.live[step])
            column = self._column(trace.name, step)
            slope = 20 * (1.0 - float(np.interp(0.95 * first, *self._curve)) / live)  # d ln L / d ln R
            how = self._factors[step], trace.thresholds[:, step], self._chance[column], column
            errors.append(self._background.errors(*how, slope, self._stratum) * self._hz * live)
        return np.array(errors).T

    def _column(self, name: str, step: int) -> int:
        changes = name in (COLUMNS, BOTH)
        return (self._config.column_at(float(self._pileup[step])) or 0) if changes else self.column
