"""Curves: efficiencies with the gain over the first menu, spectra of samples, rates against thresholds and in
bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from trigemu.base.arrays import FloatArray
from trigemu.results.figures.style import COLOURS, axis_label, figure, literal, log_axis, rate_axis
from trigemu.results.numbers import in_hz

#: Line styles, so that lines differ not only in colour.
DASHES = ("-", "--", "-.", ":")
#: Lower end of a logarithmic axis of curves, as a fraction of the highest rate.
DECADES_OF_CURVES = 1e-5

#: Values in bins, or at points, with an error of each; also as rows of an array.
Errors = tuple[FloatArray, FloatArray] | FloatArray
#: Values, and the lower and upper ends of their errors; NaN where there is no event.
Band = tuple[FloatArray, FloatArray, FloatArray]


def line_style(number: int) -> dict[str, Any]:
    """Return colour and dashes of a line by its number."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


def _draw_band(
    axes: Axes, x: FloatArray, band: Band, name: str, style: Mapping[str, Any], **of_line: Any
) -> None:
    """Draw values as a line over a band of their errors: steps if x has the edges of bins, else points."""
    value, low, high = (np.where(np.isnan(band[0]), np.nan, part) for part in band)
    look = {"label": literal(name), "linewidth": 1.8, "zorder": 3, **of_line, **style}
    of_band = {"color": style["color"], "alpha": 0.24, "linewidth": 0, "zorder": 2}
    if len(x) > len(value):
        axes.stairs(value, x, **{"baseline": None, **look})
        axes.stairs(high, x, baseline=low, fill=True, **of_band)
    else:
        axes.plot(x, value, marker="o" if len(x) < 40 else "", markersize=3, **look)
        axes.fill_between(x, low, high, **of_band)


def _log_rates(axes: Axes, rates: Iterable[FloatArray]) -> tuple[float, float] | None:
    """Make the axis of rates logarithmic, if some are above 0, and return its ends."""
    positive = np.concatenate([rate[rate > 0] for rate in rates] or [np.empty(0)])
    if not len(positive):
        return None
    ends = max(positive.max() * DECADES_OF_CURVES, 0.5 * positive.min()), 3 * positive.max()
    axes.set_yscale("log")
    axes.set_ylim(*ends)
    return ends


def _above_zero(hz: FloatArray, error: FloatArray) -> FloatArray:
    """Return the lower ends of errors, where a logarithmic axis has room for them."""
    low: FloatArray = np.maximum(hz - error, 1e-3 * hz)
    return low


def draw_efficiency(
    label: str,
    unit: str,
    edges: FloatArray,
    curves: Mapping[str, Band],
    gains: Mapping[str, Band],
    title: str = "",
) -> Figure:
    """Draw efficiencies with their intervals above gains, differences with their errors. edges: float64[bins
    + 1]; curves, gains: mapping of str to three of float64[bins]."""
    edges = np.asarray(edges)
    with figure(5.6, 5.0 if gains else 4.0) as (made, axes):
        axes.remove()
        ratios = [2.2, 1.3] if gains else [1.0]
        panels = made.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        for panel, drawn in zip(panels, (curves, gains), strict=False):
            for name, band in drawn.items():
                _draw_band(panel, edges, band, name, line_style([*curves].index(name)))
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


def _limits(curves: Mapping[str, Band]) -> tuple[float, float]:
    """Return the ends of the axis: 0 and 1, or beyond where negative weights take an efficiency there."""
    lows, highs = ([np.ravel(band[side]) for band in curves.values()] for side in (1, 2))
    low = min((float(np.nanmin(band)) for band in lows if not np.isnan(band).all()), default=0.0)
    high = max((float(np.nanmax(band)) for band in highs if not np.isnan(band).all()), default=1.0)
    return min(0.0, 1.05 * low), max(1.05, 1.05 * high if high > 1.0 else 0.0)


#: Lower ends of the axes of rates and of shapes, as fractions of the highest value; below them there are only
#: single events.
RATES_SHOWN, SHAPES_SHOWN = 1e-10, 1e-5
#: Samples with lines of their own; of more, those with the smallest shares of any bin are one line.
SHOWN = 8


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
    both = (
        (_lines(background), f"rate [Hz{per}]", RATES_SHOWN),
        (shapes, f"share of the signal{per}", SHAPES_SHOWN),
    )
    panels = [panel for panel in both if panel[0]]
    with figure(8.0, 1.5 + 4.2 * max(len(panels), 1)) as (made, whole):
        whole.remove()
        all_axes = made.subplots(max(len(panels), 1), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (lines, title, shown) in zip(all_axes, panels, strict=False):
            _draw_spectra(axes, edges, width, lines, shown)
            axes.set_ylabel(literal(title))
            axes.legend(fontsize=11, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        if edges[0] > 0 and edges[-1] / edges[0] > 5:
            all_axes[-1].set_xscale("log")
            if edges[-1] / edges[0] < 1e4:
                log_axis(all_axes[-1].xaxis)
        all_axes[-1].set_xlim(edges[0], edges[-1])
        all_axes[-1].set_xlabel(axis_label(label, unit))
    return made


def _lines(background: Mapping[str, Errors]) -> dict[str, Errors]:
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


def _draw_spectra(
    axes: Axes, edges: FloatArray, width: FloatArray, lines: Mapping[str, Errors], shown: float
) -> None:
    for number, (name, (rate, square)) in enumerate(lines.items()):
        whole = name == "sum of the background"
        hz, error = np.where(rate > 0, rate, np.nan) / width, np.sqrt(square) / width
        style = {"color": "black" if whole else COLOURS[number % len(COLOURS)]}
        band = hz, _above_zero(hz, error), hz + error
        look = {"baseline": 0.0, "linewidth": 2.2 if whole else 1.5, "zorder": 1 if whole else 2}
        _draw_band(axes, edges, band, name, style, **look)
    axes.set_yscale("log")
    highest = max(float(np.max(rate / width)) for rate, _ in lines.values())
    if highest > 0:
        axes.set_ylim(highest * shown, 3 * highest)


#: Factors of the powers of ten at which contours are drawn if none are given.
_STEPS = (1.0, 2.0, 5.0)


def draw_scan(
    label: str,
    x: FloatArray,
    curves: Mapping[str, Errors],
    budgets: Sequence[float] = (),
    what: str = "rate [Hz]",
) -> Figure:
    """Draw curves, name → rate and error in Hz, against the values of a threshold, or in the bins that x has
    the edges of; with lines at `budgets` in Hz."""
    with figure() as (made, axes):
        ends = _log_rates(axes, (hz for hz, _ in curves.values()))
        for number, (name, (hz, error)) in enumerate(curves.items()):
            low = _above_zero(hz, error) if ends else hz - error
            shown = np.where(hz > 0, hz, np.nan) if ends else hz
            _draw_band(axes, x, (shown, low, hz + error), name, line_style(number))
        if ends:
            rate_axis(axes.yaxis, *ends)
        for budget in budgets:
            axes.axhline(budget, color="black", linestyle=":", linewidth=1.2)
            axes.annotate(
                in_hz(budget), (1.0, budget), (-4, 3), ("axes fraction", "data"), "offset points",
                ha="right", fontsize=10,
            )  # fmt: skip
        if len(x) > 1:
            axes.set_xlim(x[0], x[-1])
        axes.set_xlabel(axis_label(label))
        axes.set_ylabel(what)
        axes.legend(fontsize=11, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    return made


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
    levels = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    inside = [level for level in levels if low < level < high]
    return inside or np.linspace(low, high, 7)[1:-1].tolist()
