"""How long calls take. What disturbs a measurement is kept away (garbage collection, cold caches) or stated
(the machine, its load, the timer's own time, which is not subtracted)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import numpy as np

from trigemu.support import FloatArray, IntArray, undisturbed

#: A call is repeated until one in a thousand has been seen, in several rounds, as far as time allows.
CALLS = 1000
ROUNDS = 3
SECONDS = 0.3
#: Of SECONDS / ROUNDS each, in which threads run at once.
WINDOWS = 10
#: Bins a decade of the histograms.
BINS = 20
_clock = time.perf_counter_ns


@dataclass(frozen=True)
class TimedCall:
    """What is timed: call(0) … call(calls − 1), on so many events each."""

    calls: int
    events: int
    call: Callable[[int], object]


@dataclass(frozen=True)
class Histogram:
    """edges_ns: float64[m + 1], in a geometric series; calls: int64[m]."""

    edges_ns: FloatArray
    calls: IntArray


@dataclass(frozen=True)
class Timing:
    """Of calls on `events` events each, ns per event; percentiles are of all calls, between the two largest
    where no call lies beyond (`reaches`). events_per_s: with the median over several passes as the time of
    each call, which leaves out what else the machine did meanwhile, but not what some events cost more."""

    events: int
    calls: int
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p999_ns: float
    max_ns: float
    events_per_s: float
    histogram: Histogram

    def reaches(self, one_in: int) -> bool:
        """Whether there were calls enough for one in so many to be seen."""
        return self.calls >= one_in


def measure(contenders: Sequence[TimedCall]) -> list[Timing]:
    """Time some contenders, pass by pass in turn: what disturbs one disturbs the others too."""
    passes: list[list[IntArray]] = [[] for _ in contenders]
    spent = [0] * len(contenders)
    waiting = list(range(len(contenders)))
    with undisturbed():
        while waiting:
            for number in waiting:
                passes[number].append(_pass(contenders[number]))
                spent[number] += int(passes[number][-1].sum())
            waiting = [number for number in waiting if not _enough(passes[number], spent[number])]
    return [summary(np.array(of), contender.events) for of, contender in zip(passes, contenders, strict=True)]


def summary(passes: IntArray, events: int) -> Timing:
    """passes: int64[passes, calls] in ns, of calls on so many events."""
    durations = passes.ravel()
    return Timing(
        events=events,
        calls=len(durations),
        p50_ns=float(np.median(durations)) / events,
        p90_ns=float(np.quantile(durations, 0.9)) / events,
        p99_ns=float(np.quantile(durations, 0.99)) / events,
        p999_ns=float(np.quantile(durations, 0.999)) / events,
        max_ns=float(durations.max()) / events,
        events_per_s=passes.shape[1] * events / (float(np.median(passes, axis=0).sum()) * 1e-9),
        histogram=_histogram(durations / events),
    )


def together(contenders: Sequence[TimedCall]) -> float:
    """Events per second of all contenders at once, each again and again on a thread of its own, in the best
    of several windows of time."""
    start = Barrier(len(contenders))

    def run(contender: TimedCall) -> float:
        start.wait()
        begun, calls, elapsed = _clock(), 0, 0
        while elapsed < SECONDS / ROUNDS * 1e9:
            for i in range(contender.calls):
                contender.call(i)
            calls += contender.calls
            elapsed = _clock() - begun
        return calls * contender.events / (elapsed * 1e-9)

    with undisturbed(), ThreadPoolExecutor(len(contenders)) as pool:
        return max(sum(pool.map(run, contenders)) for _ in range(WINDOWS))


def _pass(contender: TimedCall) -> IntArray:
    """int64[calls] in ns, after a call that brings back what the others displaced."""
    call, clock = contender.call, _clock
    durations = [0] * contender.calls
    call(0)
    for i in range(contender.calls):
        start = clock()
        call(i)
        durations[i] = clock() - start
    return np.array(durations)


def _enough(passes: list[IntArray], ns: int) -> bool:
    seen = len(passes) >= ROUNDS and len(passes) * len(passes[0]) >= CALLS
    return seen or ns >= SECONDS * 1e9


def _histogram(ns: FloatArray) -> Histogram:
    position = np.floor(BINS * np.log10(np.maximum(ns, 1e-3))).astype(np.int64)
    first, last = int(position.min()), int(position.max())
    edges = 10 ** (np.arange(first, last + 2) / BINS)
    return Histogram(edges, np.bincount(position - first, minlength=last - first + 1))
