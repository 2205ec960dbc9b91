"""Measurement of call times. Disturbances are suppressed (garbage collection, cold caches) or reported (the
machine and its load); the timer takes some 50 ns of each call."""

from __future__ import annotations

import gc
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from trigemu_anomaly.single_row import bare_models

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.base.errors import PluginError
from trigemu.base.processes import cores
from trigemu.emulation.plan import Plan, decide
from trigemu.results.table import Column, columns_of
from trigemu.samples.events import Events
from trigemu_latency.stream.stream import ARRAYS_FROM, Stream

#: Libraries that the time per event depends on.
LIBRARIES = ("trigemu", "numpy", "numba", "onnxruntime", "treelite", "tl2cgen")


def environment() -> dict[str, Any]:
    """Describe the machine and the software of this process: the processor, the number of cores that it may
    use, the operating system, the versions of Python and of libraries, and the load averages over 1, 5 and 15
    minutes, None if the system has none."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.is_file() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return {
        "cpu": next(filter(None, models), platform.processor() or platform.machine()),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "load_before": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }


@contextmanager
def undisturbed() -> Iterator[None]:
    """Suspend garbage collection during a block that is timed."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


#: Passes are repeated until there are enough calls for the slowest in a thousand and enough rounds, or until
#: the time is up.
CALLS = 1000
ROUNDS = 3
SECONDS = 0.3
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


@dataclass(frozen=True)
class Histogram:
    """The distribution of call times."""

    #: float64[m + 1], the edges of the bins in ns per event, equidistant in the logarithm.
    edges_ns: FloatArray
    calls: IntArray  #: int64[m], the number of calls in each bin


def digits(value: float) -> str:
    """Format a number with three digits, more only before the point: 0.123, 12.3, 1234."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def _ns(heading: str, meaning: str) -> Column:
    return Column("", "number", f"{heading} [ns]", meaning, text=digits)


@dataclass(frozen=True)
class Timing:
    """Measured times of calls. Percentiles are over all calls, in ns per event. With too few calls for one
    (`reaches`), it lies between the two largest times."""

    events: int  #: The number of events per call
    histogram: Histogram  #: The distribution of the times
    p50_ns: Annotated[float, _ns("p50", "The median time of a call in ns per event.")]
    p90_ns: Annotated[float, _ns("p90", "The time that one call in 10 exceeds.")]
    p99_ns: Annotated[float, _ns("p99", "The time that one call in 100 exceeds.")]
    p999_ns: Annotated[float, _ns("p99.9", "The time that one call in 1 000 exceeds.")]
    max_ns: Annotated[float, _ns("max", "The longest time.")]
    # The throughput, from the median over several passes of the time of each call. The median suppresses
    # interference from other processes, but keeps the differences between events.
    events_per_s: Annotated[float, Column("", "number", "events/s", "Events per second.", text=digits)]
    calls: Annotated[int, Column("", "number", "calls", "The number of calls.", text=digits)]

    def reaches(self, one_in: int) -> bool:
        """Whether there were enough calls to observe the slowest in `one_in`."""
        return self.calls >= one_in


TIMES = columns_of(Timing)


def measure(contenders: Sequence[TimedCall], clock: Clock) -> list[Timing]:
    """Time several contenders, pass by pass in turn, such that a disturbance affects all of them."""
    passes: list[list[list[int]]] = [[] for _ in contenders]
    spent = [0] * len(contenders)
    waiting = list(range(len(contenders)))
    with undisturbed():
        while waiting:
            for number in waiting:
                call, durations = contenders[number].call, [0] * contenders[number].calls
                call(0)  # refills the caches
                for i in range(len(durations)):
                    start = clock()
                    call(i)
                    durations[i] = clock() - start
                passes[number].append(durations)
                spent[number] += sum(durations)
            waiting = [
                number
                for number in waiting
                if spent[number] < SECONDS * 1e9
                and len(passes[number]) < max(ROUNDS, CALLS / contenders[number].calls)
            ]
    pairs = zip(passes, contenders, strict=True)
    return [summary(np.array(times), contender.events) for times, contender in pairs]


def summary(passes: IntArray, events: int) -> Timing:
    """Return the timing from int64[passes, calls] in ns, for calls on this number of events."""
    durations = passes.ravel()
    position = np.floor(BINS * np.log10(np.maximum(durations / events, 1e-3))).astype(np.int64)
    first, last = int(position.min()), int(position.max())
    edges = 10 ** (np.arange(first, last + 2) / BINS)
    parts = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999, "max_ns": 1.0}
    return Timing(
        events=events,
        calls=len(durations),
        **{name: float(np.quantile(durations, part)) / events for name, part in parts.items()},
        events_per_s=passes.shape[1] * events / (float(np.median(passes, axis=0).sum()) * 1e-9),
        histogram=Histogram(edges, np.bincount(position - first, minlength=last - first + 1)),
    )


#: Most calls of a bare model, each of which has memory of its own.
BARE_CALLS = 1000
#: Decisions may differ between batches on this many events, and on this part of those that are accepted:
#: rounding decides events at a limit.
TIES, TIES_PART = 2, 0.01


class Batches:
    """Events cut into batches of equal size; the remainder is dropped."""

    def __init__(self, events: Events, size: int) -> None:
        self._size, self._number = size, len(events) // size
        self._events = events[: self._number * size]

    def decisions(self, plan: Plan) -> TimedCall:
        """Return the call that decides a batch. PluginError if decisions differ from those on all."""
        expected, size = decide(self._events, plan), self._size
        words = np.empty_like(expected)
        call: Callable[[int], Any]
        if size < ARRAYS_FROM:  # else arrays are faster; a stream takes seconds to compile first
            stream = Stream(plan, self._events)
            call = stream.decide if size == 1 else lambda i: stream.decide_many(i * size, (i + 1) * size)
        else:
            starts = range(0, len(self._events), size)
            views = [self._events.around(start, start + size, plan.margin) for start in starts]

            def as_arrays(i: int) -> Words:
                return decide(views[i], plan)[views[i].core]

            call = as_arrays
        for i in range(self._number):
            decided = call(i)  # which is in the words of the stream for one event
            words[i * size : (i + 1) * size] = decided if decided is not None else stream.words
        self._check_equal(plan, words, expected)
        return TimedCall(self._number, size, call)

    def _check_equal(self, plan: Plan, words: Words, expected: Words) -> None:
        for bit, slot in enumerate(plan.slots):
            word, place = bit // 64, np.uint64(bit % 64)
            here, there = (decided[:, word] >> place & np.uint64(1) for decided in (words, expected))
            number = int((here != there).sum())
            if number > TIES + TIES_PART * int((here | there).sum()):
                raise PluginError(
                    f"{slot.trigger.place}: trigger {slot.trigger.name!r} (kind {slot.trigger.kind!r}) "
                    f"decides {number} of {len(words)} events of {self._events.sample!r} differently in "
                    f"batches of {self._size}: a decision must not depend on the other events of a call"
                )

    def bare(self, plan: Plan) -> dict[str, TimedCall]:
        """Return the calls of the bare models of a slot, the only one of a plan."""
        compiled, size = plan.slots[0].compiled, self._size
        calls: dict[str, list[Callable[[], object]]] = {}
        for i in range(min(self._number, BARE_CALLS)):
            for name, call in bare_models(compiled, self._events[i * size : (i + 1) * size]).items():
                calls.setdefault(name, []).append(call)
            if not calls:
                return {}
        return {
            name: TimedCall(len(each), size, lambda i, each=each: each[i]())  # type: ignore[misc]
            for name, each in calls.items()
        }
