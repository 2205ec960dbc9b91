"""The problem that is searched: the rate and the efficiencies of a menu as functions of a point, its limits,
and the figure of merit. It consists of arrays alone, so that any worker can have it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray

from .components import Tables
from .goals import Merit
from .kernels import Layout, missed_sums
from .rows import Group
from .variables import Bound, Order

#: What an infeasible point counts, more than any loss.
INFEASIBLE = 1e3
#: The relative margin below a cap, so that sums in another order stay below it.
MARGIN = 1e-9


@dataclass(frozen=True)
class Problem:
    """A menu as a function of a point: the index of the value of each variable."""

    values: tuple[FloatArray, ...]  # tuple of float64[k]: the values of each variable
    thresholds: tuple[bool, ...]  # Whether each variable is a threshold
    tables: Tables  # tables, layout: The components of the menu
    layout: Layout
    background: Group  # The events of the background, for all sets of triggers: the first is the menu
    channels: tuple[Group, ...]  # The events of each channel, with weights that add up to 1
    bounds: tuple[Bound, ...]  # The limits; the first is the cap on the rate of the menu
    orders: tuple[Order, ...]  # The ties
    merit: Merit  # The figure of merit
    weights: FloatArray  # float64[channels]: the weights of the channels, which add up to 1
    ceilings: FloatArray  # float64[channels]: the efficiency of each channel with all of the rate to itself

    @property
    def cap(self) -> float:
        """The cap on the rate of the menu, in Hz."""
        return self.bounds[0].high

    @property
    def sizes(self) -> IntArray:
        """The number of values of each variable."""
        return np.array([len(values) for values in self.values], np.int64)

    def with_cap(self, cap_hz: float) -> Problem:
        """Return the problem with another cap."""
        return replace(self, bounds=(replace(self.bounds[0], high=cap_hz), *self.bounds[1:]))

    def alone(self, channel: int) -> Problem:
        """Return the problem of the largest efficiency of one channel."""
        one = np.ones(1)
        only = (self.channels[channel],)
        return replace(self, merit="mean", channels=only, weights=one, ceilings=one)

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

    def excess(self, rates: FloatArray) -> FloatArray:
        """Return by how much limits are violated, relative to them, float64[…], from the rates of the sets,
        float64[sets, …]."""
        excess = np.zeros(rates.shape[1:])
        for bound in self.bounds:
            rate = rates[bound.of] - (rates[bound.without] if bound.without >= 0 else 0.0)
            if bound.high < np.inf:
                most = bound.high * (1.0 - MARGIN)
                excess += np.maximum(rate - most, 0.0) / max(bound.high, 1e-300)
            if bound.low > 0.0:
                least = bound.low * (1.0 + MARGIN)
                excess += np.maximum(least - rate, 0.0) / bound.low
        return excess

    def objective(self, rates: FloatArray, efficiencies: FloatArray) -> FloatArray:
        """Return the loss, or what an infeasible point counts, float64[…]."""
        excess = self.excess(rates)
        return np.where(excess > 0.0, INFEASIBLE + excess, self.loss(efficiencies))


class Evaluation:
    """A problem that is evaluated, with the memory of the kernels. evaluations: how often."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.evaluations = problem, 0
        self._groups = (problem.background, *problem.channels)
        self._covered = [np.zeros(len(group.row_weight), np.uint8) for group in self._groups]
        self._total = [group.row_weight.sum() for group in self._groups]
        leaves = problem.layout.leaf_variable.size + 2
        self._breaks = np.zeros((2, leaves), np.int64)
        self._sizes = problem.sizes

    def at(self, point: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates float64[sets] and the efficiencies float64[channels] at a point."""
        rates, efficiencies = self.plane(point)
        return rates[:, 0, 0], efficiencies[:, 0, 0]

    def objective(self, point: IntArray) -> float:
        """Return the loss at a point, or what an infeasible one counts."""
        return float(self.problem.objective(*self.at(point)))

    def rate(self, point: IntArray) -> float:
        """Return the rate of the menu at a point, in Hz."""
        return float(self._of_group(0, point, self.problem.tables.missed(point), -1, -1)[0, 0, 0])

    def plane(self, point: IntArray, x: int = -1, y: int = -1) -> tuple[FloatArray, FloatArray]:
        """Evaluate all points that differ in the variables x and y, −1 for none. Returns rates float64[sets,
        kx, ky], efficiencies float64[channels, kx, ky]."""
        for axis, variable in ((1, x), (2, y)):
            if variable >= 0 and not self.problem.thresholds[variable]:
                return self._at_each(point, x, y, axis, variable)
        self.evaluations += 1
        tables = self.problem.tables.missed(point)
        rates = self._of_group(0, point, tables, x, y)
        of_channels = [
            self._of_group(number, point, tables[:1], x, y)[0] for number in range(1, len(self._groups))
        ]
        return rates, np.array(of_channels)

    def _at_each(
        self, point: IntArray, x: int, y: int, axis: int, variable: int
    ) -> tuple[FloatArray, FloatArray]:
        """Evaluate a plane with a prescale or a switch as an axis, one value after the other."""
        points, parts = point.copy(), []
        others = (-1, y) if axis == 1 else (x, -1)
        for index in range(self._sizes[variable]):
            points[variable] = index
            parts.append(self.plane(points, *others))
        rates, efficiencies = zip(*parts, strict=True)
        return np.concatenate(rates, axis=axis), np.concatenate(efficiencies, axis=axis)

    def _of_group(self, number: int, point: IntArray, tables: FloatArray, x: int, y: int) -> FloatArray:
        kx, ky = (int(self._sizes[variable]) if variable >= 0 else 1 for variable in (x, y))
        sums = np.zeros((len(tables), kx + 1, ky + 1))
        group, layout = self._groups[number], self.problem.layout
        missed_sums(
            group.rows,
            group.row_weight,
            layout,
            point,
            tables,
            x,
            y,
            self._covered[number],
            self._breaks,
            sums,
        )
        accepted: FloatArray = self._total[number] - sums.cumsum(axis=1).cumsum(axis=2)[:, :kx, :ky]
        return accepted
