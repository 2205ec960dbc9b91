"""The rates of a menu at any pile-up and controlled thresholds, and its way through a fill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import SampleError, TrigemuError, quoted
from trigemu.emulation.budgets import threshold_for
from trigemu.emulation.reweight import at_pileup
from trigemu.menus.menu import Menu, Solution
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import ScoreKind

from .curve import live_curve
from .fill_config import ControlTable, FillConfig
from .fill_sample import Accepted, add_controlled
from .filling import Filling
from .rules import Rules

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
FIXED, COLUMNS, CONTROL = "fixed", "columns", "control"


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

    @property
    def recorded(self) -> FloatArray:
        """The recorded rate of the menu in Hz, float64[steps]."""
        return self.menu * self.live


class Factors:
    """The factors of events by number of interactions, at the pile-up of each step."""

    def __init__(self, samples: Catalogue, config: FillConfig, executor: Any) -> None:
        self.hours, self.pileup = config.fill.hours_and_pileup()
        low, high = float(self.pileup.min()), float(self.pileup.max())
        grid = np.unique([*np.geomspace(low, high, PILEUPS), self.pileup[0]])
        self._grid = np.log(grid)
        tables = []
        for mean in grid.tolist():
            reweighted = at_pileup(samples, mean, executor=executor)
            tables.append(reweighted.background[0].per_interactions)
        with np.errstate(divide="ignore"):
            self._log = np.log(np.array(tables))

    def at(self, pileup: FloatArray, total: FloatArray) -> FloatArray:
        """Return the factors of events at each of n pile-ups, float64[n, m], by number of interactions, such
        that crossings of the weights `total`, float64[m], add up to the same as without."""
        factors = np.zeros((len(pileup), len(total)))
        for number, column in enumerate(self._log.T[: len(total)]):
            factors[:, number] = np.exp(np.interp(np.log(pileup), self._grid, column))
        after = factors @ total
        if not (after > 0).all():
            raise SampleError("a signal has only numbers of interactions that no crossing of the fill has")
        scaled: FloatArray = factors * (total.sum() / after)[:, None]
        return scaled


class Rates(NamedTuple):
    """Rates before the rules in Hz: of the first level, of the menu, and of the controlled triggers,
    float64[k]."""

    first: float
    menu: float
    own: FloatArray


class Model:
    """The rates of a menu at any pile-up and thresholds. menus: the menu, or one for each column."""

    def __init__(
        self,
        menus: tuple[Menu, ...],
        config: FillConfig,
        filling: Filling,
        rules: Rules,
        factors: Factors,
        background: Accepted,
        signals: list[Accepted],
        fitted: frozenset[str],
    ) -> None:
        self._config, self._factors, self._controls = config, factors, config.controls
        self._filling, self._rules = filling, rules
        self._seconds = config.fill.step_seconds
        names = [control.trigger for control in self._controls]
        chances = [[1.0 / menu.trigger(name).prescale for name in names] for menu in menus]
        self._chance = np.array(chances).reshape(len(menus), len(names))  # 0: it is off
        self._hz = filling.crossing_rate_hz / float(background.total.sum())
        self._fitted = np.array([name in fitted for name in names], np.bool_)
        self._background, self._signals = background, signals
        descriptions = [menus[0].trigger(name).description for name in names]
        start = np.array([d.threshold for d in descriptions if isinstance(d, ScoreKind)])
        self._of = [self._factors_of(sample) for sample in (background, *signals)]
        self._curve = np.zeros(1), np.ones(1)
        self.column = config.column_at(float(factors.pileup[0])) or 0
        self._begin(menus[self.column], start)

    def _factors_of(self, sample: Accepted) -> FloatArray:
        """Return the factors of the events of a sample in each step, float64[steps, m]; 1 if their numbers of
        interactions are unknown."""
        total = sample.total.sum(axis=0)
        if len(total) > 1:
            return self._factors.at(self._factors.pileup, total)
        return np.ones((len(self._factors.pileup), 1))

    def _live(self, before: float) -> float:
        """Return the live fraction at a rate; those of many rates are computed when one exceeds all known."""
        if self._rules.rules and before > self._curve[0][-1] * (1 + 1e-9):
            rates = sorted({min(rate, self._filling.crossing_rate_hz) for rate in (before * RATES).tolist()})
            curve = live_curve(self._rules, self._filling, rates, attempts=400_000)
            fine = np.linspace(rates[0], rates[-1], 500)
            self._curve = fine, np.array([curve.at(rate) for rate in fine.tolist()])
        return float(np.interp(before, *self._curve))

    def _begin(self, menu: Menu, controlled: FloatArray) -> None:
        """Set targets, the thresholds at the beginning, their scales, and the loosest ones."""
        first, thresholds, live = self._of[0][0], controlled.copy(), np.nan
        for _ in range(TURNS):
            rates, before = self._rates(first, thresholds, self.column), live
            live = self._live(rates.first)
            if live == before:
                break
            for k, control in enumerate(self._controls):
                if control.target_hz and control.of == "trigger":
                    thresholds[k] = self._found(first, k, control.target_hz / max(live, 1e-9)).threshold
        self.target_hz = self._config.fill.target_hz or rates.menu * live
        if not self.target_hz > 0:
            raise TrigemuError(
                f"{self._config.path}: {menu.name!r} accepts no event at the beginning of the fill, so there "
                f"is no rate to follow: give target_hz under [fill], or another menu"
            )
        self.targets: list[float] = []
        scales, loosest = np.zeros(len(controlled)), np.zeros(len(controlled))
        lowest = self._of[0][int(np.argmin(self._factors.pileup))]
        for k, control in enumerate(self._controls):
            default = self.target_hz if control.of == "menu" else float(rates.own[k]) * live
            self.targets.append(control.target_hz or default)
            hz = float(rates.own[k])
            if not hz > 0:
                prescale = menu.trigger(control.trigger).prescale
                with_ = "switched off" if prescale == np.inf else f"with a prescale of {prescale:g}"
                raise self._error(
                    k,
                    f"above {thresholds[k]:g} and {with_} it accepts no event at the beginning of the fill: "
                    f"give target_hz, or another threshold, prescale or column",
                )
            self._check_counts(k)
            looser, tighter = (self._found(first, k, hz * by) for by in (np.exp(0.5), np.exp(-0.5)))
            if not looser.hz > tighter.hz:
                raise self._error(
                    k,
                    f"no threshold beside {thresholds[k]:g}, with {hz:.4g} Hz, has a rate within a factor of "
                    f"{np.e:.2f}, so that it cannot be moved: too many events share a score",
                )
            scales[k] = (tighter.threshold - looser.threshold) / np.log(looser.hz / tighter.hz)
            loosest[k] = min(self._loosest_for(step, k, hz * LOOSEST) for step in (first, lowest))
        self._start, self._scales, self._loosest = thresholds, scales, loosest
        if len(controlled):
            self._background = self._background.above(loosest)
            self._signals = [signal.above(loosest) for signal in self._signals]

    def _error(self, k: int, message: str) -> TrigemuError:
        name = quoted(self._controls[k].trigger)
        return TrigemuError(f"{self._config.path}: control of {name}: {message}")

    def _check_counts(self, k: int) -> None:
        """Raise an error if a controller counts too few accepts, or more than can be drawn."""
        control = self._controls[k]
        expected = self.targets[k] * self._exposure(control)
        how = f"{expected:.3g} accepts ({self.targets[k]:.4g} Hz, one in {control.prescale:g})"
        if expected < FEWEST:
            raise self._error(k, f"it would count {how} in a step: give more seconds, or a smaller prescale")
        if self._filling.crossing_rate_hz * self._exposure(control) > MOST:
            raise self._error(k, f"it would count {how} in a step, too many: give a larger prescale")

    def _exposure(self, control: ControlTable) -> float:
        """Return the time in which a controller counts, over the prescale of the accepts."""
        return min(control.seconds, self._seconds) / control.prescale

    def _scored(self, factor: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
        """Return the scores of a controlled trigger and the rates in Hz of the events with one."""
        rows = self._background
        weight = rows.judged * rows.scales(factor)[rows.sample] if self._fitted[k] else rows.weight
        rate = weight * factor[rows.interactions] * self._hz * self._chance[self.column, k]
        has_score = rows.scores[:, k] > -np.inf
        return rows.scores[has_score, k], rate[has_score]

    def _found(self, factor: FloatArray, k: int, hz: float) -> Solution:
        """Return the threshold of a controlled trigger with the rate nearest to a given one."""
        scores, rates = self._scored(factor, k)
        try:
            return threshold_for(scores, rates, hz)
        except ValueError as error:
            raise self._error(k, f"{hz:.4g} Hz before the rules {error}") from None

    def _loosest_for(self, factor: FloatArray, k: int, hz: float) -> float:
        """Return a threshold of a controlled trigger at which it accepts at least a rate, or all events."""
        scores, rates = self._scored(factor, k)
        order = np.argsort(-scores, kind="stable")
        reached = min(int(np.searchsorted(np.cumsum(rates[order]), hz)), len(order) - 1)
        return float(np.nextafter(scores[order[reached]], -np.inf))

    def _rates(self, factor: FloatArray, thresholds: FloatArray, column: int) -> Rates:
        rows = self._background
        first, last, chances = _sums(rows, factor, thresholds, self._chance[column], self._fitted, column)
        return Rates(first * self._hz, last * self._hz, chances * self._hz)

    def _efficiency(self, number: int, step: int, thresholds: FloatArray, column: int) -> float:
        """Return the part of a signal that the menu accepts."""
        signal, factor = self._signals[number], self._of[1 + number][step]
        none = np.zeros(len(thresholds), np.bool_)
        _, menu, _ = _sums(signal, factor, thresholds, self._chance[column], none, column)
        return menu / float((signal.total @ factor).sum())

    def run(self, name: str, seed: int) -> FillTrace:
        """Run through the fill."""
        rng = np.random.Generator(np.random.PCG64(seed))
        thresholds, errors = self._start.copy(), np.zeros(len(self._start))
        steps, live, moved, efficiencies = [], [], [], []
        for step, pileup in enumerate(self._factors.pileup.tolist()):
            column = (self._config.column_at(pileup) or 0) if name == COLUMNS else self.column
            rates = self._rates(self._of[0][step], thresholds, column)
            part = self._live(rates.first)
            steps.append(rates)
            live.append(part)
            moved.append(thresholds.copy())
            numbers = range(len(self._signals))
            efficiencies.append([part * self._efficiency(n, step, thresholds, column) for n in numbers])
            if name == CONTROL:
                self._move(thresholds, errors, rates.menu * part, rates.own * part, rng)
        first, menu, chances = zip(*steps, strict=True)
        return FillTrace(
            name,
            seed,
            np.array(first),
            np.array(menu),
            np.array(live),
            (np.array(chances) * np.array(live)[:, None]).T,
            np.array(moved).T,
            np.array(efficiencies).T,
        )

    def _move(
        self,
        thresholds: FloatArray,
        errors: FloatArray,
        menu: float,
        controlled: FloatArray,
        rng: np.random.Generator,
    ) -> None:
        """Let the controllers move their thresholds after a step."""
        for k, control in enumerate(self._controls):
            rate = menu if control.of == "menu" else float(controlled[k])
            exposure = self._exposure(control)
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
) -> tuple[float, float, FloatArray]:
    """Return the weight that the first and the last level accept, and that of each controlled trigger; the
    part without these is already summed."""
    chances, scales = np.zeros(len(thresholds)), rows.scales(factor)
    more = add_controlled(
        rows.interactions,
        rows.sample,
        rows.weight,
        rows.judged,
        rows.plain[column],
        rows.fitted[column],
        rows.scores,
        factor,
        scales,
        thresholds,
        chance,
        is_fitted,
        chances,
    )

    def without(levels: FloatArray) -> float:
        return float(levels[column, 0] @ factor + scales @ (levels[column, 1:] @ factor))

    first = without(rows.first) + more
    return first, first if rows.last is None else without(rows.last), chances
