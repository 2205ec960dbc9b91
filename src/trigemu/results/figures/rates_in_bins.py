"""Rates in the bins of an observable, rescaled to all crossings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from trigemu.results.figures.style import COLOURS, axis_label, figure, literal, rate_axis
from trigemu.results.figures.threshold_scan import DECADES_SHOWN
from trigemu.results.figures.turnon import DASHES
from trigemu.support import FloatArray


def draw_rates_vs(
    label: str, edges: FloatArray, curves: Mapping[str, tuple[FloatArray, FloatArray]]
) -> Figure:
    """Draw curves, name → rate and error in Hz, float64[bins], NaN for no event; bands are ± the error."""
    with figure() as (made, axes):
        for number, (name, (hz, error)) in enumerate(curves.items()):
            colour = COLOURS[number % len(COLOURS)]
            dashes = DASHES[number % len(DASHES)]
            axes.stairs(
                hz, edges, baseline=None, color=colour, linestyle=dashes, linewidth=1.8, label=literal(name)
            )
            axes.stairs(
                hz + error, edges, baseline=np.maximum(hz - error, 1e-3 * hz),
                fill=True, color=colour, alpha=0.25, linewidth=0,
            )  # fmt: skip
        positive = np.concatenate([hz[hz > 0] for hz, _ in curves.values()])
        if len(positive):
            low, high = max(positive.max() * DECADES_SHOWN, 0.5 * positive.min()), 3 * positive.max()
            axes.set_yscale("log")
            axes.set_ylim(low, high)
            rate_axis(axes.yaxis, low, high)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xlabel(axis_label(label))
        axes.set_ylabel("rate rescaled to all crossings [Hz]")
        axes.legend(fontsize=11, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    return made
