"""Rates against one threshold, and the rate of a menu over the plane of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from trigemu.results.figures.style import COLOURS, axis_label, figure, literal
from trigemu.results.figures.turnon import DASHES
from trigemu.results.numbers import HZ, unit_of
from trigemu.support import FloatArray

#: Lower end of a logarithmic axis, as a fraction of the highest rate.
DECADES_SHOWN = 1e-5
#: Factors of the powers of ten at which contours are drawn if none are given.
_STEPS = (1.0, 2.0, 5.0)


def draw_scan(
    label: str,
    values: FloatArray,
    hz: Mapping[str, FloatArray],
    error_hz: Mapping[str, FloatArray],
    budgets: Sequence[float] = (),
    title: str = "",
) -> Figure:
    """Draw rates against the values of a threshold.

    Parameters
    ----------
    label : str
        The label of the axis of values.
    values : float64[v]
        The values.
    hz, error_hz : mapping of str to float64[v]
        Rates in Hz and their errors, which are bands, by name.
    budgets : sequence of float
        Horizontal lines, in Hz.
    title : str
        The title.

    Returns
    -------
    Figure
        Curves.
    """
    with figure() as (made, axes):
        highest = max((float(np.max(rate)) for rate in hz.values()), default=0.0)
        positive = highest > 0
        for number, (name, rate) in enumerate(hz.items()):
            colour, error = COLOURS[number % len(COLOURS)], error_hz[name]
            low = np.maximum(rate - error, 1e-3 * rate) if positive else rate - error
            shown = np.where(rate > 0, rate, np.nan) if positive else rate
            marker = "o" if len(values) < 40 else ""
            axes.plot(
                values,
                shown,
                color=colour,
                linestyle=DASHES[number % len(DASHES)],
                marker=marker,
                markersize=3,
                linewidth=1.8,
                label=literal(name),
            )
            axes.fill_between(values, low, rate + error, color=colour, alpha=0.25, linewidth=0)
        if positive:
            axes.set_yscale("log")
            lowest = min(float(np.min(rate[rate > 0])) for rate in hz.values() if (rate > 0).any())
            axes.set_ylim(max(highest * DECADES_SHOWN, 0.5 * lowest), 3 * highest)
        _budgets(axes, budgets)
        if len(values) > 1:
            axes.set_xlim(values[0], values[-1])
        axes.set_xlabel(axis_label(label))
        axes.set_ylabel("rate [Hz]")
        axes.set_title(literal(title), loc="right", fontsize=12)
        axes.legend(fontsize=11, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    return made


def _budgets(axes: Axes, budgets: Sequence[float]) -> None:
    for budget in budgets:
        axes.axhline(budget, color="black", linestyle=":", linewidth=1.2)
        axes.annotate(
            in_hz(budget),
            (1.0, budget),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            fontsize=10,
        )


def draw_plane(
    labels: tuple[str, str],
    values: tuple[FloatArray, FloatArray],
    hz: FloatArray,
    contours: Sequence[float] = (),
    title: str = "",
) -> Figure:
    """Draw the rate of a menu, hz float64[first, second], over the values of two thresholds, with contours
    at rates in Hz, by default at round numbers."""
    with figure() as (made, axes):
        first, second = (np.asarray(v, np.float64) for v in values)
        positive = hz[hz > 0]
        if len(positive) and positive.max() > positive.min():
            norm = LogNorm(positive.min(), positive.max())
            shown = np.ma.masked_less_equal(hz.T, 0.0)
            mesh = axes.pcolormesh(first, second, shown, norm=norm, cmap="cividis", shading="nearest")
            bar = made.colorbar(mesh, ax=axes, label="rate of the menu [Hz]")
            bar.ax.yaxis.set_major_locator(LogLocator(subs=_STEPS))
            bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: in_hz(value)))
            bar.ax.minorticks_off()
            levels = sorted(set(contours)) or _round(float(positive.min()), float(positive.max()))
            inside = [level for level in levels if positive.min() < level < positive.max()]
            if inside and len(first) > 1 and len(second) > 1:
                lines = axes.contour(first, second, hz.T, levels=inside, colors="white", linewidths=1.5)
                for text in lines.clabel(fmt=in_hz, fontsize=10):
                    text.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="black")])
        axes.set_xlabel(axis_label(labels[0]))
        axes.set_ylabel(axis_label(labels[1]))
        axes.set_title(literal(title), loc="left", fontsize=12)
    return made


def _round(low: float, high: float) -> list[float]:
    """Return about ten round numbers, or fewer, between two."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    steps = _STEPS if last - first < 4 else (1.0,)
    found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    inside = [level for level in found if low < level < high]
    return inside or np.linspace(low, high, 7)[1:-1].tolist()


def in_hz(rate: float) -> str:
    """Format a rate as `20 kHz`, for a contour or a tick."""
    unit, scale = unit_of(rate * (1 + 1e-9), HZ)
    return f"{rate / scale:.4g} {unit}"
