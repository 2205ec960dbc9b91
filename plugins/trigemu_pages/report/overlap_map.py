"""The map of the overlaps of each two triggers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from trigemu.base.arrays import FloatArray
from trigemu.results.figures.rates import without_ticks
from trigemu.results.figures.style import figure, literal

#: Largest number of triggers for which numbers are written into the cells.
MAX_WRITTEN = 12


def draw_overlap(names: Sequence[str], share: FloatArray) -> Figure:
    """Draw how much of the rate of each trigger the others accept too. share: float64[t, t]."""
    t = len(names)
    size = 4.0 + 0.26 * t if t > 6 else 5.4
    with figure(size, size * 0.9) as (made, axes):
        image = axes.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
        axes.set_facecolor("lightgrey")
        without_ticks(axes.xaxis, axes.yaxis)
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
