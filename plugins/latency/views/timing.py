"""Measured times of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trigemu.api import Column, Page, Table, View, numbers

from ..timing.clock import Timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def digits(value: float) -> str:
    """Format a number with three digits, more only before the point: 0.123, 12.3, 1234."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


TIMES = (
    Column("p50_ns", "number", "p50 [ns]", "The median time of a call in ns per event.", text=digits),
    Column("p90_ns", "number", "p90 [ns]", "The time that one call in 10 exceeds.", text=digits),
    Column("p99_ns", "number", "p99 [ns]", "The time that one call in 100 exceeds.", text=digits),
    Column("p999_ns", "number", "p99.9 [ns]", "The time that one call in 1 000 exceeds.", text=digits),
    Column("max_ns", "number", "max [ns]", "The longest time.", text=digits),
    Column("events_per_s", "number", "events/s", "Events per second.", text=digits),
    Column("calls", "number", "calls", "The number of calls.", text=digits),
)


class _Timing(View[Timing]):
    def line(self, result: Timing) -> str:
        return f"of {numbers.count(result.calls, 'call')}: p50 {digits(result.p50_ns)} ns per event"

    def page(self, result: Timing) -> Page:
        return Page([times_table("batch", {result.events: result})])

    def table(self, result: Timing) -> Table:
        return Table.of(TIMES, [of_timing(result)])

    def document(self, result: Timing) -> dict[str, Any]:
        return dict(of_timing(result))

    def figures(self, result: Timing) -> Iterator[Figure]:
        yield bars({f"batches of {result.events}": result})


def of_timing(timing: Timing) -> dict[str, float]:
    """Return measured times, as in JSON documents."""
    return {column.name: getattr(timing, column.name) for column in TIMES}


def times_table(head: str, timings: Mapping[int, Timing]) -> Table:
    """Return a line for each batch size."""
    lines = ({"batch": size} | of_timing(timing) for size, timing in timings.items())
    return Table.of((Column("batch", "count", head, leads=True), *TIMES), lines)


def bars(timings: Mapping[str, Timing]) -> Figure:
    """Draw histograms of times by their labels."""
    from ..figures import LatencyBar, draw_latencies

    rows = [
        LatencyBar(label, t.histogram.edges_ns, t.histogram.calls, (t.p50_ns, t.p99_ns, t.p999_ns), False)
        for label, t in timings.items()
    ]
    return draw_latencies(rows, "time per event")


VIEW = _Timing()
