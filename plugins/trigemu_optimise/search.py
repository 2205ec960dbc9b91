"""The searches, as units of work for any engine: basin hopping with exhaustive moves, refits of replicas, and
sequences of caps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, splitmix64
from trigemu.base.checkpoint import digest_of_code, fingerprint
from trigemu.base.mapping import Work

from .problem import INFEASIBLE, Evaluation, Problem
from .rows import Group, Parents

#: The lowest and the highest index that moves may reach, int64[variables] each.
Ends = tuple[IntArray, IntArray]
#: The least gain of a move, which rounding does not imitate.
GAIN = 1e-10
#: Variables that a hop changes at random.
KICKED = 3
#: The distribution function of Poisson's distribution of mean 1, up to 20.
_CUMULATED = np.cumsum(np.exp(-1.0) / np.cumprod(np.concatenate([[1.0], np.arange(1.0, 21.0)])))


def improve(
    evaluation: Evaluation, start: IntArray, ends: Ends | None = None, order: Sequence[int] | None = None
) -> tuple[IntArray, float]:
    """Move in one and two variables until no move is better, from and to a point int64[variables]."""
    problem = evaluation.problem
    low, high = ends or (0 * start, problem.sizes - 1)
    variables = [v for v in (order or range(len(start))) if low[v] < high[v]]
    point = start.copy()
    best = 2 * INFEASIBLE if broken(problem, point) else evaluation.objective(point)
    moves = [(x, -1) for x in variables]
    moves += [(x, y) for i, x in enumerate(variables) for y in variables[:i]]
    since = at = 0
    while since < len(moves):
        x, y = moves[at % len(moves)]
        at, since = at + 1, since + 1
        objective = problem.objective(*evaluation.plane(point, x, y))
        objective[~allowed(problem, point, x, y, ends)] = np.inf
        kx, ky = np.unravel_index(int(objective.argmin()), objective.shape)
        if objective[kx, ky] < best - GAIN:
            best, since = float(objective[kx, ky]), 0
            point[x] = kx
            if y >= 0:
                point[y] = ky
    return point, best


def towards(evaluation: Evaluation, point: IntArray, wanted: IntArray) -> IntArray:
    """Return a point as good as another one, with each variable as near to a wanted index as that allows."""
    problem, point = evaluation.problem, point.copy()
    best = evaluation.objective(point)
    for variable in range(len(point)):
        objective = problem.objective(*evaluation.plane(point, variable))
        fine = (objective <= best + GAIN) & allowed(problem, point, variable)
        equal = np.flatnonzero(fine[:, 0])
        if len(equal):
            point[variable] = equal[np.abs(equal - wanted[variable]).argmin()]
    return point


def allowed(problem: Problem, point: IntArray, x: int, y: int = -1, ends: Ends | None = None) -> BoolArray:
    """Return which points of a plane are within the ends and obey the ties, bool[kx, ky]."""
    low, high = ends or (0 * point, problem.sizes - 1)
    index = [np.arange(problem.sizes[v]) if v >= 0 else np.zeros(1, np.int64) for v in (x, y)]
    of_x, of_y = (
        (i >= low[v]) & (i <= high[v]) if v >= 0 else i == 0 for i, v in zip(index, (x, y), strict=True)
    )
    mask: BoolArray = of_x[:, None] & of_y

    def value(variable: int) -> FloatArray:
        values = problem.values[variable]
        at = index[0][:, None] if variable == x else index[1] if variable == y else point[variable]
        return np.asarray(values[at])

    for tie in problem.orders:
        if {tie.lower, tie.higher} & {x, y}:
            mask &= value(tie.higher) >= value(tie.lower) + tie.by
    return mask


def broken(problem: Problem, point: IntArray) -> bool:
    """Return whether a point breaks a tie."""
    value = [values[index] for values, index in zip(problem.values, point, strict=True)]
    return any(value[tie.higher] < value[tie.lower] + tie.by for tie in problem.orders)


def obey(problem: Problem, point: IntArray) -> IntArray:
    """Return a point that obeys the ties, with higher thresholds where it does not."""
    point, values = point.copy(), problem.values
    for _ in problem.orders:
        for tie in problem.orders:
            least = values[tie.lower][point[tie.lower]] + tie.by
            index = int(np.searchsorted(values[tie.higher], least - 1e-12 * max(1.0, abs(least))))
            point[tie.higher] = max(point[tie.higher], min(index, len(values[tie.higher]) - 1))
    return point


def times(interaction: Parents, replica: int) -> FloatArray:
    """Return how often each interaction counts, float64[n], from Poisson's distribution of mean 1."""
    stream = splitmix64(np.array([replica + 1], np.uint64))
    uniform = (splitmix64(splitmix64(interaction) ^ stream) >> np.uint64(11)) * 2.0**-53
    return np.searchsorted(_CUMULATED, uniform, "right").astype(np.float64)


