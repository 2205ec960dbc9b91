"""Measurement of call times. Disturbances are suppressed (garbage collection, cold caches) or reported (the
machine, its load, the overhead of the timer, which is not subtracted)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Barrier
from typing import ClassVar

import numpy as np
from trigemu_anomaly.single_row import stages

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.base.errors import PluginError, TrigemuError, own_cause
from trigemu.base.plugins import reason_of
from trigemu.base.shown import Shown, WithHistogram
from trigemu.emulation.plan import Plan, decide
from trigemu.samples.events import Events
from trigemu_latency.stream.stream import ARRAYS_FROM, Stream

from .environment import undisturbed

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
    """The distribution of call times."""

    _view: ClassVar[str] = "trigemu_latency.views:CALL_TIMES"

    #: float64[m + 1], the edges of the bins in ns per event, equidistant in the logarithm.
    edges_ns: FloatArray
    calls: IntArray  #: int64[m], the number of calls in each bin


@dataclass(frozen=True, repr=False)
class Timing(Shown):
    """Measured times of calls."""

    _view: ClassVar[str] = "trigemu_latency.views:TIMING"

    events: int  #: The number of events per call
    calls: int  #: The number of timed calls
    #: p50_ns, p90_ns, p99_ns, p999_ns: Percentiles over all calls in ns per event. With too few calls for a
    #: percentile (`reaches`), it lies between the two largest times.
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p999_ns: float
    max_ns: float  #: The longest time in ns per event
    #: The throughput, from the median over several passes of the time of each call. The median suppresses
    #: interference from other processes, but keeps the differences between events.
    events_per_s: float
    histogram: Histogram  #: The distribution of the times

    def reaches(self, one_in: int) -> bool:
        """Whether there were enough calls to observe the slowest in `one_in`."""
        return self.calls >= one_in


def measure(contenders: Sequence[TimedCall], clock: Clock) -> list[Timing]:
    """Time several contenders, pass by pass in turn, such that a disturbance affects all of them."""
    passes: list[list[IntArray]] = [[] for _ in contenders]
    spent = [0] * len(contenders)
    waiting = list(range(len(contenders)))
    with undisturbed():
        while waiting:
            for number in waiting:
                passes[number].append(_pass(contenders[number], clock))
                spent[number] += int(passes[number][-1].sum())
            waiting = [number for number in waiting if not _enough(passes[number], spent[number])]
    return [
        summary(np.array(times), contender.events)
        for times, contender in zip(passes, contenders, strict=True)
    ]


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

    with undisturbed(), ThreadPoolExecutor(len(contenders)) as pool:
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


class Batches:
    """Events cut into batches of equal size; the remainder is dropped."""

    def __init__(self, events: Events, size: int) -> None:
        self._size, self._number = size, len(events) // size
        self._events = events[: self._number * size]

    def decisions(self, plan: Plan) -> TimedCall:
        """Return the call that decides a batch. PluginError if its decisions differ from the decisions on all
        events at once."""
        expected = decide(self._events, plan)
        words = np.empty_like(expected)
        if self._size == 1:
            stream = Stream(plan, self._events)
            call: Callable[[int], object] = stream.decide
            for event in range(len(words)):
                stream.decide(event)
                words[event] = stream.words
        else:
            call = several = self._several(plan)
            for i in range(self._number):
                words[i * self._size : (i + 1) * self._size] = several(i)
        self._check_equal(plan, words ^ expected)
        return TimedCall(self._number, self._size, call)

    def _several(self, plan: Plan) -> Callable[[int], Words]:
        """Return a function that decides a batch of several events, with a stream if that can be faster. A
        stream takes seconds to compile the first time."""
        if (size := self._size) < ARRAYS_FROM:
            stream = Stream(plan, self._events)
            return lambda i: stream.decide_many(i * size, (i + 1) * size)
        views = self._views(plan.margin)
        return lambda i: decide(views[i], plan)[views[i].core]

    def _views(self, margin: int = 0) -> list[Events]:
        starts = range(0, len(self._events), self._size)
        return [self._events.around(start, start + self._size, margin) for start in starts]

    def _check_equal(self, plan: Plan, different: Words) -> None:
        if not different.any():
            return
        event, word = (int(index[0]) for index in np.nonzero(different))
        bit = 64 * word + int(different[event, word]).bit_length() - 1
        raise PluginError(
            f"{_where(plan, bit)} decides differently in batches of {self._size} than of {len(different)}, "
            f"on event {self._events.id[event]} of {self._events.sample!r}: a decision must not depend on "
            f"the other events of a call"
        )

    def parts(self, plan: Plan) -> dict[str, TimedCall]:
        """Return the calls of the parts of a slot, the only one of a plan. PluginError if a part fails."""
        try:
            calls = self._calls(plan)
            for call in calls.values():
                for i in range(self._number):
                    call(i)
        except TrigemuError:
            raise
        except Exception as error:
            if cause := own_cause(error):
                raise cause from error
            where = _where(plan, 0)
            raise PluginError(f"{where}: its parts cannot be timed: {reason_of(error)}") from error
        return {name: TimedCall(self._number, self._size, call) for name, call in calls.items()}

    def _calls(self, plan: Plan) -> Mapping[str, Callable[[int], object]]:
        if self._size == 1:
            return Stream(plan, self._events).stages(0)
        compiled = plan.slots[0].compiled
        if not stages(compiled, self._events[: self._size]):  # views take time
            return {}
        each = [stages(compiled, view) for view in self._views()]
        return {name: partial(_do, each, name) for name in each[0]}


def _where(plan: Plan, bit: int) -> str:
    trigger = plan.slots[bit].trigger
    return f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"


def _do(each: Sequence[Mapping[str, Callable[[], object]]], name: str, i: int) -> object:
    return each[i][name]()
