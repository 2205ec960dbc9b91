"""The problem that is searched: the rate and the efficiencies of a menu as functions of a point, its limits,
and the figure of merit. It consists of arrays alone, so that any worker can have it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.kernels import inner, kernel

from .goals import Merit
from .rows import Component, Half, Levels
from .variables import Bound, Order

#: What an infeasible point counts, more than any loss.
INFEASIBLE = 1e3
#: The relative margin below a cap, so that sums in another order stay below it.
MARGIN = 1e-9
#: A level that no event is above.
_NEVER = 255


@dataclass(frozen=True)
class Problem:
    """A menu as a function of a point: the index of the value of each variable."""

    values: tuple[FloatArray, ...]  # tuple of float64[k]: the values of each variable
    thresholds: tuple[bool, ...]  # Whether each variable is a threshold
    columns: IntArray  # int64[columns]: the variables of the triggers that accept whenever they fire
    member: BoolArray  # bool[sets, columns]: whether each of these triggers is in a set
    components: tuple[Component, ...]  # All others that vary
    half: Half  # The events
    bounds: tuple[Bound, ...]  # The limits; the first is the cap on the rate of the menu
    orders: tuple[Order, ...]  # The ties
    merit: Merit  # The figure of merit
    weights: FloatArray  # float64[channels]: the weights of the channels, which add up to 1
    ceilings: FloatArray  # float64[channels]: ε_max, the efficiency of each channel with all of the rate

    @property
    def cap(self) -> float:
        """The cap on the rate of the menu, in Hz."""
        return self.bounds[0].high

    @property
    def sizes(self) -> IntArray:
        """The number of values of each variable."""
        return np.array([len(values) for values in self.values], np.int64)

    def alone(self, channel: int) -> Problem:
        """Return the problem of the largest efficiency of one channel; −1: the problem as it is."""
        if channel < 0:
            return self
        half, one = Half(self.half.background, (self.half.channels[channel],)), np.ones(1)
        return replace(self, merit="mean", half=half, weights=one, ceilings=one)

    def loss(self, efficiencies: FloatArray) -> FloatArray:
        """Return the loss, float64[…], from the efficiencies of the channels, float64[channels, …]."""
        shape = (-1, *[1] * (efficiencies.ndim - 1))
        weights, ceilings = self.weights.reshape(shape), self.ceilings.reshape(shape)
        if self.merit == "mean":
            mean: FloatArray = 1.0 - (weights * efficiencies).sum(axis=0)
            return mean
        lost = np.maximum(1.0 - efficiencies / ceilings, 0.0)
        loss: FloatArray = lost.max(axis=0) if self.merit == "worst" else (weights * lost**2).sum(axis=0)
        return loss

    def objective(self, rates: FloatArray, efficiencies: FloatArray) -> FloatArray:
        """Return the loss from rates float64[sets, …] and efficiencies float64[channels, …]; of a point that
        breaks limits, `INFEASIBLE` plus its relative excess, float64[…]."""
        excess = np.zeros(rates.shape[1:])
        for bound in self.bounds:
            rate = bound.rate(rates)
            if bound.high < np.inf:
                most = bound.high * (1.0 - MARGIN)
                excess += np.maximum(rate - most, 0.0) / max(bound.high, 1e-300)
            if bound.low > 0.0:
                least = bound.low * (1.0 + MARGIN)
                excess += np.maximum(least - rate, 0.0) / bound.low
        return np.where(excess > 0.0, INFEASIBLE + excess, self.loss(efficiencies))


class Evaluation:
    """A problem that is evaluated at points, along lines and in planes. evaluations: how often."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.evaluations, self._sizes = problem, 0, problem.sizes
        groups = (problem.half.background, *problem.half.channels)
        weights = [group.row_weight for group in groups]
        self._total = np.array([weight.sum() for weight in weights])
        self._group = np.repeat(np.arange(len(groups)), [len(weight) for weight in weights])
        self._level = np.ascontiguousarray(np.concatenate([group.level for group in groups]))
        self._base = np.ascontiguousarray(np.concatenate([group.base for group in groups]))
        # of each set, the weight that the fixed part does not accept; channels count for the menu alone
        background = weights[0] * problem.half.background.fixed
        channels = [w * g.fixed[0] for w, g in zip(weights[1:], problem.half.channels, strict=True)]
        self._weight = [np.concatenate([background[0], *channels]), *background[1:]]
        leaves = [component.leaves for component in problem.components]
        self._variable = np.concatenate([problem.columns, *leaves]).astype(np.int64)
        self._first = np.cumsum([len(problem.columns), *map(len, leaves)])

    def at(self, point: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates float64[sets] and the efficiencies float64[channels] at a point."""
        rates, efficiencies = self.plane(point)
        return rates[:, 0, 0], efficiencies[:, 0, 0]

    def objective(self, point: IntArray) -> float:
        """Return the objective of the problem at a point."""
        return float(self.problem.objective(*self.at(point)))

    def plane(self, point: IntArray, x: int = -1, y: int = -1) -> tuple[FloatArray, FloatArray]:
        """Evaluate all points that differ in the variables x and y, −1 for none. Returns rates float64[sets,
        kx, ky], efficiencies float64[channels, kx, ky]."""
        for axis, variable in ((1, x), (2, y)):
            if variable >= 0 and not self.problem.thresholds[variable]:  # one value after the other
                points = np.repeat(point[None], self._sizes[variable], axis=0)
                points[:, variable] = np.arange(self._sizes[variable])
                others = (-1, y) if axis == 1 else (x, -1)
                rates, efficiencies = zip(*(self.plane(other, *others) for other in points), strict=True)
                return np.concatenate(rates, axis=axis), np.concatenate(efficiencies, axis=axis)
        self.evaluations += 1
        # One table after the other; the first entry is 1, for events that every menu accepts.
        tables = [np.ones((len(self._weight), 1))]
        for part in self.problem.components:
            choice = np.ravel_multi_index(point[list(part.switches)], part.sizes) if part.switches else 0
            tables.append(part.values[choice])
        table, at = np.concatenate(tables, axis=1), np.append(point, 0)
        kx, ky = (int(self._sizes[variable]) if variable >= 0 else 1 for variable in (x, y))
        accepted = []
        for number, weight in enumerate(self._weight):
            total = self._total if number == 0 else self._total[:1]
            missed, member = np.zeros((len(total), kx + 1, ky + 1)), self.problem.member[number]
            moved = (self.problem.columns == x) | (self.problem.columns == y)
            least = np.where(member & ~moved, at[self.problem.columns], _NEVER).astype(np.uint8)
            _add_missed(
                missed,
                self._group,
                self._level,
                self._base,
                weight,
                table[number],
                self._variable,
                self._first,
                member & moved,
                least,
                at,
                x,
                y,
            )
            accepted.append(total[:, None, None] - missed[:, :kx, :ky].cumsum(axis=1).cumsum(axis=2))
        return np.array([parts[0] for parts in accepted]), accepted[0][1:]


@kernel
def _add_missed(
    missed: FloatArray,
    group: IntArray,
    level: Levels,
    base: IntArray,
    weight: FloatArray,
    table: FloatArray,
    variable: IntArray,
    first: IntArray,
    moved: BoolArray,
    least: Levels,
    at: IntArray,
    x: int,
    y: int,
) -> None:
    """Add the weight of rows that no trigger of a set accepts to the differences in x and in y of `missed`,
    float64[groups, kx + 1, ky + 1].

    group, level, base, weight: of each row (`Group`). table: float64[entries], those of all components.
    variable: int64[levels]; first: the first level of each component, and the end. moved, least: of each
    column, whether it is one of the set with the variable x or y, and else the level above which it accepts.
    at: the point, and room for a variable of −1.
    """
    kx, ky = missed.shape[1] - 1, missed.shape[2] - 1
    for row in range(len(weight)):
        accepted = weight[row] == 0.0
        for column in range(len(least)):  # without branches, many at a time
            accepted |= level[row, column] > least[column]
        if accepted:
            continue
        a = y_begins = 0
        for column in range(len(moved)):
            if moved[column] and variable[column] == x:
                a = max(a, level[row, column])
            elif moved[column]:
                y_begins = max(y_begins, level[row, column])
        while a < kx:
            after_a, b = _next_level(level, row, variable, first[0], x, a, kx), y_begins
            while b < ky:
                after_b = _next_level(level, row, variable, first[0], y, b, ky)
                at[x], at[y], value = a, b, weight[row]
                for component in range(len(first) - 1):
                    entry = base[row, component]
                    for leaf in range(first[component], first[component + 1]):
                        if level[row, leaf] > at[variable[leaf]]:
                            entry += 1 << (leaf - first[component])
                    value *= table[entry]
                missed[group[row], a, b] += value
                missed[group[row], after_a, b] -= value
                missed[group[row], a, after_b] -= value
                missed[group[row], after_a, after_b] += value
                b = after_b
            a = after_a


@inner
def _next_level(
    level: Levels, row: int, variable: IntArray, begin: int, moved: int, value: int, end: int
) -> int:
    """Return the next value of a variable at which a leaf changes its decision, or the end."""
    for leaf in range(begin, level.shape[1]):
        if variable[leaf] == moved and level[row, leaf] > value:
            end = min(end, level[row, leaf])
    return end
