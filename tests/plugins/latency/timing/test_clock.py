"""Times against a clock that only the timed work advances, and against percentiles by other means."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from trigemu_latency.timing import clock as timing
from trigemu_latency.timing.clock import TimedCall, measure, summary


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def work(self, ns: int) -> None:
        self.now += ns


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=1200), st.sampled_from([1, 16]))
def test_a_summary_is_that_of_plain_lists(durations: list[int], events: int) -> None:
    result = summary(np.array([durations]), events)
    assert result.calls == len(durations)
    assert result.p50_ns == pytest.approx(statistics.median(durations) / events)
    for n, value in ((10, result.p90_ns), (100, result.p99_ns), (1000, result.p999_ns)):
        assert result.reaches(n) == (len(durations) >= n)
        twice = durations * (2 if len(durations) == 1 else 1)  # it wants two numbers
        expected = statistics.quantiles(twice, n=n, method="inclusive")[-1]
        assert value == pytest.approx(expected / events)
    assert result.max_ns == max(durations) / events
    assert result.events_per_s == pytest.approx(len(durations) * events / (sum(durations) / 1e9))
    edges, calls = result.histogram.edges_ns, result.histogram.calls
    assert calls.sum() == len(durations)
    assert calls[0]
    assert calls[-1]
    assert np.allclose(edges[1:] / edges[:-1], 10 ** (1 / timing.BINS))
    for low, high, number in zip(edges[:-1], edges[1:], calls, strict=True):
        inside = [d for d in durations if low * (1 + 1e-9) < d / events < high * (1 - 1e-9)]
        touching = [d for d in durations if low * (1 - 1e-9) <= d / events <= high * (1 + 1e-9)]
        assert len(inside) <= number <= len(touching)


def test_a_disturbed_pass_does_not_change_the_throughput() -> None:
    """But the percentiles, which are of all calls."""
    result = summary(np.array([[5, 900], [40, 60], [50, 70]]), 10)
    assert result.events_per_s == pytest.approx(20 / 110e-9)
    assert (result.p50_ns, result.max_ns, result.calls) == (5.5, 90.0, 6)


def test_each_call_is_timed_by_itself() -> None:
    clock = Clock()
    slow = TimedCall(500, 4, lambda i: clock.work(1000 + 4 * i))
    quick = TimedCall(20, 1, lambda i: clock.work(7))
    of_slow, of_quick = measure([slow, quick], clock)
    assert of_slow.calls == 3 * 500  # in so many rounds
    assert (of_slow.p50_ns, of_slow.max_ns) == (250 + 249.5, 250 + 499)
    assert of_slow.events_per_s == pytest.approx(1e9 / (250 + 249.5))
    assert of_quick.calls == 50 * 20  # until there is one in a thousand
    assert {of_quick.p50_ns, of_quick.p99_ns, of_quick.p999_ns, of_quick.max_ns} == {7.0}


def test_slow_calls_are_timed_once() -> None:
    clock = Clock()
    (result,) = measure([TimedCall(3, 1, lambda i: clock.work(10**9))], clock)
    assert result.calls == 3
    assert (result.p50_ns, result.p90_ns, result.reaches(10)) == (1e9, 1e9, False)


def test_contenders_take_turns_and_are_warm() -> None:
    clock = Clock()
    order: list[str] = []

    def call(name: str, ns: int) -> Callable[[int], object]:
        def timed(i: int) -> None:
            order.append(f"{name}{i}")
            clock.work(ns)

        return timed

    measure([TimedCall(400, 1, call("a", 5)), TimedCall(2, 1, call("b", 10**9))], clock)
    passes = [name for i, name in enumerate(order) if order[i - 1 : i] == [name]]
    assert passes == ["a0", "b0", "a0", "a0"]  # a call that is not timed comes first
    assert len(order) == 3 * 401 + 3


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_off_while_timing_only(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        seen: list[bool] = []
        measure([TimedCall(2, 1, lambda i: seen.append(gc.isenabled()))], time.perf_counter_ns)
        assert not any(seen)
        assert gc.isenabled() == enabled
        with pytest.raises(ZeroDivisionError):
            measure([TimedCall(1, 1, lambda i: 1 // i)], time.perf_counter_ns)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_the_machine_is_described() -> None:
    result = timing.environment()
    assert result["cpu"]
    assert result["cores"] >= 1
    assert set(result["versions"]) == set(timing.LIBRARIES)
