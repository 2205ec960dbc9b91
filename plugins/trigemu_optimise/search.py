"""The searches, as units of work for any engine: basin hopping with exhaustive moves, refits of replicas, and
sequences of caps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.fingerprint import digest_of_code, fingerprint
from trigemu.base.mapping import Work
from trigemu.base.splitmix import splitmix64

from .problem import INFEASIBLE, Evaluation, Problem
from .rows import Group, Parents, summed
from .variables import Order

#: The distribution function of Poisson's distribution of mean 1, up to 20.
_CUMULATED = np.cumsum(np.exp(-1.0) / np.cumprod(np.concatenate([[1.0], np.arange(1.0, 21.0)])))


def times(interaction: Parents, replica: int) -> FloatArray:
    """Return how often each interaction counts, from Poisson's distribution of mean 1. interaction:
    uint64[n]; returns float64[n]."""
    stream = splitmix64(np.array([replica + 1], np.uint64))
    uniform = (splitmix64(splitmix64(interaction) ^ stream) >> np.uint64(11)) * 2.0**-53
    return np.searchsorted(_CUMULATED, uniform, "right").astype(np.float64)


def of_replica(problem: Problem, replica: int) -> Problem:
    """Return the problem on the events of a replica."""
    return replace(
        problem,
        background=_weighted(problem.background, replica, False),
        channels=tuple(_weighted(group, replica, True) for group in problem.channels),
    )


def _weighted(group: Group, replica: int, normalised: bool) -> Group:
    weight = group.weight * times(group.interaction, replica)
    total = weight.sum()
    if normalised and total > 0:
        weight = weight / total
    return replace(group, weight=weight, row_weight=summed(group.row, weight, len(group.row_weight)))


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
    """Move in one and two variables until no move is better. start: int64[variables]; returns point
    int64[variables]."""
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
    what makes no difference stays as it was. point: int64[variables]; wanted: int64[variables]."""
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
            inside = (axes[number] >= ranges.low[variable]) & (axes[number] <= ranges.high[variable])
            mask &= inside[:, None] if number == 0 else inside[None, :]

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


#: Variables that a hop changes at random.
KICKED = 3


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    points: IntArray  # int64[m, variables]: the points: one, or one for each cap
    objectives: FloatArray  # float64[m]: their losses, or what infeasible points count
    evaluations: int  # How many points, lines and planes were evaluated


@dataclass(frozen=True)
class Unit:
    """Base class of units: each is as large as any other."""

    size: ClassVar[int] = 1
    pause: ClassVar[float] = 0.0

    @property
    def key(self) -> str:
        """Fingerprint of what the result depends on besides the problem."""
        return fingerprint(self)

    def run(self, evaluation: Evaluation) -> Found:
        """Return the result."""
        raise NotImplementedError


@dataclass(frozen=True)
class Hop(Unit):
    """Basin hopping from a random point: scipy's, with exhaustive moves as its minimiser."""

    seed: int  # The seed of the random numbers
    number: int  # The number of the start; start 0 is at the tightest point
    hops: int  # The number of hops
    channel: int = -1  # The only channel that counts, or −1

    def run(self, evaluation: Evaluation) -> Found:
        if self.channel >= 0:
            evaluation = Evaluation(evaluation.problem.alone(self.channel))
        rng = np.random.default_rng([self.seed, self.number, self.channel + 1])
        sizes = evaluation.problem.sizes
        start = sizes - 1 if self.number == 0 else rng.integers(0, sizes)
        point, objective = hopped(evaluation, start, rng, self.hops)
        return Found(point[None, :], np.array([objective]), evaluation.evaluations)


def hopped(
    evaluation: Evaluation, start: IntArray, rng: np.random.Generator, hops: int
) -> tuple[IntArray, float]:
    """Return the best point of basin hopping from a start, and its objective."""
    from scipy.optimize import OptimizeResult, basinhopping

    problem = evaluation.problem
    sizes = problem.sizes

    def nearest(x: FloatArray) -> IntArray:
        return obey(problem.orders, problem.values, np.rint(x).astype(np.int64))

    def minimise(function: Any, x0: FloatArray, args: Any, **options: Any) -> OptimizeResult:
        order = rng.permutation(len(sizes)).tolist()
        point, value = improve(evaluation, nearest(x0), order=order)
        return OptimizeResult(x=point.astype(np.float64), fun=value, success=True, nfev=1, njev=0, nhev=0)

    def kicked(x: FloatArray) -> FloatArray:
        kicked = x.copy()
        chosen = rng.choice(len(sizes), min(KICKED, len(sizes)), replace=False)
        kicked[chosen] = rng.integers(0, sizes)[chosen]
        return kicked

    found = basinhopping(
        lambda x: evaluation.objective(nearest(x)),
        start.astype(np.float64),
        niter=hops,
        T=0.0,  # only a better point is accepted
        minimizer_kwargs={"method": minimise},
        take_step=kicked,
    )
    point = nearest(found.x)
    return point, evaluation.objective(point)


@dataclass(frozen=True)
class Front(Unit):
    """The best points at several caps, each found from that at the cap before."""

    caps: tuple[float, ...]  # The caps in Hz, one after the other
    start: tuple[int, ...]  # The best point at the cap of the problem
    # Whether thresholds and prescales may only fall as the cap rises, and only rise as it falls.
    one_way: bool

    def run(self, evaluation: Evaluation) -> Found:
        problem, points, objectives, done = evaluation.problem, [], [], 0
        point, cap = np.array(self.start, np.int64), problem.cap
        for next_ in self.caps:
            capped = Evaluation(problem.with_cap(next_))
            ranges = Ranges(problem.sizes)
            if self.one_way and next_ >= cap:
                ranges = Ranges(problem.sizes, high=point)
            elif self.one_way:
                ranges = Ranges(problem.sizes, low=point)
            starts = [point] if next_ >= cap else [point, problem.sizes - 1]
            found = [improve(capped, start, ranges) for start in starts]
            point, objective = min(found, key=lambda pair: pair[1])
            points.append(point)
            objectives.append(objective)
            cap, done = next_, done + capped.evaluations
        return Found(np.array(points), np.array(objectives), done)


@dataclass(frozen=True)
class Refit(Unit):
    """A search from the best point on the events of one replica of the bootstrap, with one hop."""

    replica: int  # Its number
    start: tuple[int, ...]  # The best point

    def run(self, evaluation: Evaluation) -> Found:
        resampled = Evaluation(of_replica(evaluation.problem, self.replica))
        rng = np.random.default_rng([self.replica])
        point, objective = hopped(resampled, np.array(self.start, np.int64), rng, 1)
        return Found(point[None, :], np.array([objective]), resampled.evaluations)


class Searches(Work[Unit, Found]):
    """Searches of one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @cached_property
    def key(self) -> str:  # type: ignore[override]
        return fingerprint(digest_of_code(), self.problem)

    def __call__(self, unit: Unit) -> Found:
        return unit.run(Evaluation(self.problem))


def best_of(found: Sequence[Found]) -> Found:
    """Return the search with the lowest objective, the first of equal ones."""
    return min(found, key=lambda result: float(result.objectives[0]))


def with_ceilings(problem: Problem, ceilings: FloatArray) -> Problem:
    """Return the problem with the efficiencies of the channels alone."""
    return replace(problem, ceilings=ceilings)


Report = Callable[[str], None]
