"""The searches, as units of work for any engine: basin hopping with exhaustive moves, refits of replicas, and
sequences of caps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, splitmix64
from trigemu.base.checkpoint import digest_of_code, fingerprint
from trigemu.base.mapping import Work

from .problem import INFEASIBLE, Evaluation, Problem
from .rows import Group, Half

#: The least gain of a move, which rounding does not imitate.
GAIN = 1e-10
#: Variables that a hop changes at random.
KICKED = 3
#: The distribution function of Poisson's distribution of mean 1, up to 20.
_CUMULATED = np.cumsum(np.exp(-1.0) / np.cumprod(np.concatenate([[1.0], np.arange(1.0, 21.0)])))


def improve(
    evaluation: Evaluation, start: IntArray, order: Sequence[int] | None = None
) -> tuple[IntArray, float]:
    """Move in one and two variables until no move is better, from and to a point int64[variables]. order: of
    the variables."""
    problem, point = evaluation.problem, start.copy()
    variables = [v for v in (order or range(len(start))) if problem.sizes[v] > 1]
    best = 2 * INFEASIBLE if broken(problem, point) else evaluation.objective(point)
    moves = [(x, -1) for x in variables]
    moves += [(x, y) for i, x in enumerate(variables) for y in variables[:i]]
    since = number = 0
    while since < len(moves):
        x, y = moves[number % len(moves)]
        number, since = number + 1, since + 1
        objective = problem.objective(*evaluation.plane(point, x, y))
        objective[~allowed(problem, point, x, y)] = np.inf
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


def allowed(problem: Problem, point: IntArray, x: int, y: int = -1) -> BoolArray:
    """Return which points of a plane obey the ties, bool[kx, ky]."""
    kx, ky = (int(problem.sizes[v]) if v >= 0 else 1 for v in (x, y))
    index = {x: np.arange(kx)[:, None], y: np.arange(ky)[None]}
    mask: BoolArray = np.ones((kx, ky), np.bool_)
    for lower, higher, by in problem.orders:
        if {lower, higher} & {x, y}:
            least = problem.values[lower][index.get(lower, point[lower])] + by
            mask &= problem.values[higher][index.get(higher, point[higher])] >= least
    return mask


def broken(problem: Problem, point: IntArray) -> bool:
    """Return whether a point breaks a tie."""
    value = [values[index] for values, index in zip(problem.values, point, strict=True)]
    return any(value[higher] < value[lower] + by for lower, higher, by in problem.orders)


def obey(problem: Problem, point: IntArray) -> IntArray:
    """Return a point that obeys the ties, with higher thresholds where it does not."""
    point, values = point.copy(), problem.values
    for lower, higher, by in problem.orders * len(problem.orders):
        least = values[lower][point[lower]] + by
        index = int(np.searchsorted(values[higher], least - 1e-12 * max(1.0, abs(least))))
        point[higher] = max(point[higher], min(index, len(values[higher]) - 1))
    return point


def of_replica(problem: Problem, replica: int) -> Problem:
    """Return the problem on the events of a replica of the bootstrap: each interaction counts as often as
    Poisson's distribution of mean 1 says."""
    stream = splitmix64(np.array([replica + 1], np.uint64))

    def weighted(group: Group, normalised: bool) -> Group:
        uniform = (splitmix64(splitmix64(group.interaction) ^ stream) >> np.uint64(11)) * 2.0**-53
        weight = group.weight * np.searchsorted(_CUMULATED, uniform, "right").astype(np.float64)
        total = weight.sum()
        return replace(group, weight=weight / total if normalised and total > 0 else weight)

    channels = tuple(weighted(group, True) for group in problem.half.channels)
    return replace(problem, half=Half(weighted(problem.half.background, False), channels))


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    points: IntArray  # int64[m, variables]: one point, or those at each cap
    objectives: FloatArray  # float64[m]: their objectives
    evaluations: int  # How many points, lines and planes were evaluated


def best_of(found: Sequence[Found]) -> Found:
    """Return the search with the lowest objective, the first of equal ones."""
    return min(found, key=lambda result: float(result.objectives[0]))


def hopped(problem: Problem, start: IntArray, rng: np.random.Generator, hops: int) -> Found:
    """Return the best point of basin hopping: random values of some variables of the best point so far, then
    moves until none is better."""
    evaluation, sizes, found = Evaluation(problem), problem.sizes, [(start, np.inf)]
    for hop in range(hops + 1):
        point = found[-1][0].copy()
        if hop:
            kicked = rng.choice(len(sizes), min(KICKED, len(sizes)), replace=False)
            point[kicked] = rng.integers(0, sizes)[kicked]
        order = rng.permutation(len(sizes)).tolist()
        point, objective = improve(evaluation, obey(problem, point), order)
        if objective <= found[-1][1]:
            found.append((point, objective))
    point, _ = min(found, key=itemgetter(1))
    return Found(point[None, :], np.array([evaluation.objective(point)]), evaluation.evaluations)


def hop(problem: Problem, seed: int, number: int, hops: int, channel: int = -1) -> Found:
    """Search by basin hopping from a random point, or, with number 0, from the tightest one. channel: the
    only one that counts, or −1."""
    rng = np.random.default_rng([seed, number, channel + 1])
    start = problem.sizes - 1 if number == 0 else rng.integers(0, problem.sizes)
    return hopped(problem.alone(channel), start, rng, hops)


def refit(problem: Problem, replica: int, start: tuple[int, ...]) -> Found:
    """Search from the best point on the events of one replica, with one hop."""
    rng = np.random.default_rng([replica])
    return hopped(of_replica(problem, replica), np.array(start, np.int64), rng, 1)


def front(problem: Problem, caps: Sequence[float], start: tuple[int, ...], channel: int = -1) -> Found:
    """Find the best points at several caps in Hz, each from the one at the cap before. start: the best point
    at the cap of the problem."""
    problem, point = problem.alone(channel), np.array(start, np.int64)
    points, objectives, done = [], [], 0
    for cap in caps:
        bounds = (problem.bounds[0]._replace(high=cap), *problem.bounds[1:])
        evaluation = Evaluation(replace(problem, bounds=bounds))
        starts = [point] if cap >= problem.cap else [point, problem.sizes - 1]
        best, _ = min((improve(evaluation, each) for each in starts), key=itemgetter(1))
        point = towards(evaluation, best, point)
        points.append(point)
        objectives.append(evaluation.objective(point))
        done += evaluation.evaluations
    return Found(np.array(points), np.array(objectives), done)


#: One of these searches, with all but the problem.
Unit = partial[Found]


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
        return unit(self.problem)
