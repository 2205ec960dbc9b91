"""Histograms of the time per event, one below the other on a common logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.results import numbers
from trigemu.results.figures import style

#: Height of a histogram in inches.
HEIGHT = 0.3


@dataclass(frozen=True)
class LatencyBar:
    """A histogram of calls."""

    label: str
    edges_ns: FloatArray  # float64[m + 1]
    calls: IntArray  # int64[m]
    marks: tuple[float, ...]  # Percentiles in ns
    inner: bool  # A part of the row above


def draw_latencies(rows: Sequence[LatencyBar], label: str) -> Figure:
    """Draw each histogram with a logarithmic height, log(1 + calls), to make its tail visible."""
    with style.figure(7.0, 1.3 + HEIGHT * len(rows)) as (figure, axes):
        for number, row in enumerate(rows):
            colour = "black" if not number else style.COLOURS[2] if row.inner else style.COLOURS[0]
            height = np.log10(1.0 + row.calls) / np.log10(1.0 + row.calls.max())
            foot = np.full(len(height), number + 0.45)
            axes.stairs(
                foot - 0.85 * height,
                row.edges_ns,
                baseline=foot,
                fill=True,
                color=colour,
                alpha=0.55,
                linewidth=0,
            )
            for mark in row.marks:
                axes.plot([mark, mark], [number + 0.45, number - 0.35], color=colour, linewidth=1.4)
        axes.set_xscale("log")
        low, high = min(row.edges_ns[0] for row in rows), max(row.edges_ns[-1] for row in rows)
        axes.set_xlim(0.8 * low, 1.25 * high)
        axes.xaxis.set_major_locator(LogLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(_with_unit))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="x", color="lightgrey", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.xaxis.set_tick_params(labelsize=12)
        axes.set_yticks(range(len(rows)), [style.literal(row.label) for row in rows], fontsize=11)
        for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_color(style.COLOURS[2] if row.inner else "black")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_tick_params(length=0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(label, fontsize=14)
        colours = "red: on events that pass the preselection; " if any(row.inner for row in rows) else ""
        axes.set_title(f"{colours}lines: median, 99 %, 99.9 %", loc="right", fontsize=11)
    return figure


def _with_unit(ns: float, position: int) -> str:
    unit, scale = numbers.unit_of(ns, numbers.NS)
    return f"{ns / scale:g} {unit}"
