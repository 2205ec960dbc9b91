"""Figures of the diagnostics, drawn from numbers only, with densities in the plane of an observable and the
score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.results.figures import style

from .closure import Acceptance, Axis, Closure
from .events import ScoredEvents


def label(observable: str) -> str:
    """Return the typeset axis label of an observable, such as `leading jet pT [GeV]` for `jet[0].pt`."""
    match = re.fullmatch(r"(\w+)\[([0-3])\]\.pt", observable)
    if match:
        rank = ("leading", "second", "third", "fourth")[int(match[2])]
        return style.axis_label(f"{rank} {match[1].replace('_', ' ')} pT", "GeV")
    if counted := re.fullmatch(r"n_(\w+)", observable):
        return style.axis_label(f"number of {counted[1].replace('_', ' ')}s", "")
    named = {"met": "missing ET", "ht": "HT", "mht": "missing HT"}
    return style.axis_label(named.get(observable, observable), "GeV" if observable in named else "")


BINS = 60
#: Fraction of events at each end of the score that are counted in the first or last bin.
CUT_OFF = 1e-4


@dataclass(frozen=True)
class Density:
    """Rates in m bins of an observable x and k bins of y, or of y' if corrected."""

    observable: str
    corrected: bool
    is_log: bool
    x_edges: FloatArray  # float64[m + 1], in a geometric series if is_log
    y_edges: FloatArray  # float64[k + 1]
    rate: FloatArray  # float64[1 + m, k], Hz; the first row is for events without the observable
    # float64[1 + m, 3], the 16, 50 and 84 % quantiles, over the events of a row, of the threshold of the
    # corrected trigger: Y(x) + t before the correction, t after it; NaN if the row is empty.
    threshold: FloatArray
    constant: float | None  # The threshold of the uncorrected trigger; None after the correction


def densities(events: ScoredEvents) -> list[tuple[Density, Density]]:
    """Return the densities before and after the correction, for each observable that occurs."""
    threshold = events.quantile + events.threshold
    flat = np.full_like(threshold, events.threshold)
    return [
        (
            _density(name, x, events.y, threshold, events.weight, events.y_threshold),
            _density(name, x, events.corrected, flat, events.weight, None),
        )
        for name, x in events.x.items()
        if (x != 0).any()
    ]


def _density(
    name: str,
    x: FloatArray,
    score: FloatArray,
    threshold: FloatArray,
    weight: FloatArray,
    constant: float | None,
) -> Density:
    low, high = x[x != 0].min(), x.max()
    is_log = bool(low > 0 and high > 5 * low)
    x_edges = np.geomspace(low, high, BINS + 1) if is_log else _edges(low, high)
    y_edges = _edges(*np.quantile(score, [CUT_OFF, 1 - CUT_OFF]))
    row = np.where(x == 0, 0, np.clip(np.searchsorted(x_edges, x, "right"), 1, BINS))
    column = np.clip(np.searchsorted(y_edges, score, "right") - 1, 0, BINS - 1)
    flat = np.bincount(row * BINS + column, weight, (1 + BINS) * BINS)
    rate = flat.astype(np.float64).reshape(1 + BINS, BINS)
    spreads = np.array([_spread(threshold, weight, row == number) for number in range(1 + BINS)])
    return Density(name, constant is None, is_log, x_edges, y_edges, rate, spreads, constant)


def _edges(low: float, high: float) -> FloatArray:
    return np.linspace(low, high if high > low else low + 1, BINS + 1)


def _spread(values: FloatArray, weight: FloatArray, rows: BoolArray) -> FloatArray:
    if not rows.any():
        return np.full(3, np.nan)
    return np.quantile(values[rows], [0.16, 0.5, 0.84], weights=weight[rows], method="inverted_cdf")


CORRECTED, UNCORRECTED = style.COLOURS[0], style.COLOURS[2]
#: Ratios below the first, and on the linear scale corrected ones above the second, are not shown.
SMALLEST_RATIO, LARGEST_CORRECTED = 0.01, 4.0
#: The colour scale of a map spans q / 4 to 4 q.
FACTOR = 4.0
#: Lowest rate shown in a density, relative to the highest.
DECADES_SHOWN = 1e-6
#: Width of an axis in units of the strip for events without the object.
STRIP = 14


