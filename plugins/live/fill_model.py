"""The rates of a menu at any pile-up and controlled thresholds, and its way through a fill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trigemu.api import (
    BoolArray,
    Catalogue,
    FloatArray,
    Menu,
    ScoreKind,
    TrigemuError,
    at_column,
    at_own_column,
    at_pileup,
)

from .curve import live_curve
from .fill_config import ControlTable, FillConfig
from .fill_kernels import add_controlled
from .fill_sample import Accepted
from .filling import Filling
from .rules import Rules

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


class Factors:
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


class Model:
    """The rates of a menu at any pile-up and thresholds."""

    def __init__(
        self,
        menu: Menu,
        config: FillConfig,
        filling: Filling,
        rules: Rules,
        factors: Factors,
        background: Accepted,
        signals: list[Accepted],
        fitted: frozenset[str],
    ) -> None:
        self._config, self._factors, self._controls = config, factors, config.controls
        self._seconds = config.fill.step_seconds
        triggers = [menu.trigger(control.trigger) for control in self._controls]
        of_columns = [at_own_column(menu), *(at_column(menu, column.name) for column in config.columns)]
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
