"""Measurement of call times. Disturbances are suppressed (garbage collection, cold caches) or reported (the
machine, its load, the overhead of the timer, which is not subtracted)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import ClassVar

import numpy as np

from trigemu.api import FloatArray, IntArray, Shown, WithHistogram, machine

#: Passes are repeated until there are enough calls for the slowest in a thousand and enough rounds, or until
#: the time is up.
CALLS = 1000
ROUNDS = 3
SECONDS = 0.3
#: The number of windows of SECONDS / ROUNDS each, in which threads run at the same time.
WINDOWS = 10
#: Bins per decade of the histograms.
BINS = 20
#: Returns the time in ns.
Clock = Callable[[], int]


@dataclass(frozen=True)
class TimedCall:
    """The calls to be timed: call(0) … call(calls − 1), each on `events` events."""

    calls: int
    events: int
    call: Callable[[int], object]


@dataclass(frozen=True, repr=False)
class Histogram(WithHistogram):
    """The distribution of call times.

    Attributes
    ----------
    edges_ns : ndarray
        float64[m + 1], the edges of the bins in ns per event, equidistant in the logarithm.
    calls : ndarray
        int64[m], the number of calls in each bin.
    """

    _view: ClassVar[str] = "trigemu_latency.views.call_times"

    edges_ns: FloatArray
    calls: IntArray


@dataclass(frozen=True, repr=False)
class Timing(Shown):
    """Measured times of calls.

    Attributes
    ----------
    events : int
        The number of events per call.
    calls : int
        The number of timed calls.
    p50_ns, p90_ns, p99_ns, p999_ns : float
        Percentiles over all calls in ns per event. With too few calls for a percentile (`reaches`), it lies
        between the two largest times.
    max_ns : float
        The longest time in ns per event.
    events_per_s : float
        The throughput, from the median over several passes of the time of each call. The median suppresses
        interference from other processes, but keeps the differences between events.
    histogram : Histogram
        The distribution of the times.
    """

    _view: ClassVar[str] = "trigemu_latency.views.timing"

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
        """Whether there were enough calls to observe the slowest in `one_in`."""
        return self.calls >= one_in


def measure(contenders: Sequence[TimedCall], clock: Clock) -> list[Timing]:
    """Time several contenders, pass by pass in turn, such that a disturbance affects all of them."""
    passes: list[list[IntArray]] = [[] for _ in contenders]
    spent = [0] * len(contenders)
    waiting = list(range(len(contenders)))
    with machine.undisturbed():
        while waiting:
            for number in waiting:
                passes[number].append(_pass(contenders[number], clock))
                spent[number] += int(passes[number][-1].sum())
            waiting = [number for number in waiting if not _enough(passes[number], spent[number])]
    return [summary(np.array(of), contender.events) for of, contender in zip(passes, contenders, strict=True)]


def summary(passes: IntArray, events: int) -> Timing:
    """Return the timing from int64[passes, calls] in ns, for calls on this number of events."""
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


def together(contenders: Sequence[TimedCall], clock: Clock) -> float:
    """Return the events per second of all contenders together, each repeated on its own thread, in the best
    of several time windows."""
    start = Barrier(len(contenders))

    def run(contender: TimedCall) -> float:
        start.wait()
        begun, calls, elapsed = clock(), 0, 0
        while elapsed < SECONDS / ROUNDS * 1e9:
            for i in range(contender.calls):
                contender.call(i)
            calls += contender.calls
            elapsed = clock() - begun
        return calls * contender.events / (elapsed * 1e-9)

    with machine.undisturbed(), ThreadPoolExecutor(len(contenders)) as pool:
        return max(sum(pool.map(run, contenders)) for _ in range(WINDOWS))


def _pass(contender: TimedCall, clock: Clock) -> IntArray:
    """Return int64[calls] in ns, after one call that refills the caches."""
    call = contender.call
    durations = [0] * contender.calls
    call(0)
    for i in range(contender.calls):
        start = clock()
        call(i)
        durations[i] = clock() - start
    return np.array(durations)


def _enough(passes: list[IntArray], ns: int) -> bool:
    sufficient = len(passes) >= ROUNDS and len(passes) * len(passes[0]) >= CALLS
    return sufficient or ns >= SECONDS * 1e9


def _histogram(ns: FloatArray) -> Histogram:
    position = np.floor(BINS * np.log10(np.maximum(ns, 1e-3))).astype(np.int64)
    first, last = int(position.min()), int(position.max())
    edges = 10 ** (np.arange(first, last + 2) / BINS)
    return Histogram(edges, np.bincount(position - first, minlength=last - first + 1))