def draw_acceptance(closure: Closure, q: float) -> Figure:
    """Draw acceptance / q in bins of one observable: all four selections above, the corrected ones below on a
    linear scale. If no event passes, a triangle shows the expected error."""
    (axis,) = closure.axes
    corrected = [acceptance for acceptance in closure.acceptances if acceptance.corrected]
    with style.figure(8, 7.5) as (figure, axes):
        axes.remove()
        panels = top, bottom = figure.subplots(2, 1, sharex=True)
        for panel, acceptances in ((top, closure.acceptances), (bottom, corrected)):
            for acceptance in acceptances:
                _draw_ratios(panel, axis, acceptance, q)
            panel.axhline(1, color="black", linewidth=1, zorder=0)
            panel.set_ylabel("acceptance / $q$")
        _scale_ratios(top, bottom, closure.acceptances, q)
        _cell_axis(bottom.xaxis, axis)
        bottom.set_xlim(0, axis.bins)
        for panel in panels if axis.missing else ():
            panel.axvline(1, color="black", linewidth=1)
        bottom.set_xlabel(label(axis.observable))
        handles, texts = top.get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside upper center", ncols=2, fontsize=11, frameon=False)
    return figure


def _draw_ratios(panel: Axes, axis: Axis, acceptance: Acceptance, q: float) -> None:
    """Draw points, at t = 0 filled and left of the middle, at the threshold open and right of it."""
    colour = CORRECTED if acceptance.corrected else UNCORRECTED
    value, error = (np.array(v, np.float64) / q for v in (acceptance.value, acceptance.error))
    x = np.arange(axis.bins) + (0.38 if acceptance.at_zero else 0.62)
    none = value == 0
    panel.errorbar(
        x,
        np.where(none, np.nan, value),
        error,
        fmt="o" if acceptance.corrected else "s",
        color=colour,
        markerfacecolor=colour if acceptance.at_zero else "white",
        markersize=5,
        linewidth=1.2,
        label=_selection(acceptance),
    )
    panel.plot(x[none], error[none], "v", color=colour, markersize=4)


def _selection(acceptance: Acceptance) -> str:
    """Return the label of a selection, with its χ² against q."""
    chi_square, score = acceptance.against_q, "y'" if acceptance.corrected else "y"
    text = f"${score} > {acceptance.threshold:.3g}$"
    if np.isnan(chi_square.value):
        return text
    digits = f"{chi_square.value:.1f}" if chi_square.value < 1e3 else f"{chi_square.value:.0f}"
    return rf"{text}   $\chi^2$/ndf = {digits}/{chi_square.ndf}"


def _scale_ratios(top: Axes, bottom: Axes, acceptances: Sequence[Acceptance], q: float) -> None:
    value, error = (np.array([getattr(a, key) for a in acceptances]) / q for key in ("value", "error"))
    highest, lowest = value + error, np.nanmin(np.where(value > 0, value, error))
    top.set_yscale("log")
    style.log_axis(top.yaxis)
    top.set_ylim(max(SMALLEST_RATIO, 0.5 * min(lowest, 1.0)), 2.0 * max(np.nanmax(highest), 1.0))
    corrected = np.nanmax(highest[[a.corrected for a in acceptances]])
    bottom.set_ylim(0, min(LARGEST_CORRECTED, max(1.6, 1.1 * corrected)))


def draw_replicas(closures: Sequence[Closure], q: Sequence[float]) -> Figure:
    """Draw acceptance / q of y' > 0 in bins of one observable for several replicas, and their mean; bins of
    the same number hold the same share of the events, and labels are from the first replica."""
    (axis,) = closures[0].axes
    ratios = np.full((len(closures), axis.bins), np.nan)
    with style.figure(8, 5) as (figure, axes):
        for i, (closure, fraction) in enumerate(zip(closures, q, strict=True)):
            acceptance = closure.acceptances[0]
            if closure.axes[0].bins != axis.bins:
                continue
            value, error = (np.array(v, np.float64) / fraction for v in (acceptance.value, acceptance.error))
            ratios[i] = value
            x = np.arange(axis.bins) + (i + 1) / (len(closures) + 1)
            axes.errorbar(x, value, error, fmt="o", color=CORRECTED, alpha=0.5, markersize=4, linewidth=1)
        with np.errstate(invalid="ignore"):
            mean = np.nanmean(ratios, axis=0)
        axes.stairs(mean, np.arange(axis.bins + 1), baseline=None, color=UNCORRECTED, label="mean")
        axes.axhline(1, color="black", linewidth=1, zorder=0)
        axes.set(xlim=(0, axis.bins), ylim=(0, 2.5), ylabel="acceptance / $q$", xlabel=label(axis.observable))
        _cell_axis(axes.xaxis, axis)
        axes.legend(frameon=False)
    return figure