def of_replica(problem: Problem, replica: int) -> Problem:
    """Return the problem on the events of a replica of the bootstrap."""

    def weighted(group: Group, normalised: bool) -> Group:
        weight = group.weight * times(group.interaction, replica)
        total = weight.sum()
        return replace(group, weight=weight / total if normalised and total > 0 else weight)

    channels = tuple(weighted(group, True) for group in problem.channels)
    return replace(problem, background=weighted(problem.background, False), channels=channels)


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    points: IntArray  # int64[m, variables]: one point, or those at each cap
    objectives: FloatArray  # float64[m]: their objectives
    evaluations: int  # How many points, lines and planes were evaluated


def hopped(evaluation: Evaluation, start: IntArray, rng: np.random.Generator, hops: int) -> Found:
    """Return the best point of scipy's basin hopping, with exhaustive moves as its minimiser."""
    from scipy.optimize import OptimizeResult, basinhopping

    problem = evaluation.problem
    sizes = problem.sizes

    def nearest(x: FloatArray) -> IntArray:
        return obey(problem, np.rint(x).astype(np.int64))

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
    objective = np.array([evaluation.objective(point)])
    return Found(point[None, :], objective, evaluation.evaluations)


@dataclass(frozen=True)
class Unit:
    """Base class of units."""

    def run(self, problem: Problem) -> Found:
        """Return the result."""
        raise NotImplementedError


@dataclass(frozen=True)
class Hop(Unit):
    """Basin hopping from a random point."""

    seed: int  # The seed of the random numbers
    number: int  # The number of the start; start 0 is at the tightest point
    hops: int  # The number of hops
    channel: int = -1  # The only channel that counts, or −1

    def run(self, problem: Problem) -> Found:
        evaluation = Evaluation(problem if self.channel < 0 else problem.alone(self.channel))
        rng = np.random.default_rng([self.seed, self.number, self.channel + 1])
        sizes = problem.sizes
        start = sizes - 1 if self.number == 0 else rng.integers(0, sizes)
        return hopped(evaluation, start, rng, self.hops)


@dataclass(frozen=True)
class Refit(Unit):
    """A search from the best point on the events of one replica, with one hop."""

    replica: int  # Its number
    start: tuple[int, ...]  # The best point

    def run(self, problem: Problem) -> Found:
        evaluation = Evaluation(of_replica(problem, self.replica))
        rng = np.random.default_rng([self.replica])
        return hopped(evaluation, np.array(self.start, np.int64), rng, 1)


@dataclass(frozen=True)
class Front(Unit):
    """The best points at several caps, each found from those at the cap before; then those that are reached
    if values may only fall as the cap rises, and only rise as it falls."""

    caps: tuple[float, ...]  # The caps in Hz, one after the other
    start: tuple[int, ...]  # The best point at the cap of the problem
    channel: int = -1  # The only channel that counts, or −1

    def run(self, problem: Problem) -> Found:
        problem = problem if self.channel < 0 else problem.alone(self.channel)
        point = one_way = np.array(self.start, np.int64)
        free, restricted, done, tightest = [], [], 0, problem.sizes - 1
        for cap in self.caps:
            bounds = (replace(problem.bounds[0], high=cap), *problem.bounds[1:])
            rises, evaluation = cap >= problem.cap, Evaluation(replace(problem, bounds=bounds))
            ends = (0 * point, one_way) if rises else (one_way, tightest)
            restricted.append(improve(evaluation, one_way, ends))
            starts = [point] if rises else [point, tightest]
            found = [*(improve(evaluation, start) for start in starts), restricted[-1]]
            best, _ = min(found, key=itemgetter(1))
            point, one_way = towards(evaluation, best, point), restricted[-1][0]
            free.append((point, evaluation.objective(point)))
            done += evaluation.evaluations
        points, objectives = zip(*free, *restricted, strict=True)
        return Found(np.array(points), np.array(objectives), done)


class Searches(Work[Unit, Found]):
    """Searches of one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @cached_property
    def _definition(self) -> str:
        return fingerprint(digest_of_code(), self.problem)

    def key(self, unit: Unit) -> str:
        return fingerprint(self._definition, unit)

    def __call__(self, unit: Unit) -> Found:
        return unit.run(self.problem)


def best_of(found: Sequence[Found]) -> Found:
    """Return the search with the lowest objective, the first of equal ones."""
    return min(found, key=lambda result: float(result.objectives[0]))
