"""The distribution of call times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu.api import Column, Histograms, Page, Table, View, numbers

from ..timing.clock import Histogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = (
    Column(
        "low_ns",
        "number",
        "from [ns]",
        "The lower edge of the bin in ns per event.",
        text="{:.4g}".format,
        upper="high_ns",
    ),
    Column(
        "high_ns", "number", "to [ns]", "The upper edge of the bin in ns per event.", text="{:.4g}".format
    ),
    Column("calls", "count", "calls", "The number of calls."),
)


class _CallTimes(View[Histogram]):
    def line(self, result: Histogram) -> str:
        calls = numbers.count(int(result.calls.sum()), "call")
        return f"of {calls} in {numbers.count(len(result.calls), 'bin')}"

    def page(self, result: Histogram) -> Page:
        edges, calls = result.edges_ns.tolist(), result.calls.tolist()
        table = Table(_COLUMNS)
        for low, high, n in zip(edges[:-1], edges[1:], calls, strict=True):
            table.add(low, high, n)
        return Page([table])

    def document(self, result: Histogram) -> dict[str, Any]:
        return {key: values.tolist() for key, values in vars(result).items()}

    def figures(self, result: Histogram) -> Iterator[Figure]:
        from ..figures import LatencyBar, draw_latencies

        bar = LatencyBar("calls", result.edges_ns, result.calls, (), False)
        yield draw_latencies([bar], "time per event")

    def histograms(self, result: Histogram, **options: bool) -> Histograms:
        calls = result.calls.astype(np.float64)
        return Histograms("time per event [ns]", result.edges_ns, {"": (calls, calls)})


VIEW = _CallTimes()
