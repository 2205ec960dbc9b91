"""Overlaps of triggers: a map of pairs, and the combinations with the highest rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from trigemu.results.figures.style import COLOURS, figure, literal, rate_axis
from trigemu.results.numbers import short
from trigemu.support import BoolArray, FloatArray

#: Largest number of triggers for which numbers are written into the cells.
MAX_WRITTEN = 12
#: Largest number of bars whose numbers fit side by side.
FEW = 8
#: Lower end of the logarithmic axis, as a fraction of the highest rate.
DECADES_SHOWN = 1e-6
DARK, FAINT = "#444444", "#d8d8d8"


def draw_overlap(names: Sequence[str], share: FloatArray) -> Figure:
    """Draw how much of the rate of each trigger the others accept too.

    Parameters
    ----------
    names : sequence of str
        The t triggers.
    share : float64[t, t]
        The fraction of the rate of the row's trigger that the column's accepts too; NaN where the row's
        trigger has no rate.

    Returns
    -------
    Figure
        A matrix.
    """
    t = len(names)
    size = 4.0 + 0.26 * t if t > 6 else 5.4
    with figure(size, size * 0.9) as (made, axes):
        image = axes.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
        axes.set_facecolor("lightgrey")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
            axis.set_tick_params(length=0)
        small = 12 if t <= MAX_WRITTEN else 10
        names = [literal(name) for name in names]
        axes.set_xticks(range(t), names, rotation=90 if t > 4 else 0, fontsize=small)
        axes.set_yticks(range(t), names, fontsize=small)
        axes.set_xlabel("trigger of the column", fontsize=12)
        axes.set_ylabel("trigger of the row", fontsize=12)
        for row, column in np.ndindex(t, t) if t <= MAX_WRITTEN else ():
            value = float(share[row, column])
            if not np.isnan(value):
                colour = "white" if value > 0.6 else "black"
                axes.text(column, row, _percent(value), color=colour, ha="center", va="center", fontsize=11)
        bar = made.colorbar(image, ax=axes, shrink=0.8)
        bar.set_label("fraction of the row's rate that the column accepts too", fontsize=11, loc="center")
        bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        bar.ax.yaxis.set_minor_locator(NullLocator())
        bar.ax.yaxis.set_tick_params(labelsize=11)
    return made


def _percent(value: float) -> str:
    if value in (0.0, 1.0):
        return f"{100 * value:.0f} %"
    return f"{100 * value:.1f} %" if 0.0005 <= value < 0.9995 else "<0.1 %" if value < 0.5 else ">99.9 %"


def draw_combinations(
    names: Sequence[str], members: BoolArray, hz: FloatArray, error_hz: FloatArray
) -> Figure:
    """Draw the rates of combinations of triggers (an UpSet plot).

    Parameters
    ----------
    names : sequence of str
        The t triggers; those that are in no combination are left out.
    members : bool[k, t]
        The triggers of each combination.
    hz, error_hz : float64[k]
        Rates in Hz and their errors.

    Returns
    -------
    Figure
        Bars above the combinations.
    """
    used = np.flatnonzero(members.any(axis=0))
    k, t = len(members), len(used)
    with figure(max(5.6, 2.6 + 0.42 * k), 3.4 + 0.27 * t) as (made, axes):
        axes.remove()
        top, bottom = made.subplots(2, 1, sharex=True, height_ratios=[2.6, 0.27 * t + 0.2])
        _draw_bars(top, hz, error_hz)
        grid = members[:, used]
        for row in range(t):
            bottom.plot(range(k), [row] * k, "o", color=FAINT, markersize=7, zorder=1)
        for column in range(k):
            rows = np.flatnonzero(grid[column])
            bottom.plot([column] * len(rows), rows, "o-", color=DARK, markersize=7, linewidth=2, zorder=2)
        bottom.set_yticks(range(t), [literal(names[int(i)]) for i in used], fontsize=11)
        bottom.set_ylim(t - 0.4, -0.6)
        bottom.set_xticks([])
        for axis in (bottom.xaxis, bottom.yaxis, top.xaxis):
            axis.set_minor_locator(NullLocator())
            axis.set_tick_params(length=0)
        for side in ("top", "right", "bottom", "left"):
            bottom.spines[side].set_visible(False)
        bottom.set_xlim(-0.6, k - 0.4)
    return made


def _draw_bars(axes: Axes, hz: FloatArray, error_hz: FloatArray) -> None:
    x = np.arange(len(hz))
    highest, positive = float(hz.max(initial=0.0)), hz[hz > 0]
    lowest = max(highest * DECADES_SHOWN, 0.3 * float(positive.min(initial=highest))) if highest else 1.0
    axes.bar(x, hz, width=0.66, color=COLOURS[0])
    low = np.minimum(error_hz, 0.999 * np.maximum(hz, 0))  # a logarithmic axis has no room below zero
    axes.errorbar(x, hz, yerr=(low, error_hz), fmt="none", ecolor="black", elinewidth=1.2)
    for place, rate, error in zip(x, hz, error_hz, strict=True):
        axes.annotate(
            short(rate), (place, max(rate + error, lowest)), (0, 4), textcoords="offset points",
            rotation=0 if len(hz) <= FEW else 90, ha="center", va="bottom", fontsize=10.5,
        )  # fmt: skip
    axes.set_yscale("log")
    rate_axis(axes.yaxis, lowest, highest)
    axes.set_ylim(lowest, max(highest, 10 * lowest) * (highest / lowest or 1.0) ** 0.3)
    axes.set_ylabel("rate [Hz]", fontsize=14)
