"""Figures of plain arrays: rates by name, combinations, curves against thresholds and in bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.files import write_text
from trigemu.rates.results import MenuRates, TriggerRates
from trigemu.results.figures import style
from trigemu.results.figures.style import COLOURS, literal, rate_axis
from trigemu.results.numbers import in_hz, short
from trigemu.results.section import Picture
from trigemu.results.table import in_csv

#: Line styles, so that lines differ not only in colour.
DASHES = ("-", "--", "-.", ":")
#: Lower end of a logarithmic axis of curves, as a fraction of the highest value.
DECADES_OF_CURVES = 1e-5
#: Factors of the powers of ten at which contours are drawn if none are given.
_STEPS = (1.0, 2.0, 5.0)

MARKERS = ("o", "s", "D", "^", "v")
#: Labels of the legend from this length on are below each other.
WIDE = 30
#: Lower end of the axis, as a fraction of the highest rate.
DECADES_SHOWN = 1e-6
#: Largest number of bars whose numbers fit side by side.
FEW = 8
#: Colours of the marks of triggers that a combination has, and has not.
DARK, FAINT = "#444444", "#d8d8d8"

#: Values in bins, or at points, with an error of each; also as rows of an array.
Errors = tuple[FloatArray, FloatArray] | FloatArray
#: Values, and the lower and upper ends of their errors, NaN where there is no event.
Band = tuple[FloatArray, FloatArray, FloatArray]
#: The same by the names of their curves.
Curves = Mapping[str, Errors]
Bands = Mapping[str, Band]


def without_ticks(*axes: Axis) -> None:
    """Remove the ticks of axes of names."""
    for axis in axes:
        axis.set_minor_locator(NullLocator())
        axis.set_tick_params(length=0)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Give each name a row, from the top, without ticks."""
    axes.set_yticks(range(len(names)), list(map(literal, names)), fontsize=12)
    without_ticks(axes.yaxis)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.set_xlabel("rate [Hz]", fontsize=14)


def draw_rates(names: Sequence[str], total: Curves, unique: Curves) -> Figure:
    """Draw, for each menu, total (full) and unique rates (open) in Hz and their errors, float64[names] each,
    NaN where the menu has none of this name. The legend has both points of each menu."""
    step = 0.6 / max(len(total) - 1, 1)
    first = -0.3 if len(total) > 1 else 0.0
    with style.figure(5.8, 1.7 + 0.2 * len(names) * max(len(total), 1.4)) as (made, axes):
        points: list[Any] = []  # full and open, of each menu
        labels: list[str] = []
        for number, menu in enumerate(total):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            rows = np.arange(len(names)) + first + step * number
            drawn = []
            for (hz, error), face, size in ((unique[menu], "white", 9), (total[menu], colour, 5)):
                shown, low = np.where(hz > 0, hz, np.nan), np.minimum(error, 0.999 * hz)
                bars = axes.errorbar(
                    shown, rows, xerr=(low, error), fmt=marker, color=colour, markerfacecolor=face,
                    markersize=size, linewidth=1.2,
                )  # fmt: skip
                drawn.append(bars.lines[0])
            points.append(tuple(reversed(drawn)))
            labels.append(literal(f"{menu}: total, unique"))
        highest = max((float(np.nanmax(hz, initial=0.0)) for hz, _ in total.values()), default=0.0)
        if highest > 0:
            axes.set_xscale("log")
            rates = np.concatenate([hz for both in (total, unique) for hz, _ in both.values()])
            lowest = max(float(np.nanmin(rates[rates > 0])), DECADES_SHOWN * highest)
            axes.set_xlim(0.4 * lowest, 2.5 * highest)
            rate_axis(axes.xaxis, lowest, highest)
        for border in np.arange(len(names) - 1) + 0.5:
            axes.axhline(border, color="lightgrey", linewidth=0.8)
        _name_rows(axes, names)
        made.legend(
            points, labels, loc="outside upper left", fontsize=11, frameon=False,
            ncols=2 if max(map(len, labels), default=0) < WIDE else 1,
            handler_map={tuple: HandlerTuple(ndivide=None)},
        )  # fmt: skip
    return made


