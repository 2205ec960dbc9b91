"""Spectra: the background, with a line for each sample and one for the sum; below it the shape of signals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trigemu.results.figures.style import COLOURS, axis_label, figure, literal, log_axis
from trigemu.support import FloatArray

#: Lower ends of the axes of rates and of shapes, as fractions of the highest value; below them there are only
#: single events.
RATES_SHOWN, SHAPES_SHOWN = 1e-10, 1e-5
#: Samples with lines of their own; of more, those with the smallest shares of any bin are one line.
SHOWN = 8

#: Rates of the bins of a sample and their variances.
Bins = tuple[FloatArray, FloatArray]


def draw_spectrum(
    label: str,
    unit: str,
    edges: FloatArray,
    sum_w: Mapping[str, FloatArray],
    variance: Mapping[str, FloatArray],
    signals: frozenset[str] = frozenset(),
) -> Figure:
    """Draw the rate per bin width against a quantity: sum_w, variance float64[bins] of each sample. Signals
    are in a panel of their own, each as a share of its rate; bands are ± √variance."""
    width = np.diff(edges) if unit else np.ones(len(edges) - 1)
    background = {name: (sum_w[name], variance[name]) for name in sum_w if name not in signals}
    shapes = {
        name: (sum_w[name] / total, variance[name] / total**2)
        for name in sum_w
        if name in signals and (total := float(np.sum(sum_w[name]))) > 0
    }
    per = f"/{unit}" if unit else ""
    panels = [
        panel
        for panel in (
            (_lines(background), f"rate [Hz{per}]", RATES_SHOWN),
            (shapes, f"share of the signal{per}", SHAPES_SHOWN),
        )
        if panel[0]
    ]
    with figure(8.0, 1.5 + 4.2 * max(len(panels), 1)) as (made, whole):
        whole.remove()
        all_axes = made.subplots(max(len(panels), 1), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (lines, title, shown) in zip(all_axes, panels, strict=False):
            _draw(axes, edges, width, lines, shown)
            axes.set_ylabel(literal(title))
            axes.legend(fontsize=11, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        if edges[0] > 0 and edges[-1] / edges[0] > 5:
            all_axes[-1].set_xscale("log")
            if edges[-1] / edges[0] < 1e4:
                log_axis(all_axes[-1].xaxis)
        all_axes[-1].set_xlim(edges[0], edges[-1])
        all_axes[-1].set_xlabel(axis_label(label, unit))
    return made


def _lines(background: Mapping[str, Bins]) -> dict[str, Bins]:
    """Return the lines of the background: of samples, of the sum of further ones, and of all."""
    if not background:
        return {}
    rates = np.array([rate for rate, _ in background.values()])
    variances = np.array([square for _, square in background.values()])
    total = rates.sum(axis=0)
    share = np.max(np.divide(rates, total, out=np.zeros_like(rates), where=total > 0), axis=1)
    rare = np.zeros(len(rates), bool)
    if len(rates) > SHOWN + 1:
        rare[np.argsort(-share, kind="stable")[SHOWN:]] = True
    lines = {name: both for (name, both), one in zip(background.items(), rare, strict=True) if not one}
    if rare.any():
        lines[f"{rare.sum()} others"] = rates[rare].sum(axis=0), variances[rare].sum(axis=0)
    return lines | {"sum of the background": (total, variances.sum(axis=0))}


def _draw(axes: Axes, edges: FloatArray, width: FloatArray, lines: Mapping[str, Bins], shown: float) -> None:
    for number, (name, (rate, square)) in enumerate(lines.items()):
        whole = name == "sum of the background"
        colour = "black" if whole else COLOURS[number % len(COLOURS)]
        rate, error = rate / width, np.sqrt(square) / width
        axes.stairs(
            np.where(rate > 0, rate, np.nan),
            edges,
            color=colour,
            label=literal(name),
            linewidth=2.2 if whole else 1.5,
            zorder=1 if whole else 2,
        )
        low, high = np.maximum(rate - error, 1e-3 * rate), rate + error
        axes.stairs(high, edges, baseline=low, fill=True, color=colour, alpha=0.25, linewidth=0)
    axes.set_yscale("log")
    highest = max(float(np.max(rate / width)) for rate, _ in lines.values())
    if highest > 0:
        axes.set_ylim(highest * shown, 3 * highest)
