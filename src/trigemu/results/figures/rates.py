"""Rates: of groups or triggers in each menu, of combinations of triggers, and of samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.ticker import NullLocator

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.rates.results import MenuRates, TriggerRates
from trigemu.results.figures.style import COLOURS, figure, literal, rate_axis, save, shown
from trigemu.results.numbers import short
from trigemu.results.section import Picture

MARKERS = ("o", "s", "D", "^", "v")
#: Labels of the legend from this length on are below each other.
WIDE = 30
#: Lower end of the axis, as a fraction of the highest rate.
DECADES_SHOWN = 1e-6


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


def draw_rates(
    names: Sequence[str],
    total: Mapping[str, tuple[FloatArray, FloatArray]],
    unique: Mapping[str, tuple[FloatArray, FloatArray]],
) -> Figure:
    """Draw, for each menu, total (full) and unique rates (open) in Hz and their errors, float64[names] each,
    NaN where the menu has none of this name. The legend has both points of each menu."""
    step = 0.6 / max(len(total) - 1, 1)
    first = -0.3 if len(total) > 1 else 0.0
    with figure(5.8, 1.7 + 0.2 * len(names) * max(len(total), 1.4)) as (made, axes):
        points: list[Any] = []  # full and open, of each menu
        labels: list[str] = []
        for number, menu in enumerate(total):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            rows = np.arange(len(names)) + first + step * number
            drawn = []
            for (hz, error), face, size in ((unique[menu], "white", 9), (total[menu], colour, 5)):
                shown = np.where(hz > 0, hz, np.nan)
                low = np.minimum(error, 0.999 * hz)
                bars = axes.errorbar(
                    shown, rows, xerr=(low, error), fmt=marker, color=colour, markerfacecolor=face,
                    markersize=size, linewidth=1.2,
                )  # fmt: skip
                drawn.append(bars.lines[0])
            points.append(tuple(reversed(drawn)))
            labels.append(literal(f"{menu}: total, unique"))
        highest = max((float(np.nanmax(hz)) for hz, _ in total.values()), default=0.0)
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


def of_groups(variants: Sequence[MenuRates]) -> Picture | None:
    """Draw the rates of groups, if there are any."""
    listed = {v.menu.name: v.groups for v in variants}
    caption = "Rates by group: total (full) and unique (open)."
    return by_name("groups", caption, listed) if any(listed.values()) else None


def of_triggers(variants: Sequence[MenuRates]) -> Picture:
    """Draw the rates of triggers."""
    caption = "Rates by trigger: total (full) and unique (open)."
    return by_name("triggers", caption, {v.menu.name: v.triggers for v in variants})


def by_name(name: str, caption: str, listed: Mapping[str, Sequence[TriggerRates]]) -> Picture:
    """Draw the rates of triggers or groups of each menu, or of whatever else they are listed by."""
    names = list(dict.fromkeys(entry.name for entries in listed.values() for entry in entries))
    numbers: dict[str, Sequence[object] | FloatArray] = {name.removesuffix("s"): names}
    drawn: dict[str, dict[str, tuple[FloatArray, FloatArray]]] = {"total": {}, "unique": {}}
    labels = shown(listed)
    for menu, entries in listed.items():
        known = {entry.name: entry.rates for entry in entries}
        for quantity, of_menus in drawn.items():
            rates = [known[entry][quantity] if entry in known else None for entry in names]
            hz = np.array([rate.hz if rate else np.nan for rate in rates])
            errors = np.array([rate.error_hz if rate else np.nan for rate in rates])
            numbers[f"{menu}_{quantity}_hz"], numbers[f"{menu}_{quantity}_error_hz"] = hz, errors
            of_menus[labels[menu]] = hz, errors
    return Picture(name, caption, draw_rates([*shown(names).values()], **drawn), numbers)


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Write pictures as PNG into a folder."""
    files = []
    for picture in pictures:
        files.append(folder / f"{picture.name}.png")
        save(picture.figure, files[-1])
    return files


