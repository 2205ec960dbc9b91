"""Spectra, with a line for each sample and one for the sum of the background."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from trigemu.output.figures.style import COLOURS, axis_label, figure, literal, log_axis
from trigemu.support import FloatArray

#: Lower end of the axis, as a fraction of the highest rate; below it there are only single events.
DECADES_SHOWN = 1e-10


def draw_spectrum(
    label: str,
    unit: str,
    edges: FloatArray,
    sum_w: Mapping[str, FloatArray],
    variance: Mapping[str, FloatArray],
    signals: frozenset[str] = frozenset(),
) -> Figure:
    """Draw the rate per bin width against a quantity: sum_w, variance float64[bins] of each sample. Signals
    are dashed and not part of the sum; bands are ± √variance."""
    width = np.diff(edges) if unit else np.ones(len(edges) - 1)
    with figure() as (made, axes):
        background = [name for name in sum_w if name not in signals]
        lines = {name: (sum_w[name], variance[name]) for name in sum_w}
        total = (sum(sum_w[name] for name in background), sum(variance[name] for name in background))
        if background:
            lines["sum of the background"] = np.asarray(total[0]), np.asarray(total[1])
        for number, (name, (rate, square)) in enumerate(lines.items()):
            colour = "black" if name not in sum_w else COLOURS[number % len(COLOURS)]
            rate, error = rate / width, np.sqrt(square) / width
            axes.stairs(
                np.where(rate > 0, rate, np.nan),
                edges,
                color=colour,
                label=literal(name),
                linestyle="--" if name in signals else "-",
                linewidth=2.2 if name not in sum_w else 1.5,
                zorder=1 if name not in sum_w else 2,
            )
            low, high = np.maximum(rate - error, 1e-3 * rate), rate + error
            axes.stairs(high, edges, baseline=low, fill=True, color=colour, alpha=0.25, linewidth=0)
        if edges[0] > 0 and edges[-1] / edges[0] > 5:
            axes.set_xscale("log")
            if edges[-1] / edges[0] < 1e4:
                log_axis(axes.xaxis)
        axes.set_yscale("log")
        axes.set_xlim(edges[0], edges[-1])
        highest = max((float(np.max(rate / width)) for rate, _ in lines.values()), default=0.0)
        if highest > 0:
            axes.set_ylim(highest * DECADES_SHOWN, 3 * highest)
        axes.set_xlabel(axis_label(label, unit))
        axes.set_ylabel(literal(f"rate [Hz/{unit}]") if unit else "rate [Hz]")
        axes.legend(fontsize=11, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return made
