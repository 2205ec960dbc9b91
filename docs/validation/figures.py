"""The pictures of the validation page, from plain arrays, in the style of trigemu's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trigemu.results.figures.style import COLOURS, axis_label, figure, literal, log_axis, rate_axis

Array = NDArray[np.float64]
#: A label, a unit, edges[n + 1], and by the name of the sample the rate and its error in Hz, [n] each.
Panel = tuple[str, str, Array, Mapping[str, tuple[Array, Array]]]
#: A threshold, a rate in Hz, its error.
Point = tuple[float, float, float]
SUM = "sum of the background"


def draw_spectra(panels: Sequence[Panel], names: Sequence[str], signals: frozenset[str]) -> Figure:
    """Draw spectra side by side, each class in a colour of its own and their sum in black; signals, which are
    not in the sum, are dashed. `names` are all classes of the sample."""
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)} | {SUM: "black"}
    with figure(5.0 * len(panels), 4.6) as (made, axes):
        axes.remove()
        grid = np.atleast_1d(made.subplots(1, len(panels)))
        for one, (label, unit, edges, lines) in zip(grid, panels, strict=True):
            _spectrum(one, label, unit, edges, lines, signals, colours)
        found = [one.get_legend_handles_labels() for one in grid]
        handles, labels = max(found, key=lambda pair: len(pair[1]))
        made.legend(handles, labels, loc="outside upper center", ncols=8, frameon=False, fontsize=12)
    return made


def _spectrum(
    axes: Axes,
    label: str,
    unit: str,
    edges: Array,
    lines: Mapping[str, tuple[Array, Array]],
    signals: frozenset[str],
    colours: Mapping[str, str],
) -> None:
    width = np.diff(edges) if unit else np.ones(len(edges) - 1)
    background = [name for name in lines if name not in signals]
    hz = sum((lines[name][0] for name in background), np.zeros(len(width)))
    error = np.sqrt(sum((lines[name][1] ** 2 for name in background), np.zeros(len(width))))
    for name, (rate, spread) in {SUM: (hz, error), **lines}.items():
        rate, spread = rate / width, spread / width
        style = "--" if name in signals else "-"
        thick = 2.4 if name == SUM else 1.3
        seen = np.where(rate > 0, rate, np.nan)
        axes.stairs(seen, edges, color=colours[name], label=literal(name), linestyle=style, linewidth=thick)
        low = np.maximum(rate - spread, 1e-3 * rate)
        high, colour = rate + spread, colours[name]
        axes.stairs(high, edges, baseline=low, fill=True, color=colour, alpha=0.2, linewidth=0)
    if edges[0] > 0 and edges[-1] > 5 * edges[0]:
        axes.set_xscale("log")
        log_axis(axes.xaxis)
        axes.tick_params(axis="x", labelsize=11)
    axes.set_yscale("log")
    axes.set_xlim(edges[0], edges[-1])
    highest = float(np.max(hz / width, initial=0.0))
    lowest = float(np.min((hz / width)[hz > 0], initial=highest))
    if highest > 0:
        axes.set_ylim(max(highest * 1e-9, lowest / 20), 3 * highest)
    axes.set_xlabel(axis_label(label, unit), fontsize=14)
    axes.set_ylabel(literal(f"rate [Hz/{unit}]") if unit else "rate [Hz]", fontsize=14)


def draw_thresholds(
    curves: Sequence[tuple[str, str, Array, Array, Array, Sequence[Point]]], published: str
) -> Figure:
    """Draw rates above thresholds: label, unit, thresholds[n], rates[n] and errors[n] in Hz, and published
    points; `published` names the latter."""
    rows = -(-len(curves) // 3)
    with figure(13.5, 4.1 * rows) as (made, axes):
        axes.remove()
        grid = made.subplots(rows, 3, squeeze=False).ravel()
        for one, (label, unit, thresholds, hz, error, points) in zip(grid, curves, strict=False):
            seen = hz > 0
            one.plot(thresholds[seen], hz[seen], color=COLOURS[0], label="sample")
            low, high = np.maximum(hz - error, 1e-2 * hz)[seen], (hz + error)[seen]
            one.fill_between(thresholds[seen], low, high, color=COLOURS[0], alpha=0.3, linewidth=0)
            if points:
                x, y, spread = (np.array(column) for column in zip(*points, strict=True))
                one.errorbar(x, y, spread, fmt="s", color=COLOURS[2], markersize=6, label=literal(published))
            one.set_yscale("log")
            shown = np.concatenate([hz[seen], [point[1] for point in points]])
            low_end, high_end = max(shown.min() / 2, 0.5), 3 * shown.max()
            one.set_ylim(low_end, high_end)
            rate_axis(one.yaxis, low_end, high_end)
            one.set_xlim(thresholds[0], thresholds[-1])
            one.set_xlabel(axis_label(f"{label} above", unit), fontsize=13)
            one.set_ylabel("rate [Hz]", fontsize=13)
        for one in grid[len(curves) :]:
            one.remove()
        found = [one.get_legend_handles_labels() for one in grid[: len(curves)]]
        handles, labels = max(found, key=lambda pair: len(pair[1]))
        made.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=13)
    return made


def draw_differential(
    groups: Mapping[str, tuple[Array, Array, Array, Array, Array, Array]], unit: str, label: str
) -> Figure:
    """Draw cross-sections and ratios: by the name of a range of η, the lower and upper ends of bins, the
    published values and errors, and the sample's, [n] each."""
    with figure(7.5, 6.4) as (made, axes):
        axes.remove()
        top, low = made.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        for number, (name, (start, stop, value, error, ours, spread)) in enumerate(groups.items()):
            colour = COLOURS[number]
            middle = np.sqrt(start * stop) * (1 + 0.012 * (number - (len(groups) - 1) / 2))
            theirs, mine = literal(f"{name}, published"), literal(f"{name}, sample")
            top.errorbar(middle, value, error, fmt="s", color=colour, mfc="none", label=theirs)
            seen = ours > 0
            top.errorbar(middle[seen], ours[seen], spread[seen], fmt="o", color=colour, label=mine)
            ratio = ours[seen] / value[seen]
            both = np.hypot(spread[seen] / value[seen], ratio * error[seen] / value[seen])
            low.errorbar(middle[seen], ratio, both, fmt="o", color=colour)
        low.axhline(1, color="black", linewidth=1)
        low.set_ylim(0, 2.5)
        low.set_ylabel("sample / published")
        low.set_xscale("log")
        log_axis(low.xaxis)
        low.set_xlabel(axis_label(label, "GeV"))
        top.set_yscale("log")
        top.set_ylabel(literal(f"cross-section [{unit}]"))
        top.legend(fontsize=10, frameon=False)
    return made