#: Largest number of bars whose numbers fit side by side.
FEW = 8
#: Lower end of the logarithmic axis, as a fraction of the highest rate.
DARK, FAINT = "#444444", "#d8d8d8"


def draw_combinations(
    names: Sequence[str], members: BoolArray, hz: FloatArray, error_hz: FloatArray
) -> Figure:
    """Draw the rates of combinations of triggers (an UpSet plot). members: bool[k, t]; hz, error_hz:
    float64[k]."""
    used = np.flatnonzero(members.any(axis=0))
    k, t = len(members), len(used)
    with figure(max(5.6, 2.6 + 0.42 * k), 3.4 + 0.27 * t) as (made, axes):
        axes.remove()
        top, bottom = made.subplots(2, 1, sharex=True, height_ratios=[2.6, 0.27 * t + 0.2])
        _draw_bars(top, hz, error_hz)
        grid = members[:, used]
        for row in range(t):
            bottom.plot(range(k), [row] * k, "o", color=FAINT, markersize=7, zorder=1)
        for column in range(k):
            rows = np.flatnonzero(grid[column])
            bottom.plot([column] * len(rows), rows, "o-", color=DARK, markersize=7, linewidth=2, zorder=2)
        bottom.set_yticks(range(t), [literal(names[int(i)]) for i in used], fontsize=11)
        bottom.set_ylim(t - 0.4, -0.6)
        bottom.set_xticks([])
        without_ticks(bottom.xaxis, bottom.yaxis, top.xaxis)
        for side in ("top", "right", "bottom", "left"):
            bottom.spines[side].set_visible(False)
        bottom.set_xlim(-0.6, k - 0.4)
    return made


def _draw_bars(axes: Axes, hz: FloatArray, error_hz: FloatArray) -> None:
    x = np.arange(len(hz))
    highest, positive = float(hz.max(initial=0.0)), hz[hz > 0]
    lowest = max(highest * DECADES_SHOWN, 0.3 * float(positive.min(initial=highest))) if highest else 1.0
    axes.bar(x, hz, width=0.66, color=COLOURS[0])
    low = np.minimum(error_hz, 0.999 * np.maximum(hz, 0))  # a logarithmic axis has no room below zero
    axes.errorbar(x, hz, yerr=(low, error_hz), fmt="none", ecolor="black", elinewidth=1.2)
    for place, rate, error in zip(x, hz, error_hz, strict=True):
        axes.annotate(
            short(rate), (place, max(rate + error, lowest)), (0, 4), textcoords="offset points",
            rotation=0 if len(hz) <= FEW else 90, ha="center", va="bottom", fontsize=10.5,
        )  # fmt: skip
    axes.set_yscale("log")
    rate_axis(axes.yaxis, lowest, highest)
    axes.set_ylim(lowest, max(highest, 10 * lowest) * (highest / lowest or 1.0) ** 0.3)
    axes.set_ylabel("rate [Hz]", fontsize=14)


def draw_samples(names: Sequence[str], hz: Sequence[float], signals: Sequence[bool]) -> Figure:
    """Draw the rate of each sample in Hz; signals have open markers."""
    with figure(5.8, 1.3 + 0.32 * len(names)) as (made, axes):
        for row, (rate, signal) in enumerate(zip(hz, signals, strict=True)):
            face = "white" if signal else COLOURS[0]
            axes.plot(rate, row, "o", color=COLOURS[0], markerfacecolor=face, markersize=8)
        axes.plot([], [], "o", color=COLOURS[0], markersize=8, label="background")
        axes.plot([], [], "o", color=COLOURS[0], markersize=8, markerfacecolor="white", label="signal")
        if hz:
            axes.set_xscale("log")
            axes.set_xlim(0.3 * min(hz), 3.0 * max(hz))
            rate_axis(axes.xaxis, min(hz), max(hz))
        _name_rows(axes, names)
        axes.grid(axis="y", color="lightgrey", linewidth=0.8)
        made.legend(loc="outside upper left", ncols=2, fontsize=11, frameon=False)
    return made
