"""Rates of groups or triggers in each menu, one line per group or trigger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.ticker import NullLocator

from trigemu.results.figures.style import COLOURS, figure, literal, rate_axis
from trigemu.support import FloatArray

MARKERS = ("o", "s", "D", "^", "v")
#: Labels of the legend from this length on are below each other.
WIDE = 30
#: Lower end of the axis, as a fraction of the highest rate.
DECADES_SHOWN = 1e-6


def draw_rates(
    names: Sequence[str],
    total: Mapping[str, tuple[FloatArray, FloatArray]],
    unique: Mapping[str, tuple[FloatArray, FloatArray]],
) -> Figure:
    """Draw, for each menu, total (full) and unique rates (open) in Hz and their errors, float64[names] each,
    NaN where the menu has none of this name. The legend has both points of each menu."""
    step = 0.6 / max(len(total) - 1, 1)
    first = -0.3 if len(total) > 1 else 0.0
    with figure(5.8, 1.7 + 0.2 * len(names) * max(len(total), 1.4)) as (made, axes):
        points: list[Any] = []  # full and open, of each menu
        labels: list[str] = []
        for number, menu in enumerate(total):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            rows = np.arange(len(names)) + first + step * number
            drawn = []
            for (hz, error), face, size in ((unique[menu], "white", 9), (total[menu], colour, 5)):
                shown = np.where(hz > 0, hz, np.nan)
                low = np.minimum(error, 0.999 * hz)
                bars = axes.errorbar(
                    shown, rows, xerr=(low, error), fmt=marker, color=colour, markerfacecolor=face,
                    markersize=size, linewidth=1.2,
                )  # fmt: skip
                drawn.append(bars.lines[0])
            points.append(tuple(reversed(drawn)))
            labels.append(literal(f"{menu}: total, unique"))
        highest = max((float(np.nanmax(hz)) for hz, _ in total.values()), default=0.0)
        if highest > 0:
            axes.set_xscale("log")
            rates = np.concatenate([hz for both in (total, unique) for hz, _ in both.values()])
            lowest = max(float(np.nanmin(rates[rates > 0])), DECADES_SHOWN * highest)
            axes.set_xlim(0.4 * lowest, 2.5 * highest)
            rate_axis(axes.xaxis, lowest, highest)
        for border in np.arange(len(names) - 1) + 0.5:
            axes.axhline(border, color="lightgrey", linewidth=0.8)
        axes.set_yticks(range(len(names)), list(map(literal, names)), fontsize=12)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_tick_params(length=0)
        axes.set_ylim(len(names) - 0.45, -0.55)
        axes.set_xlabel("rate [Hz]", fontsize=14)
        made.legend(
            points, labels, loc="outside upper left", fontsize=11, frameon=False,
            ncols=2 if max(map(len, labels), default=0) < WIDE else 1,
            handler_map={tuple: HandlerTuple(ndivide=None)},
        )  # fmt: skip
    return made
