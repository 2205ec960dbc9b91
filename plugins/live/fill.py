"""A fill: rates, live fraction and efficiencies while the luminosity falls, with columns and controllers.

In each step the pile-up gives the rate of the menu (`fill_sample.py`), and the rate gives the live fraction
of its rules, from a curve for independent crossings. Every controlled threshold begins where its target is
met. Then it is fixed; or, at the end of each step, a controller that has counted some accepts, prescaled and
with their Poisson noise, moves it by

    Δθ = θ' · (P (e − e_before) + I e),        e = log(counted / expected),

with θ' the change of the threshold that lowers its rate by a factor of e, at the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trigemu.api import (
    BoolArray,
    Catalogue,
    FloatArray,
    Menu,
    MenuLike,
    Progress,
    SampleError,
    SamplesLike,
    ScoreKind,
    Shown,
    TrigemuError,
    at_column,
    at_pileup,
    make_plan,
    menu_of,
    nearest,
    samples_of,
    scaling,
    solve_budgets,
)

from .curve import live_curve
from .fill_config import ControlTable, FillConfig
from .fill_kernels import add_controlled
from .fill_sample import Accepted, accepted_of, gather
from .filling import Filling, every_slot
from .live import at_crossing_rate
from .rules import NO_RULES, Rules

#: Points in pile-up between which factors of events are interpolated; exact ones would need a pass for each.
PILEUPS = 9
#: Controlled thresholds cannot move below the one at which, at the lowest pile-up, this many times the target
#: is accepted.
LOOSEST = 2.0
#: Rates for which the live fraction is computed, relative to the largest of the fill.
RATES = np.geomspace(0.02, 1.6, 12)
FIXED, COLUMNS, CONTROL = "fixed", "columns", "control"


@dataclass(frozen=True)
class FillTrace:
    """A fill with one way of setting thresholds and prescales.

    Attributes
    ----------
    name : {"fixed", "columns", "control"}
        The way.
    seed : int
        The seed of the counts that controllers see.
    before : ndarray
        float64[steps], the rate of the first level before the rules in Hz.
    live : ndarray
        float64[steps], the part of it that is recorded.
    rates : ndarray
        float64[k, steps], the recorded rate of each controlled trigger in Hz.
    thresholds : ndarray
        float64[k, steps], their thresholds.
    efficiencies : ndarray
        float64[s, steps], the recorded part of each signal.
    """

    name: str
    seed: int
    before: FloatArray
    live: FloatArray
    rates: FloatArray
    thresholds: FloatArray
    efficiencies: FloatArray

    @property
    def recorded(self) -> FloatArray:
        """The recorded rate of the menu in Hz, float64[steps]."""
        return self.before * self.live


@dataclass(frozen=True, repr=False)
class Fill(Shown):
    """A menu through a fill.

    Attributes
    ----------
    menu : Menu
        The menu.
    catalogue : Catalogue
        The samples.
    config : FillConfig
        The fill.
    filling : Filling
        The filling scheme.
    rules : Rules
        The rules.
    hours, pileup : ndarray
        float64[steps], the beginning of each step, and its mean number of interactions.
    controlled : tuple of str
        The controlled triggers.
    targets : tuple of float
        Their targets in Hz, recorded; of a controller of the menu's rate, that of the menu.
    target_hz : float
        The target of the menu in Hz, recorded.
    signals : tuple of str
        The signals.
    traces : tuple of FillTrace
        Fixed thresholds, columns if there are any, and control with each seed.
    """

    _view: ClassVar[str] = "trigemu_live.fill_view"

    menu: Menu
    catalogue: Catalogue
    config: FillConfig
    filling: Filling
    rules: Rules
    hours: FloatArray
    pileup: FloatArray
    controlled: tuple[str, ...]
    targets: tuple[float, ...]
    target_hz: float
    signals: tuple[str, ...]
    traces: tuple[FillTrace, ...]

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
    progress: Progress | None = None,
) -> Fill:
    """Run a menu through a fill.

    Parameters
    ----------
    menu : path or Menu
        The menu. Budgets are met at the pile-up of the samples.
    config : FillConfig
        The fill (`read_fill`).
    catalogue : path, Catalogue, or list of paths
        Samples whose events are crossings with `n_interaction`.
    filling, rules
        As in `live_rates`.
    seeds : sequence of int
        The seeds with which controllers run.
    executor, progress
        As in `emulate`.

    Returns
    -------
    Fill

    Raises
    ------
    SampleError
        If the samples cannot be reweighted to a pile-up of the fill.
    TrigemuError
        If a controlled trigger has no threshold, or shares its counter, or others read it; or if a column or
        a signal does not exist.
    """
    menu = menu_of(menu)
    filling = filling or every_slot(menu.crossing_rate_hz)
    menu = at_crossing_rate(menu, filling.crossing_rate_hz)
    samples = samples_of(catalogue, executor=executor)
    _check(menu, config, samples)
    factors = _Factors(samples, config, executor)
    (menu,) = solve_budgets((menu,), samples, executor=executor, progress=progress)
    plan = make_plan([menu])
    controlled = [control.trigger for control in config.controls]
    columns = ["", *(column.name for column in config.columns)]

    def accepted(names: Sequence[str] | None) -> Accepted:
        chosen = samples.background if names is None else [samples.sample(name) for name in names]
        found = gather(menu, plan, samples, chosen, controlled, executor, progress if names is None else None)
        return accepted_of(found, menu, plan, samples, columns, controlled)

    fitted = scaling.fitted_in([menu], plan, samples)[0]
    signals = [accepted([name]) for name in config.fill.signals]
    model = _Model(menu, config, filling, rules, factors, accepted(None), signals, fitted)
    traces = [model.run(FIXED, 0)]
    traces += [model.run(COLUMNS, 0)] if config.columns else []
    traces += [model.run(CONTROL, seed) for seed in seeds if config.controls]
    return Fill(
        menu,
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
        if trigger.coherent or readers:
            what = f"{readers[0]!r} reads it" if readers else f"it shares its counter ({trigger.coherent!r})"
            raise TrigemuError(f"{where}: {what}, so its threshold cannot be moved by itself")
    for column in config.columns:
        if column.name not in menu.columns.names:
            known = ", ".join(menu.columns.names) or "none"
            raise TrigemuError(f"{config.path}: {menu.name!r} has no column {column.name!r}; it has {known}")
    for name in config.fill.signals:
        samples.sample(name)
    if samples.table.convention == "luminosity":
        raise SampleError(
            f"{samples.path}: the events are single interactions (convention 'luminosity'), not crossings"
        )


class _Factors:
    """The factors of events by number of interactions, at the pile-up of each step."""

    def __init__(self, samples: Catalogue, config: FillConfig, executor: Any) -> None:
        self.hours, self.pileup = config.fill.hours_and_pileup()
        low, high = float(self.pileup.min()), float(self.pileup.max())
        grid = np.unique(np.geomspace(low, high, PILEUPS)) if high > low * 1.0001 else np.array([low])
        self._grid = np.log(grid)
        tables = []
        for mean in grid.tolist():
            at = at_pileup(samples, mean, executor=executor)
            tables.append(at.background[0].per_interactions)
        with np.errstate(divide="ignore"):
            self._log = np.log(np.array(tables))

    def at(self, pileup: FloatArray, total: FloatArray) -> FloatArray:
        """Return the factors of events at each of n pile-ups, float64[n, m], by number of interactions, such
        that crossings of the weights `total`, float64[m], add up to the same as without."""
        factors = np.zeros((len(pileup), len(total)))
        for number, column in enumerate(self._log.T[: len(total)]):
            factors[:, number] = np.exp(np.interp(np.log(pileup), self._grid, column))
        scaled: FloatArray = factors * (total.sum() / (factors @ total))[:, None]
        return scaled


class _Model:
    """The rates of a menu at any pile-up and thresholds."""

    def __init__(
        self,
        menu: Menu,
        config: FillConfig,
        filling: Filling,
        rules: Rules,
        factors: _Factors,
        background: Accepted,
        signals: list[Accepted],
        fitted: frozenset[str],
    ) -> None:
        self._config, self._factors, self._controls = config, factors, config.controls
        self._seconds = config.fill.step_seconds
        triggers = [menu.trigger(control.trigger) for control in self._controls]
        of_columns = [menu, *(at_column(menu, column.name) for column in config.columns)]
        chances = [[1.0 / at.trigger(trigger.name).prescale for trigger in triggers] for at in of_columns]
        self._chance = np.array(chances).reshape(len(of_columns), len(triggers))  # by column; 0: it is off
        self._hz = filling.crossing_rate_hz / float(background.total.sum())
        self._fitted = np.array([trigger.name in fitted for trigger in triggers], np.bool_)
        self._background, self._signals = background, signals
        start = np.array([t.description.threshold for t in triggers if isinstance(t.description, ScoreKind)])
        self._of = [self._factors_of(sample) for sample in (background, *signals)]
        self._live_at = self._live_curve(rules, filling, start)
        self._begin(start, self._of[0][0])

    def _factors_of(self, sample: Accepted) -> FloatArray:
        """Return the factors of the events of a sample in each step, float64[steps, m]; 1 if their numbers of
        interactions are unknown."""
        if len(sample.total) > 1:
            return self._factors.at(self._factors.pileup, sample.total)
        return np.ones((len(self._factors.pileup), 1))

    def _live_curve(self, rules: Rules, filling: Filling, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the live fraction at many rates, both float64[p]."""
        at = self._of[0][[0, int(np.argmax(self._factors.pileup))]]
        columns = range(len(self._background.base))
        highest = max(self._rates(factor, start, column)[0] for factor in at for column in columns)
        rates = [rate for rate in (highest * RATES).tolist() if 0 < rate < filling.crossing_rate_hz]
        if not rules.rules or not rates:
            return np.array([0.0]), np.array([1.0])
        curve = live_curve(rules, filling, rates, attempts=400_000)
        fine = np.linspace(rates[0], rates[-1], 500)
        return fine, np.array([curve.at(rate) for rate in fine.tolist()])

    def _live(self, before: float) -> float:
        return float(np.interp(before, *self._live_at))

    def _begin(self, start: FloatArray, first: FloatArray) -> None:
        """Set targets, the thresholds at the beginning, their scales, and the loosest ones."""
        before, own = self._rates(first, start, 0)
        live = self._live(before)
        self.target_hz = self._config.fill.target_hz or before * live
        self.targets: list[float] = []
        thresholds, scales, loosest = start.copy(), np.zeros(len(start)), np.zeros(len(start))
        for k, control in enumerate(self._controls):
            of_menu = control.of == "menu"
            default = self.target_hz if of_menu else float(own[k]) * live
            self.targets.append(control.target_hz or default)
            wanted = float(own[k]) if of_menu else self.targets[k] / live
            thresholds[k] = self._threshold(first, k, wanted)
            wider = [self._threshold(first, k, wanted * factor) for factor in (np.exp(0.5), np.exp(-0.5))]
            scales[k] = wider[1] - wider[0]
            lowest = self._of[0][int(np.argmin(self._factors.pileup))]
            loosest[k] = min(self._threshold(at, k, wanted * LOOSEST) for at in (first, lowest))
        self._start, self._scales, self._loosest = thresholds, scales, loosest
        if len(start):
            self._background = self._background.above(loosest)
            self._signals = [signal.above(loosest) for signal in self._signals]

    def _threshold(self, factor: FloatArray, k: int, hz: float) -> float:
        """Return the threshold of a controlled trigger at which it accepts a rate."""
        rows = self._background
        weight = rows.unseen if self._fitted[k] else rows.weight
        order = np.argsort(-rows.scores[:, k], kind="stable")
        order = order[np.isfinite(rows.scores[order, k])]
        rate = np.cumsum((weight * factor[rows.interactions])[order]) * self._hz * self._chance[0, k]
        if not len(order):
            raise TrigemuError(f"{self._config.path}: no event has a score of {self._controls[k].trigger!r}")
        return float(rows.scores[order[min(int(np.searchsorted(rate, hz)), len(order) - 1)], k])

    def _rates(self, factor: FloatArray, thresholds: FloatArray, column: int) -> tuple[float, FloatArray]:
        """Return the rate of the first level, and those of the controlled triggers, before the rules in
        Hz."""
        rows = self._background
        total, own = _sums(rows, factor, thresholds, self._chance[column], self._fitted, column)
        return total * self._hz, own * self._hz

    def _efficiency(self, number: int, step: int, thresholds: FloatArray, column: int) -> float:
        """Return the part of a signal that the first level accepts."""
        signal, factor = self._signals[number], self._of[1 + number][step]
        none = np.zeros(len(thresholds), np.bool_)
        total, _ = _sums(signal, factor, thresholds, self._chance[column], none, column)
        return total / float(factor @ signal.total)

    def _column_at(self, pileup: float) -> int:
        below = [(table.below, number + 1) for number, table in enumerate(self._config.columns)]
        return min((entry for entry in below if pileup <= entry[0]), default=(0.0, 0))[1]

    def run(self, name: str, seed: int) -> FillTrace:
        """Run through the fill."""
        rng = np.random.Generator(np.random.PCG64(seed))
        thresholds, errors = self._start.copy(), np.zeros(len(self._start))
        before, live, rates, moved, efficiencies = [], [], [], [], []
        for step, pileup in enumerate(self._factors.pileup.tolist()):
            column = self._column_at(pileup) if name == COLUMNS else 0
            total, own = self._rates(self._of[0][step], thresholds, column)
            part = self._live(total)
            before.append(total)
            live.append(part)
            rates.append(own * part)
            moved.append(thresholds.copy())
            numbers = range(len(self._signals))
            efficiencies.append([part * self._efficiency(n, step, thresholds, column) for n in numbers])
            if name == CONTROL:
                self._move(thresholds, errors, total * part, own * part, rng)
        return FillTrace(
            name,
            seed,
            np.array(before),
            np.array(live),
            np.array(rates).T,
            np.array(moved).T,
            np.array(efficiencies).T,
        )

    def _move(
        self,
        thresholds: FloatArray,
        errors: FloatArray,
        menu: float,
        own: FloatArray,
        rng: np.random.Generator,
    ) -> None:
        """Let the controllers move their thresholds after a step."""
        for k, control in enumerate(self._controls):
            rate = menu if control.of == "menu" else float(own[k])
            exposure = min(control.seconds, self._seconds) / control.prescale
            counted = rng.poisson(rate * exposure)
            error = float(np.log(max(counted, 0.5) / (self.targets[k] * exposure)))
            thresholds[k] += self._scales[k] * _step(control, error, float(errors[k]))
            thresholds[k] = max(thresholds[k], self._loosest[k])
            errors[k] = error


def _step(control: ControlTable, error: float, before: float) -> float:
    return control.proportional * (error - before) + control.integral * error


def _sums(
    rows: Accepted,
    factor: FloatArray,
    thresholds: FloatArray,
    chance: FloatArray,
    is_fitted: BoolArray,
    column: int,
) -> tuple[float, FloatArray]:
    """Return the weight that the first level accepts, and that of each controlled trigger; the part without
    these is already summed."""
    own = np.zeros(len(thresholds))
    events = rows.interactions, rows.weight, rows.unseen, rows.plain[column], rows.fitted[column], rows.scores
    more = add_controlled(*events, factor, thresholds, chance, is_fitted, own)
    return float(rows.base[column] @ factor) + more, own


def traces_named(fill: Fill, name: str) -> Iterator[FillTrace]:
    """Yield the traces of a way of setting thresholds."""
    return (trace for trace in fill.traces if trace.name == name)


def names_of(fill: Fill) -> Mapping[str, int]:
    """Return the ways of setting thresholds, and the number of traces of each."""
    names = [trace.name for trace in fill.traces]
    return {name: names.count(name) for name in dict.fromkeys(names)}