def draw_map(closure: Closure, q: float) -> Figure:
    """Draw acceptance / q in the cells of two observables, with and without the correction, at t = 0. Cells
    have the same size; grey ones have too few events for a χ²."""
    first, second = closure.axes
    norm = LogNorm(1 / FACTOR, FACTOR)
    with style.figure(9, 5) as (figure, axes):
        axes.remove()
        panels = figure.subplots(1, 2, sharey=True)
        for panel, acceptance in zip(panels, closure.acceptances[:2], strict=True):
            value = np.where(closure.tested, np.array(acceptance.value, np.float64) / q, np.nan)
            panel.set_facecolor("lightgrey")
            cells = np.clip(value, 1e-9, None).reshape(first.bins, second.bins).T
            panel.pcolormesh(cells, cmap="RdBu_r", norm=norm, edgecolors="white", linewidth=0.5)
            panel.set_title(_selection(acceptance), fontsize=12)
            panel.set_xlabel(label(first.observable), fontsize=13)
            _cell_axis(panel.xaxis, first)
            _cell_axis(panel.yaxis, second)
            panel.set(xlim=(0, first.bins), ylim=(0, second.bins))
        panels[0].set_ylabel(label(second.observable), fontsize=13)
        ticks = [1 / FACTOR, 1 / 2, 1, 2, FACTOR]
        scale = ScalarMappable(norm, "RdBu_r")
        bar = figure.colorbar(scale, ax=panels, extend="both", ticks=ticks, format="%g")
        bar.set_label("acceptance / $q$")
        bar.ax.yaxis.set_minor_locator(NullLocator())
    return figure


def _cell_axis(drawn: XAxis | YAxis, axis: Axis) -> None:
    """Label bins of width one: bins with a value at their edges, the bin without a value in its middle."""
    positions = [float(axis.missing + i) for i in range(len(axis.edges))]
    texts = [f"{edge:.3g}" if edge < 1e3 else f"{edge:.0f}" for edge in axis.edges]
    if axis.missing:
        positions, texts = [0.5, *positions], ["none", *texts]
    drawn.set_minor_locator(NullLocator())
    drawn.set_ticks(positions, texts, rotation=90 if isinstance(drawn, XAxis) else 0, fontsize=11)
    drawn.set_tick_params(length=3, direction="out")


def draw_densities(before: Density, after: Density) -> Figure:
    """Draw rates in the plane of an observable and y (top) or y' (bottom), with the thresholds: of the
    corrected one, which also depends on the other observables, the median and the 16 and 84 % quantiles."""
    highest = max(float(density.rate.max()) for density in (before, after))
    norm = LogNorm(highest * DECADES_SHOWN, highest)
    columns = 2 if before.rate[0].any() else 1
    with style.figure(8, 8) as (figure, axes):
        axes.remove()
        widths = [1, STRIP][-columns:]
        panels = figure.subplots(2, columns, squeeze=False, sharey="row", sharex="col", width_ratios=widths)
        for row, density in zip(panels, (before, after), strict=True):
            _draw_density(row[-1], density.x_edges, density, slice(1, None), norm)
            if columns == 2:
                _draw_density(row[0], np.array([0.0, 1.0]), density, slice(0, 1), norm)
                row[0].set_xlim(0, 1)
                row[0].set_xticks([0.5], ["none"])
                row[0].xaxis.set_minor_locator(NullLocator())
            row[0].set_ylabel("$y' = y - Y(x)$" if density.corrected else "score $y$")
            row[0].set_ylim(density.y_edges[[0, -1]])
        main = panels[1, -1]
        if before.is_log:
            main.set_xscale("log")
            style.log_axis(main.xaxis)
        main.set_xlim(before.x_edges[[0, -1]])
        main.set_xlabel(label(before.observable))
        figure.colorbar(ScalarMappable(norm, "viridis"), ax=panels, label="rate [Hz]")
        handles, texts = panels[0, -1].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside upper center", ncols=2, fontsize=11, frameon=False)
    return figure


def _draw_density(part: Axes, edges: FloatArray, density: Density, rows: slice, norm: LogNorm) -> None:
    rate = np.where(density.rate[rows] > 0, density.rate[rows], np.nan)
    part.pcolormesh(edges, density.y_edges, rate.T, cmap="viridis", norm=norm, rasterized=True)
    lines = ((0.8, None), (2.2, "threshold with the correction"), (0.8, None))
    for quantile, (width, label) in zip(density.threshold[rows].T, lines, strict=True):
        part.stairs(quantile, edges, baseline=None, color=style.COLOURS[2], linewidth=width, label=label)
    if density.constant is not None:
        part.axhline(density.constant, color="black", linestyle="--", label="threshold without it")
