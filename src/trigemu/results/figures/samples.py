"""Rates of samples, one line per sample."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from trigemu.results.figures.style import COLOURS, figure, literal, rate_axis


def draw_samples(names: Sequence[str], hz: Sequence[float], signals: Sequence[bool]) -> Figure:
    """Draw the rate of each sample in Hz; signals have open markers."""
    with figure(5.8, 1.3 + 0.32 * len(names)) as (made, axes):
        for row, (rate, signal) in enumerate(zip(hz, signals, strict=True)):
            face = "white" if signal else COLOURS[0]
            axes.plot(rate, row, "o", color=COLOURS[0], markerfacecolor=face, markersize=8)
        axes.plot([], [], "o", color=COLOURS[0], markersize=8, label="background")
        axes.plot([], [], "o", color=COLOURS[0], markersize=8, markerfacecolor="white", label="signal")
        if hz:
            axes.set_xscale("log")
            axes.set_xlim(0.3 * min(hz), 3.0 * max(hz))
            rate_axis(axes.xaxis, min(hz), max(hz))
        axes.set_yticks(range(len(names)), list(map(literal, names)), fontsize=12)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_tick_params(length=0)
        axes.set_ylim(len(names) - 0.45, -0.55)
        axes.grid(axis="y", color="lightgrey", linewidth=0.8)
        axes.set_xlabel("rate [Hz]", fontsize=14)
        made.legend(loc="outside upper left", ncols=2, fontsize=11, frameon=False)
    return made
