"""Efficiencies of menus in the bins of an observable, above the gain of each over the first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trigemu.results.figures.style import COLOURS, axis_label, figure, literal
from trigemu.support import FloatArray

#: Line styles, so that lines differ not only in colour.
DASHES = ("-", "--", "-.", ":")

#: Name → (value, low, high), float64[bins] each, NaN where there is no event.
Bands = Mapping[str, tuple[FloatArray, FloatArray, FloatArray]]


def draw_efficiency(
    label: str, unit: str, edges: FloatArray, curves: Bands, gains: Bands, title: str = ""
) -> Figure:
    """Draw efficiencies with their intervals above gains, differences with their errors.

    Parameters
    ----------
    label, unit : str
        The observable, and its unit.
    edges : float64[bins + 1]
        The edges of the bins.
    curves, gains : mapping of str to three of float64[bins]
        Value, low and high of each curve, and of the gain of those that have one; NaN for no event.
    title : str
        The title.

    Returns
    -------
    Figure
        One panel, or two.
    """
    edges = np.asarray(edges)
    with figure(5.6, 5.0 if gains else 4.0) as (made, axes):
        axes.remove()
        ratios = [2.2, 1.3] if gains else [1.0]
        panels = made.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        for panel, drawn in zip(panels, (curves, gains), strict=False):
            _draw(panel, edges, drawn, list(curves))
        panels[0].set_ylim(*_limits(curves))
        panels[0].set_ylabel("efficiency", fontsize=14)
        panels[0].set_title(literal(title), loc="right", fontsize=11.5)
        if gains:
            panels[1].axhline(0.0, color="black", linewidth=1.0, zorder=1)
            panels[1].set_ylabel("gain", fontsize=14)
            made.align_ylabels(panels)
        panels[-1].set_xlim(edges[0], edges[-1])
        panels[-1].set_xlabel(axis_label(label, unit), fontsize=14)
        handles, names = panels[0].get_legend_handles_labels()
        made.legend(handles, names, loc="outside upper left", ncols=3, fontsize=11.5, frameon=False)
    return made


def _limits(curves: Bands) -> tuple[float, float]:
    """Return the ends of the axis: 0 and 1, or beyond where negative weights take an efficiency there."""
    lows, highs = ([np.ravel(band[side]) for band in curves.values()] for side in (1, 2))
    low = min((float(np.nanmin(band)) for band in lows if not np.isnan(band).all()), default=0.0)
    high = max((float(np.nanmax(band)) for band in highs if not np.isnan(band).all()), default=1.0)
    return min(0.0, 1.05 * low), max(1.05, 1.05 * high if high > 1.0 else 0.0)


def _draw(axes: Axes, edges: FloatArray, curves: Bands, order: list[str]) -> None:
    for name, (value, low, high) in curves.items():
        number = order.index(name)
        colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        axes.stairs(
            value,
            edges,
            baseline=None,
            color=colour,
            linestyle=dashes,
            linewidth=1.8,
            label=literal(name),
            zorder=3,
        )
        shown = ~np.isnan(value)
        axes.stairs(
            np.where(shown, high, np.nan), edges, baseline=np.where(shown, low, np.nan),
            fill=True, color=colour, alpha=0.22, linewidth=0, zorder=2,
        )  # fmt: skip
