"""The problem that is searched: the rate and the efficiencies of a menu as functions of a point, its limits,
and the figure of merit. It consists of arrays alone, so that any worker can have it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray

from .goals import Merit, loss_of
from .rows import Group, Half, Tabulated
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
    columns: IntArray  # int64[columns]: the variables of the triggers that accept whenever they fire
    member: BoolArray  # bool[sets, columns]: whether each of these triggers is in a set
    components: tuple[Tabulated, ...]  # All others that vary
    background: Group  # The events of the background, for all sets of triggers: the first is the menu
    channels: tuple[Group, ...]  # The events of each channel, with weights that add up to 1
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

    def on(self, half: Half) -> Problem:
        """Return the problem on the events of a half."""
        return replace(self, background=half.background, channels=half.channels)

    def alone(self, channel: int) -> Problem:
        """Return the problem of the largest efficiency of one channel."""
        one = np.ones(1)
        only = (self.channels[channel],)
        return replace(self, merit="mean", channels=only, weights=one, ceilings=one)

    def loss(self, efficiencies: FloatArray) -> FloatArray:
        """Return the loss, float64[…], from the efficiencies of the channels, float64[channels, …]."""
        return loss_of(self.merit, self.weights, self.ceilings, efficiencies)

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
    """A problem that is evaluated at points, along lines and in planes; what depends on the point is kept: a
    search looks at many planes through it. evaluations: how often."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.evaluations = problem, 0
        groups = (problem.background, *problem.channels)
        weights = [group.row_weight for group in groups]
        self._sizes = problem.sizes
        self._group = np.repeat(np.arange(len(groups)), [len(weight) for weight in weights])
        self._level = np.concatenate([group.level for group in groups], axis=1)
        self._base = np.concatenate([group.base for group in groups], axis=1)
        self._total = np.array([weight.sum() for weight in weights])
        # of each set, the weight that the fixed part does not accept; channels count for the menu alone
        background = weights[0] * problem.background.fixed
        of_channels = [w * g.fixed[0] for w, g in zip(weights[1:], problem.channels, strict=True)]
        self._weight = [np.concatenate([background[0], *of_channels]), *background[1:]]
        self._fired = np.empty(self._level.shape, np.bool_)
        variables, self._leaves = problem.columns.tolist(), []  # of each component: (row of levels, variable)
        for component in problem.components:
            self._leaves.append([(len(variables) + bit, v) for bit, v in enumerate(component.leaves)])
            variables += component.leaves
        self._variable = np.array(variables, np.int64)
        self._point = np.full(len(problem.values), -1)

    def at(self, point: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates float64[sets] and the efficiencies float64[channels] at a point."""
        rates, efficiencies = self.plane(point)
        return rates[:, 0, 0], efficiencies[:, 0, 0]

    def objective(self, point: IntArray) -> float:
        """Return the objective of the problem at a point."""
        return float(self.problem.objective(*self.at(point)))

    def rate(self, point: IntArray) -> float:
        """Return the rate of the menu at a point, in Hz."""
        return float(self.at(point)[0][0])

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
        if not np.array_equal(point, self._point):
            self._point = point.copy()
            np.greater(self._level, point.astype(np.uint8)[self._variable, None], out=self._fired)
            # One table after the other; the first entry is 1, for events that every menu accepts.
            tables = [np.ones((len(self._weight), 1))]
            for part in self.problem.components:
                switches = point[list(part.switches)]
                tables.append(part.values[np.ravel_multi_index(switches, part.sizes) if part.switches else 0])
            self._tables = np.concatenate(tables, axis=1)
            self._products: dict[tuple[int, tuple[int, ...]], FloatArray] = {}
        missed = [self._missed(set_, x, y) for set_ in range(len(self._weight))]
        accepted = [self._total[: len(sums), None, None] - sums for sums in missed]
        return np.array([parts[0] for parts in accepted]), accepted[0][1:]

    def _product(self, set_: int, without: tuple[int, ...]) -> FloatArray:
        """Return the weight of each row that no fixed part accepts, and no component but some."""
        if (set_, without) not in self._products:
            product = self._weight[set_].copy()
            for number, leaves in enumerate(self._leaves):
                if number not in without:
                    index = self._base[number, : len(product)]
                    for bit, (row, _) in enumerate(leaves):
                        index = index + (self._fired[row, : len(product)].astype(np.int64) << bit)
                    product *= self._tables[set_, index]
            self._products[set_, without] = product
        return self._products[set_, without]

    def _missed(self, set_: int, x: int, y: int) -> FloatArray:
        """Return the weight of each group that no trigger of a set accepts, float64[groups, kx, ky], from the
        differences of step functions of both variables."""
        columns, member = self.problem.columns, self.problem.member[set_]
        depend = tuple(
            n for n, part in enumerate(self.problem.components) if not {x, y}.isdisjoint(part.leaves)
        )
        product = self._product(set_, depend)
        accepted = np.zeros(len(product), np.bool_)
        for column in np.flatnonzero(member & (columns != x) & (columns != y)):
            accepted |= self._fired[column, : len(product)]
        rows = np.flatnonzero(~accepted)
        value, edges = product[rows], []  # edges: where the value of a row changes, ascending
        for variable in (x, y):
            first = np.zeros(1, np.int64)
            for column in np.flatnonzero(member & (columns == variable)):
                first = np.maximum(first, self._level[column, rows])
            leaves = [row for n in depend for row, leaf in self._leaves[n] if leaf == variable]
            later = [np.maximum(first, self._level[row, rows]) for row in leaves]
            edges.append(np.array([np.broadcast_to(first, rows.shape), *later]))
            if len(later) > 1:
                edges[-1][1:].sort(axis=0)
        at_x, at_y = edges[0][:, None], edges[1][None]
        if depend:
            for number in depend:
                index = self._base[number, rows]
                for bit, (row, variable) in enumerate(self._leaves[number]):
                    at = at_x if variable == x else at_y if variable == y else self._point[variable]
                    index = index + ((self._level[row, rows] > at).astype(np.int64) << bit)
                value = value * self._tables[set_, index]
            value = np.broadcast_to(value, (len(at_x), at_y.shape[1], len(rows))).copy()
            value[1:] -= value[:-1]
            value[:, 1:] -= value[:, :-1]
        groups = len(self._total) if set_ == 0 else 1
        kx, ky = (int(self._sizes[variable]) if variable >= 0 else 1 for variable in (x, y))
        place = (self._group[rows] * (kx + 1) + at_x) * (ky + 1) + at_y
        sums = np.bincount(place.ravel(), value.ravel(), groups * (kx + 1) * (ky + 1))
        return sums.reshape(groups, kx + 1, ky + 1)[:, :kx, :ky].cumsum(axis=1).cumsum(axis=2)
