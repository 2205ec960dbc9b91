"""Exhaustive moves: the best point among all that differ in one or two variables, until none is better.

A plane of two variables costs little more than a point (`kernels.py`), and exchanging the rate of two
triggers needs two: a point at the cap has no better neighbour in one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trigemu.api import BoolArray, IntArray

from .limits import Order
from .problem import INFEASIBLE, Evaluation

#: The least gain of a move, which rounding does not imitate.
GAIN = 1e-10


class Ranges:
    """The points that moves may reach: a range of each variable, and the ties.

    Parameters
    ----------
    sizes : int64[variables]
        The number of values of each variable.
    low, high : int64[variables], optional
        The lowest and highest index; by default all.
    """

    def __init__(self, sizes: IntArray, low: IntArray | None = None, high: IntArray | None = None) -> None:
        self.low = np.zeros_like(sizes) if low is None else np.maximum(low, 0)
        self.high = sizes - 1 if high is None else np.minimum(high, sizes - 1)

    def within(self, point: IntArray) -> IntArray:
        """Return the nearest point within the ranges."""
        return np.minimum(np.maximum(point, self.low), self.high)


def improve(
    evaluation: Evaluation,
    start: IntArray,
    ranges: Ranges | None = None,
    order: Sequence[int] | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[IntArray, float]:
    """Move in one and two variables until no move is better.

    Parameters
    ----------
    evaluation : Evaluation
        The problem.
    start : int64[variables]
        Where to start; it may be infeasible.
    ranges : Ranges, optional
        The points that may be reached.
    order : sequence of int, optional
        The order of the variables in which moves are tried.
    expired : callable
        Whether to stop.

    Returns
    -------
    point : int64[variables]
        The best point.
    objective : float
        Its loss, or what an infeasible point counts.
    """
    sizes = evaluation.problem.sizes
    ranges = ranges or Ranges(sizes)
    variables = [v for v in (order or range(len(sizes))) if ranges.low[v] < ranges.high[v]]
    point, best = start.copy(), _objective(evaluation, start)
    moves = [(x, -1) for x in variables]
    moves += [(x, y) for i, x in enumerate(variables) for y in variables[:i]]
    since = at = 0
    while since < len(moves) and not expired():
        x, y = moves[at % len(moves)]
        at, since = at + 1, since + 1
        objective = evaluation.problem.objective(*evaluation.plane(point, x, y))
        objective[~allowed(evaluation, point, ranges, x, y)] = np.inf
        kx, ky = np.unravel_index(int(objective.argmin()), objective.shape)
        if objective[kx, ky] < best - GAIN:
            best, since = float(objective[kx, ky]), 0
            point[x] = kx
            if y >= 0:
                point[y] = ky
    return point, best


def towards(evaluation: Evaluation, point: IntArray, wanted: IntArray) -> IntArray:
    """Return a point as good as another one, with each variable as near to a wanted value as that allows:
    what makes no difference stays as it was.

    Parameters
    ----------
    evaluation : Evaluation
        The problem.
    point : int64[variables]
        The best point.
    wanted : int64[variables]
        The wanted indices.
    """
    point, ranges = point.copy(), Ranges(evaluation.problem.sizes)
    best = evaluation.objective(point)
    for variable in range(len(point)):
        objective = evaluation.problem.objective(*evaluation.plane(point, variable))
        fine = (objective <= best + GAIN) & allowed(evaluation, point, ranges, variable, -1)
        equal = np.flatnonzero(fine[:, 0])
        if len(equal):
            point[variable] = equal[np.abs(equal - wanted[variable]).argmin()]
    return point


def allowed(evaluation: Evaluation, point: IntArray, ranges: Ranges, x: int, y: int) -> BoolArray:
    """Return which points of a plane are within the ranges and obey the ties, bool[kx, ky]."""
    problem = evaluation.problem
    axes = [np.array([point[v]]) if v < 0 else np.arange(problem.sizes[v]) for v in (x, y)]
    mask = np.ones((len(axes[0]), len(axes[1])), np.bool_)
    for number, variable in enumerate((x, y)):
        if variable >= 0:
            own = (axes[number] >= ranges.low[variable]) & (axes[number] <= ranges.high[variable])
            mask &= own[:, None] if number == 0 else own[None, :]

    def value(variable: int) -> np.ndarray:
        if variable == x:
            return problem.values[x][:, None]
        return problem.values[y][None, :] if variable == y else problem.values[variable][point[variable]]

    for tie in problem.orders:
        if {tie.lower, tie.higher} & {x, y}:
            mask &= value(tie.higher) >= value(tie.lower) + tie.by
    return mask


def obey(orders: Sequence[Order], values: Sequence[np.ndarray], point: IntArray) -> IntArray:
    """Return a point that obeys the ties, with higher thresholds where it does not."""
    point = point.copy()
    for _ in orders:
        for tie in orders:
            least = values[tie.lower][point[tie.lower]] + tie.by
            index = int(np.searchsorted(values[tie.higher], least - 1e-12 * max(1.0, abs(least))))
            point[tie.higher] = max(point[tie.higher], min(index, len(values[tie.higher]) - 1))
    return point


def broken(evaluation: Evaluation, point: IntArray) -> bool:
    """Return whether a point breaks a tie."""
    problem = evaluation.problem
    return any(
        problem.values[tie.higher][point[tie.higher]] < problem.values[tie.lower][point[tie.lower]] + tie.by
        for tie in problem.orders
    )


def _objective(evaluation: Evaluation, point: IntArray) -> float:
    return 2 * INFEASIBLE if broken(evaluation, point) else evaluation.objective(point)
