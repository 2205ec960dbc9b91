"""Measured times of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from trigemu.api import Table, View, numbers
from trigemu_latency import text as written

from ..timing.clock import Timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Timing(View[Timing]):
    def line(self, result: Timing) -> str:
        return f"of {numbers.count(result.calls, 'call')}: p50 {written.digits(result.p50_ns)} ns per event"

    def tables(self, result: Timing) -> RenderableType:
        return times_table("batch", {result.events: result})

    def document(self, result: Timing) -> Any:
        return written.of_timing(result)

    def rows(self, result: Timing) -> list[dict[str, Any]]:
        return [written.of_timing(result)]

    def figures(self, result: Timing) -> Iterator[Figure]:
        yield bars({f"batches of {result.events}": result})


def times_table(head: str, timings: Mapping[int, Timing]) -> RenderableType:
    """Return a line for each batch size."""
    table = Table()
    for name in (head, "p50 [ns]", "p90 [ns]", "p99 [ns]", "p99.9 [ns]", "max [ns]", "events/s", "calls"):
        table.add_column(name, key=name == head)
    for size, timing in timings.items():
        table.add_row(str(size), *map(written.digits, written.of_timing(timing).values()))
    return table


def bars(timings: Mapping[str, Timing]) -> Figure:
    """Draw histograms of times by their labels."""
    from ..figures import LatencyBar, draw_latencies

    rows = [
        LatencyBar(label, t.histogram.edges_ns, t.histogram.calls, (t.p50_ns, t.p99_ns, t.p999_ns), False)
        for label, t in timings.items()
    ]
    return draw_latencies(rows, "time per event")


VIEW = _Timing()
