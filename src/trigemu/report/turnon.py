"""Efficiencies, and what a menu gains over another, in the bins of an observable."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trigemu.events import FloatArray
from trigemu.report.style import COLOURS, figure

#: Colour is not all that tells lines apart.
DASHES = ("-", "--", "-.", ":")

#: Name → (value, low, high), float64[bins] each, NaN where there is no event.
Bands = Mapping[str, tuple[FloatArray, FloatArray, FloatArray]]


def draw_turnon(label: str, unit: str, edges: FloatArray, curves: Bands, title: str = "") -> Figure:
    """Efficiencies with their intervals as bands."""
    with figure() as (made, axes):
        _draw(axes, label, unit, edges, curves)
        axes.set_ylim(0.0, 1.05)
        axes.set_ylabel("efficiency")
        axes.set_title(title, loc="right", fontsize=12)
    return made


def draw_gain(
    label: str, unit: str, edges: FloatArray, curves: Bands, reference: str, title: str = ""
) -> Figure:
    """What menus gain over a reference, paired, with errors as bands."""
    with figure() as (made, axes):
        _draw(axes, label, unit, edges, curves)
        axes.axhline(0.0, color="black", linewidth=1.0, zorder=1)
        axes.set_ylabel(f"efficiency less that of {reference}")
        axes.set_title(title, loc="right", fontsize=12)
    return made


def _draw(axes: Axes, label: str, unit: str, edges: FloatArray, curves: Bands) -> None:
    edges = np.asarray(edges)
    centres = (edges[1:] + edges[:-1]) / 2
    for number, (name, (value, low, high)) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        dashes = DASHES[number // len(COLOURS) % len(DASHES)] if len(curves) > len(COLOURS) else "-"
        axes.stairs(value, edges, color=colour, linestyle=dashes, linewidth=1.8, label=name, zorder=3)
        axes.stairs(high, edges, baseline=low, fill=True, color=colour, alpha=0.25, linewidth=0, zorder=2)
        alone = ~np.isnan(value)  # a bin between empty ones has no line that is seen
        alone[1:] &= np.isnan(value[:-1])
        alone[:-1] &= np.isnan(value[1:])
        axes.plot(centres[alone], value[alone], marker="o", linestyle="", color=colour, markersize=4)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(f"{label} [{unit}]" if unit else label)
    columns = 3 if len(curves) > 2 else max(1, len(curves))
    axes.legend(fontsize=11, ncols=columns, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