def draw_combinations(
    names: Sequence[str], members: BoolArray, hz: FloatArray, error_hz: FloatArray
) -> Figure:
    """Draw the rates of combinations of triggers (an UpSet plot). members: bool[k, t]; hz, error_hz:
    float64[k]."""
    used = np.flatnonzero(members.any(axis=0))
    k, t = len(members), len(used)
    highest, positive = float(hz.max(initial=0.0)), hz[hz > 0]
    lowest = max(highest * DECADES_SHOWN, 0.3 * float(positive.min(initial=highest))) if highest else 1.0
    with style.figure(max(5.6, 2.6 + 0.42 * k), 3.4 + 0.27 * t) as (made, axes):
        axes.remove()
        top, bottom = made.subplots(2, 1, sharex=True, height_ratios=[2.6, 0.27 * t + 0.2])
        top.bar(np.arange(k), hz, width=0.66, color=COLOURS[0])
        low = np.minimum(error_hz, 0.999 * np.maximum(hz, 0))  # a logarithmic axis has no room below zero
        top.errorbar(np.arange(k), hz, yerr=(low, error_hz), fmt="none", ecolor="black", elinewidth=1.2)
        for place, (rate, error) in enumerate(zip(hz, error_hz, strict=True)):
            top.annotate(
                short(rate), (place, max(rate + error, lowest)), (0, 4), textcoords="offset points",
                rotation=0 if k <= FEW else 90, ha="center", va="bottom", fontsize=10.5,
            )  # fmt: skip
        top.set_yscale("log")
        rate_axis(top.yaxis, lowest, highest)
        top.set_ylim(lowest, max(highest, 10 * lowest) * (highest / lowest or 1.0) ** 0.3)
        top.set_ylabel("rate [Hz]", fontsize=14)
        for row in range(t):
            bottom.plot(range(k), [row] * k, "o", color=FAINT, markersize=7, zorder=1)
        for column, has in enumerate(members[:, used]):
            rows = np.flatnonzero(has)
            bottom.plot([column] * len(rows), rows, "o-", color=DARK, markersize=7, linewidth=2, zorder=2)
        bottom.set_yticks(range(t), [literal(names[int(i)]) for i in used], fontsize=11)
        bottom.set_ylim(t - 0.4, -0.6)
        bottom.set_xticks([])
        without_ticks(bottom.xaxis, bottom.yaxis, top.xaxis)
        for side in ("top", "right", "bottom", "left"):
            bottom.spines[side].set_visible(False)
        bottom.set_xlim(-0.6, k - 0.4)
    return made


def draw_samples(names: Sequence[str], hz: Sequence[float], signals: Sequence[bool]) -> Figure:
    """Draw the rate of each sample in Hz; signals have open markers."""
    with style.figure(5.8, 1.3 + 0.32 * len(names)) as (made, axes):
        points: dict[str, Any] = {"marker": "o", "color": COLOURS[0], "markersize": 8, "linestyle": ""}
        faces = {False: COLOURS[0], True: "white"}
        for row, (rate, signal) in enumerate(zip(hz, signals, strict=True)):
            axes.plot(rate, row, markerfacecolor=faces[signal], **points)
        for label, signal in (("background", False), ("signal", True)):
            axes.plot([], [], markerfacecolor=faces[signal], label=label, **points)
        if hz:
            axes.set_xscale("log")
            axes.set_xlim(0.3 * min(hz), 3.0 * max(hz))
            rate_axis(axes.xaxis, min(hz), max(hz))
        _name_rows(axes, names)
        axes.grid(axis="y", color="lightgrey", linewidth=0.8)
        made.legend(loc="outside upper left", ncols=2, fontsize=11, frameon=False)
    return made


