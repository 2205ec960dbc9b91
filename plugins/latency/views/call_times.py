"""The distribution of call times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType

from trigemu.api import Histograms, Table, View, numbers

from ..timing.clock import Histogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _CallTimes(View[Histogram]):
    def line(self, result: Histogram) -> str:
        calls = numbers.count(int(result.calls.sum()), "call")
        return f"of {calls} in {numbers.count(len(result.calls), 'bin')}"

    def tables(self, result: Histogram) -> RenderableType:
        table = Table()
        for name in ("from [ns]", "to [ns]", "calls"):
            table.add_column(name)
        for row in self.rows(result):
            table.add_row(f"{row['low_ns']:.4g}", f"{row['high_ns']:.4g}", str(row["calls"]))
        return table

    def document(self, result: Histogram) -> Any:
        return {key: values.tolist() for key, values in vars(result).items()}

    def rows(self, result: Histogram) -> list[dict[str, Any]]:
        edges, calls = result.edges_ns.tolist(), result.calls.tolist()
        return [
            {"low_ns": low, "high_ns": high, "calls": n}
            for low, high, n in zip(edges[:-1], edges[1:], calls, strict=True)
        ]

    def figures(self, result: Histogram) -> Iterator[Figure]:
        from ..figures import LatencyBar, draw_latencies

        bar = LatencyBar("calls", result.edges_ns, result.calls, (), False)
        yield draw_latencies([bar], "time per event")

    def histograms(self, result: Histogram, **options: bool) -> Histograms:
        calls = result.calls.astype(np.float64)
        return Histograms("time per event [ns]", result.edges_ns, {"": (calls, calls)})


VIEW = _CallTimes()
