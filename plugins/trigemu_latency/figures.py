"""Histograms of the time per event, one below the other on a common logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from trigemu.results import numbers
from trigemu.results.figures import style

from .timing.clock import Timing

#: Height of a histogram in inches.
HEIGHT = 0.3


#: A row: its label, the timing, and whether it is a part of the row above.
Row = tuple[str, Timing, bool]


def draw_latencies(rows: Sequence[Row]) -> Figure:
    """Draw the histogram of each timing with a logarithmic height, log(1 + calls), to make its tail visible,
    and lines at percentiles."""
    with style.figure(7.0, 1.3 + HEIGHT * len(rows)) as (figure, axes):
        for number, (_, timing, inner) in enumerate(rows):
            colour = "black" if not number else style.COLOURS[2] if inner else style.COLOURS[0]
            edges, calls = timing.histogram.edges_ns, timing.histogram.calls
            height = np.log10(1.0 + calls) / np.log10(1.0 + calls.max())
            foot = np.full(len(height), number + 0.45)
            how: dict[str, Any] = {"fill": True, "color": colour, "alpha": 0.55, "linewidth": 0}
            axes.stairs(foot - 0.85 * height, edges, baseline=foot, **how)
            for mark, one_in in ((timing.p50_ns, 1), (timing.p99_ns, 100), (timing.p999_ns, 1000)):
                if timing.reaches(one_in):
                    axes.plot([mark, mark], [number + 0.45, number - 0.35], color=colour, linewidth=1.4)
        axes.set_xscale("log")
        all_edges = np.concatenate([timing.histogram.edges_ns for _, timing, _ in rows])
        low, high = all_edges.min(), all_edges.max()
        axes.set_xlim(0.8 * low, 1.25 * high)
        axes.xaxis.set_major_locator(LogLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(_with_unit))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="x", color="lightgrey", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.xaxis.set_tick_params(labelsize=12)
        axes.set_yticks(range(len(rows)), [style.literal(text) for text, _, _ in rows], fontsize=11)
        for tick, (_, _, inner) in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_color(style.COLOURS[2] if inner else "black")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_tick_params(length=0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("latency of a single event", fontsize=14)
        colours = "red: on events that pass the preselection; " if any(inner for _, _, inner in rows) else ""
        axes.set_title(f"{colours}lines: median, 99 %, 99.9 %", loc="right", fontsize=11)
    return figure


def _with_unit(ns: float, position: int) -> str:
    unit, scale = numbers.unit_of(ns, numbers.NS)
    return f"{ns / scale:g} {unit}"