def draw_band(axes: Axes, x: FloatArray, band: Band, name: str, number: int, **look: Any) -> None:
    """Draw values as a line over a band of their errors, in the colour of a number: steps if x has the edges
    of bins, else points."""
    value, low, high = (np.where(np.isnan(band[0]), np.nan, part) for part in band)
    colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    line: dict[str, Any] = {"linewidth": 1.8, "zorder": 3, "color": colour, "linestyle": dashes} | look
    of_band: dict[str, Any] = {"color": line["color"], "alpha": 0.24, "linewidth": 0, "zorder": 2}
    if len(x) > len(value):
        axes.stairs(value, x, label=literal(name), **{"baseline": None, **line})
        axes.stairs(high, x, baseline=low, fill=True, **of_band)
    else:
        axes.plot(x, value, label=literal(name), marker="o" if len(x) < 40 else "", markersize=3, **line)
        axes.fill_between(x, low, high, **of_band)


def above_zero(hz: FloatArray, error: FloatArray) -> Band:
    """Return rates above 0, and the ends of their errors where a logarithmic axis has room for them."""
    return np.where(hz > 0, hz, np.nan), np.maximum(hz - error, 1e-3 * hz), hz + error


def draw_efficiency(
    label: str, unit: str, edges: FloatArray, curves: Bands, gains: Bands, title: str = ""
) -> Figure:
    """Draw efficiencies with their intervals above gains, differences with their errors. edges: float64[bins
    + 1]; curves, gains: mapping of str to three of float64[bins]."""
    with style.figure(5.6, 5.0 if gains else 4.0) as (made, axes):
        axes.remove()
        ratios = [2.2, 1.3] if gains else [1.0]
        panels = made.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        for panel, drawn in zip(panels, (curves, gains), strict=False):
            for name, band in drawn.items():
                draw_band(panel, edges, band, name, [*curves].index(name))
        # From 0 to 1, or beyond where negative weights take an efficiency there.
        lows, highs = (np.concatenate([[0.0], *(band[side] for band in curves.values())]) for side in (1, 2))
        panels[0].set_ylim(1.05 * np.nanmin(lows), 1.05 * max(np.nanmax(highs), 1.0))
        panels[0].set_ylabel("efficiency", fontsize=14)
        panels[0].set_title(literal(title), loc="right", fontsize=11.5)
        if gains:
            panels[1].axhline(0.0, color="black", linewidth=1.0, zorder=1)
            panels[1].set_ylabel("gain", fontsize=14)
            made.align_ylabels(panels)
        panels[-1].set_xlim(edges[0], edges[-1])
        panels[-1].set_xlabel(style.axis_label(label, unit), fontsize=14)
        handles, names = panels[0].get_legend_handles_labels()
        made.legend(handles, names, loc="outside upper left", ncols=3, fontsize=11.5, frameon=False)
    return made


def draw_scan(
    label: str, x: FloatArray, curves: Curves, budgets: Sequence[float] = (), what: str = "rate [Hz]"
) -> Figure:
    """Draw curves, name → rate and error in Hz, against the values of a threshold, or in the bins that x has
    the edges of; with lines at `budgets` in Hz."""
    with style.figure() as (made, axes):
        rates = np.concatenate([hz for hz, _ in curves.values()])
        positive = rates[rates > 0]
        for number, (name, (hz, error)) in enumerate(curves.items()):
            band = above_zero(hz, error) if len(positive) else (hz, hz - error, hz + error)
            draw_band(axes, x, band, name, number)
        if len(positive):
            ends = max(positive.max() * DECADES_OF_CURVES, 0.5 * positive.min()), 3 * positive.max()
            axes.set_yscale("log")
            axes.set_ylim(*ends)
            rate_axis(axes.yaxis, *ends)
        for budget in budgets:
            axes.axhline(budget, color="black", linestyle=":", linewidth=1.2)
            axes.annotate(
                in_hz(budget), (1.0, budget), (-4, 3), ("axes fraction", "data"), "offset points",
                ha="right", fontsize=10,
            )  # fmt: skip
        if len(x) > 1:
            axes.set_xlim(x[0], x[-1])
        axes.set_xlabel(style.axis_label(label))
        axes.set_ylabel(what)
        ncols = 3 if max(map(len, curves)) < WIDE else 1
        axes.legend(fontsize=11, ncols=ncols, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    return made


def draw_plane(
    labels: tuple[str, str],
    values: tuple[FloatArray, FloatArray],
    hz: FloatArray,
    contours: Sequence[float] = (),
    title: str = "",
) -> Figure:
    """Draw the rate of a menu, hz float64[first, second], over the values of two thresholds, with contours
    at rates in Hz, by default at about ten round numbers, or fewer."""
    with style.figure() as (made, axes):
        first, second = (np.asarray(v, np.float64) for v in values)
        low, high = (
            float(end(hz[hz > 0], initial=start)) for end, start in ((np.min, np.inf), (np.max, 0.0))
        )
        if low < high:
            shown = np.ma.masked_less_equal(hz.T, 0.0)
            mesh = axes.pcolormesh(
                first, second, shown, norm=LogNorm(low, high), cmap="cividis", shading="nearest"
            )
            bar = made.colorbar(mesh, ax=axes, label="rate of the menu [Hz]")
            bar.ax.yaxis.set_major_locator(LogLocator(subs=_STEPS))
            bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: in_hz(value)))
            bar.ax.minorticks_off()
            steps = _STEPS if high < 1e4 * low else (1.0,)
            levels = sorted(set(contours)) or LogLocator(subs=steps, numticks=99).tick_values(low, high)
            inside = [level for level in levels if low < level < high]
            if inside and len(first) > 1 and len(second) > 1:
                lines = axes.contour(first, second, hz.T, levels=inside, colors="white", linewidths=1.5)
                for text in lines.clabel(fmt=in_hz, fontsize=10):
                    text.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="black")])
        axes.set_xlabel(style.axis_label(labels[0]))
        axes.set_ylabel(style.axis_label(labels[1]))
        axes.set_title(literal(title), loc="left", fontsize=12)
    return made


