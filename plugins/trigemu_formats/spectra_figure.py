"""The figure of a spectrum."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np
from matplotlib.figure import Figure

from trigemu.base.arrays import FloatArray
from trigemu.results.figures import style
from trigemu.results.figures.draw import Errors, above_zero, draw_band
from trigemu.results.figures.style import literal

#: Lower ends of the axes, as fractions of the highest value: of rates, and of the shapes of signals. Below,
#: there are only single events.
RATES_SHOWN, SHAPES_SHOWN = 1e-10, 1e-5
#: Samples with lines of their own; of more, those with the smallest shares of any bin are one line.
SHOWN = 8
#: The name of their sum.
_SUM = "sum of the background"

#: Arrays by the names of their curves.
Arrays = Mapping[str, FloatArray]


def draw_spectrum(
    label: str, unit: str, edges: FloatArray, sum_w: Arrays, variance: Arrays, signals: Set[str] = frozenset()
) -> Figure:
    """Draw the rate per bin width against a quantity: sum_w, variance float64[bins] of each sample. Signals
    are in a panel of their own, each as a share of its rate; bands are ± √variance."""
    width, per = (np.diff(edges), f"/{unit}") if unit else (np.ones(len(edges) - 1), "")
    lines: dict[str, Errors] = {}
    if background := [name for name in sum_w if name not in signals]:
        rates, variances = (np.array([values[name] for name in background]) for values in (sum_w, variance))
        total = rates.sum(axis=0)
        share = np.max(np.divide(rates, total, out=np.zeros_like(rates), where=total > 0), axis=1)
        rare = np.argsort(-share, kind="stable")[SHOWN:] if len(rates) > SHOWN + 1 else np.zeros(0, int)
        lines = {n: (sum_w[n], variance[n]) for i, n in enumerate(background) if i not in rare}
        if len(rare):
            lines[f"{len(rare)} others"] = rates[rare].sum(axis=0), variances[rare].sum(axis=0)
        lines[_SUM] = total, variances.sum(axis=0)
    totals = {name: float(np.sum(sum_w[name])) for name in sum_w if name in signals}
    shapes = {n: (sum_w[n] / total, variance[n] / total**2) for n, total in totals.items() if total > 0}
    both = (lines, f"rate [Hz{per}]", RATES_SHOWN), (shapes, f"share of the signal{per}", SHAPES_SHOWN)
    panels = [panel for panel in both if panel[0]]
    with style.figure(8.0, 1.5 + 4.2 * max(len(panels), 1)) as (made, whole):
        whole.remove()
        all_axes = made.subplots(max(len(panels), 1), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (drawn, title, shown) in zip(all_axes, panels, strict=False):
            for number, (name, (rate, square)) in enumerate(drawn.items()):
                band = above_zero(rate / width, np.sqrt(square) / width)
                look = {"linewidth": 1.5, "zorder": 2, "linestyle": "-", "baseline": 0.0}
                look |= {"color": "black", "linewidth": 2.2, "zorder": 1} if name == _SUM else {}
                draw_band(axes, edges, band, name, number, **look)
            axes.set_yscale("log")
            highest = max(float(np.max(rate / width)) for rate, _ in drawn.values())
            if highest > 0:
                axes.set_ylim(highest * shown, 3 * highest)
            axes.set_ylabel(literal(title))
            axes.legend(fontsize=11, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        if edges[0] > 0 and edges[-1] / edges[0] > 5:
            all_axes[-1].set_xscale("log")
            if edges[-1] / edges[0] < 1e4:
                style.log_axis(all_axes[-1].xaxis)
        all_axes[-1].set_xlim(edges[0], edges[-1])
        all_axes[-1].set_xlabel(style.axis_label(label, unit))
    return made
