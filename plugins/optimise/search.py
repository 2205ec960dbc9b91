"""The searches, as units of work for any engine: basin hopping, refits of replicas, and sequences of caps."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from trigemu.api import FloatArray, IntArray, TrigemuError, digest_of_code, fingerprint

from .moves import Ranges, improve, obey
from .problem import Evaluation, Problem
from .replicas import of_replica

#: Variables that a hop changes at random.
KICKED = 3


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes
    ----------
    points : int64[m, variables]
        The points: one, or one for each cap.
    objectives : float64[m]
        Their losses, or what infeasible points count.
    evaluations : int
        How many points, lines and planes were evaluated.
    """

    points: IntArray
    objectives: FloatArray
    evaluations: int


@dataclass(frozen=True)
class Unit:
    """Base class of units: each is as large as any other."""

    size: ClassVar[int] = 1
    pause: ClassVar[float] = 0.0
    continues: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """Fingerprint of what the result depends on besides the problem."""
        return fingerprint(self)

    def run(self, evaluation: Evaluation) -> Found:
        """Return the result."""
        raise NotImplementedError


@dataclass(frozen=True)
class Hop(Unit):
    """Basin hopping from a random point: scipy's, with exhaustive moves as its minimiser.

    Attributes
    ----------
    seed : int
        The seed of the random numbers.
    number : int
        The number of the start; start 0 is at the tightest point.
    hops : int
        The number of hops.
    channel : int
        The only channel that counts, or −1.
    """

    seed: int
    number: int
    hops: int
    channel: int = -1

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
    """The best points at several caps, each found from that at the cap before.

    Attributes
    ----------
    caps : tuple of float
        The caps in Hz, one after the other.
    start : tuple of int
        The best point at the cap of the problem.
    one_way : bool
        Whether thresholds and prescales may only fall as the cap rises, and only rise as it falls.
    """

    caps: tuple[float, ...]
    start: tuple[int, ...]
    one_way: bool

    def run(self, evaluation: Evaluation) -> Found:
        problem, points, objectives, done = evaluation.problem, [], [], 0
        point, cap = np.array(self.start, np.int64), problem.cap
        for next_ in self.caps:
            own = Evaluation(problem.with_cap(next_))
            ranges = Ranges(problem.sizes)
            if self.one_way and next_ >= cap:
                ranges = Ranges(problem.sizes, high=point)
            elif self.one_way:
                ranges = Ranges(problem.sizes, low=point)
            starts = [point] if next_ >= cap else [point, problem.sizes - 1]
            found = [improve(own, start, ranges) for start in starts]
            point, objective = min(found, key=lambda pair: pair[1])
            points.append(point)
            objectives.append(objective)
            cap, done = next_, done + own.evaluations
        return Found(np.array(points), np.array(objectives), done)


@dataclass(frozen=True)
class Refit(Unit):
    """A search from the best point on the events of one replica of the bootstrap, with one hop.

    Attributes
    ----------
    replica : int
        Its number.
    start : tuple of int
        The best point.
    """

    replica: int
    start: tuple[int, ...]

    def run(self, evaluation: Evaluation) -> Found:
        own = Evaluation(of_replica(evaluation.problem, self.replica))
        rng = np.random.default_rng([self.replica])
        point, objective = hopped(own, np.array(self.start, np.int64), rng, 1)
        return Found(point[None, :], np.array([objective]), own.evaluations)


@dataclass(frozen=True)
class Searches:
    """The work of an engine: searches of one problem."""

    problem: Problem
    about: ClassVar[str] = "search of the best menu"
    classes: ClassVar[tuple[type, ...]] = (Found,)

    @property
    def key(self) -> str:
        return fingerprint(digest_of_code(), self.problem)

    def each(self, units: Sequence[Unit]) -> Iterator[tuple[Found, ...]]:
        for unit in units:
            yield (unit.run(Evaluation(self.problem)),)

    def merge(self, parts: Sequence[tuple[Found, ...]]) -> tuple[Found, ...]:
        return tuple(found for part in parts for found in part)

    def check(self, units: Sequence[Unit], part: Any) -> None:
        sizes = self.problem.sizes
        if not isinstance(part, tuple) or len(part) != len(units):
            raise TrigemuError("it does not have a result for each search")
        for found in part:
            points = getattr(found, "points", None)
            fits = (
                isinstance(points, np.ndarray)
                and points.dtype == np.int64
                and points.ndim == 2
                and points.shape[1] == len(sizes)
                and bool(((points >= 0) & (points < sizes)).all())
            )
            if not fits:
                raise TrigemuError("it has no points of the search")

    def content(self) -> bytes:
        return pickle.dumps((Searches, (self.problem,)))

    def give_up(self, unit: Unit, error: Exception, host: str, attempts: int) -> None:
        raise error

    def skips(self, unit: Unit) -> bool:
        return False


def best_of(found: Sequence[Found]) -> Found:
    """Return the search with the lowest objective, the first of equal ones."""
    return min(found, key=lambda of: float(of.objectives[0]))


def with_ceilings(problem: Problem, ceilings: FloatArray) -> Problem:
    """Return the problem with the efficiencies of the channels alone."""
    return replace(problem, ceilings=ceilings)


Report = Callable[[str], None]