def of_triggers(
    variants: Sequence[MenuRates], kind: str = "triggers", names: Sequence[str] | None = None
) -> Picture:
    """Draw the rates of the triggers, or of another kind of parts such as "groups", of menus. names: of the
    variants; by default those of their menus."""
    names = names or [variant.menu.name for variant in variants]
    caption = f"Rates by {kind.removesuffix('s')}: total (full) and unique (open)."
    return by_name(kind, caption, {n: getattr(v, kind) for n, v in zip(names, variants, strict=True)})


def by_name(name: str, caption: str, listed: Mapping[str, Sequence[TriggerRates]]) -> Picture:
    """Draw the rates of triggers or groups of each menu, or of whatever else they are listed by."""
    names = list(dict.fromkeys(entry.name for entries in listed.values() for entry in entries))
    numbers: dict[str, Sequence[object] | FloatArray] = {name.removesuffix("s"): names}
    drawn: dict[str, dict[str, Errors]] = {"total": {}, "unique": {}}
    labels = style.shown(listed)
    for menu, entries in listed.items():
        known = {entry.name: entry.rates for entry in entries}
        for quantity, of_menus in drawn.items():
            rates = [known[entry][quantity] if entry in known else None for entry in names]
            hz, errors = np.array([(r.hz, r.error_hz) if r else (np.nan, np.nan) for r in rates]).T
            numbers[f"{menu}_{quantity}_hz"], numbers[f"{menu}_{quantity}_error_hz"] = hz, errors
            of_menus[labels[menu]] = hz, errors
    return Picture(name, caption, draw_rates([*style.shown(names).values()], **drawn), numbers)


def write_pictures(
    pictures: Iterable[Picture], folder: Path, endings: Sequence[str] = ("png",)
) -> list[Path]:
    """Write pictures into a folder, each as files of some endings; csv has its numbers, NaN left empty. The
    names differ by more than case, which some file systems ignore."""
    files: list[Path] = []
    taken: set[str] = set()
    for picture in pictures:
        names = chain([picture.name], (f"{picture.name}_{number}" for number in count(2)))
        name = next(name for name in names if name.casefold() not in taken)
        taken.add(name.casefold())
        for file in (folder / f"{name}.{ending}" for ending in endings):
            if file.suffix == ".csv":
                columns = picture.numbers.values()
                write_text(file, in_csv([picture.numbers, *zip(*map(list, columns), strict=True)]))
            else:
                style.save(picture.figure, file)
            files.append(file)
    return files
