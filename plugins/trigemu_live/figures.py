"""Figures: what is recorded along the orbit, in the train, by cause, between accepts, against the rate; and
rates and efficiencies through a fill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import file_stem
from trigemu.results import numbers
from trigemu.results.figures import style
from trigemu.results.section import Picture

from .beam import DISTANCES
from .filling import ORBIT
from .results import LiveRates
from .rules import live_fraction

#: The triggers with the largest losses that are drawn.
SHOWN = 12
#: The curve of the live fraction reaches to this rate, or beyond that of the menu.
_CURVE_HZ = 200e3


def figures_of(result: LiveRates) -> Iterator[Picture]:
    """Yield the figures of a result."""
    first = result.levels[0]
    yield _along_the_orbit(result)
    if result.rules.rules:
        if result.filling.position.any():
            yield _by_position(result)
        yield _by_cause(result)
    if result.distances.sum() > 1:
        yield _distances(result)
    if result.rules.rules and first.before.events:
        yield _live_curve(result)


def _along_the_orbit(result: LiveRates) -> Picture:
    """Draw the mean rate of a slot in parts of about 12 slots of one train."""
    (before, after), filled = result.by_slot, result.filling.filled
    bounds, edges = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), ORBIT], [0]
    for first, last in pairwise(bounds):
        parts = max(1, round((last - first) / 12)) if filled[first] else 1
        edges += np.linspace(first, last, parts + 1)[1:].round().astype(int).tolist()
    seconds = result.seconds * np.diff(edges)
    before_hz, after_hz = (np.add.reduceat(v, edges[:-1]) / seconds for v in (before, after))
    with style.figure(10.0, 3.6) as (figure, axes):
        axes.stairs(before_hz, edges, color=style.COLOURS[3], label="before the rules")
        axes.stairs(after_hz, edges, fill=True, color=style.COLOURS[0], label="recorded", alpha=0.9)
        axes.set_xlim(0, ORBIT)
        _label(figure, axes, "slot of the orbit", "accepts of a slot in Hz", columns=2)
    caption = (
        "Accepts of the first level along the orbit, before and after the rules: the mean rate of a slot."
    )
    numbers = {"slot": np.arange(1, ORBIT + 1), "before": before, "after": after}
    return Picture("live_orbit", caption, figure, numbers)


def _by_position(result: LiveRates) -> Picture:
    """Draw the lost part of the accepts by position in the train, stacked by rule."""
    before, after, lost = result.by_position
    tops = np.cumsum(100.0 * lost / np.maximum(before, 1), axis=0)
    edges = np.arange(0.5, len(before) + 1.0)
    with style.figure(7.0, 4.2) as (figure, axes):
        feet = [0 * tops[0], *tops[:-1]]
        for number, (label, top, foot) in enumerate(zip(result.rules.labels, tops, feet, strict=True)):
            label, colour = style.literal(label), _colour(number)
            axes.stairs(top, edges, baseline=foot, fill=True, color=colour, label=label)
        part = tops[-1] / 100.0
        errors = 100.0 * np.sqrt(part * (1.0 - part) / np.maximum(before, 1))
        axes.errorbar(edges[1:] - 0.5, tops[-1], errors, fmt="none", ecolor="black", elinewidth=1)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0.0, 1.1 * max(float((tops[-1] + errors).max()), 1e-3))
        _label(figure, axes, "position in the train", "accepts that are lost in %")
    caption = "The part of the accepts that are recorded, by position in the train, and what each rule takes."
    numbers = {"position": np.arange(1, len(before) + 1), "before": before, "after": after}
    return Picture("live_position", caption, figure, numbers)


def _by_cause(result: LiveRates) -> Picture:
    """Draw for each trigger a bar of what each rule takes in Hz."""
    labels = result.rules.labels
    items = sorted(result.triggers, key=lambda item: -sum(item.lost.values()))[:SHOWN]
    lost = np.array([[item.lost.get(label, 0) for label in labels] for item in items]) / result.seconds
    names = [item.name for item in items]
    left, rows, shown = np.cumsum(lost, axis=1) - lost, np.arange(len(names)), style.shown(names)
    with style.figure(7.5, 1.6 + 0.36 * len(names)) as (figure, axes):
        for number, label in enumerate(labels):
            bars = rows, lost[:, number], 0.8, left[:, number]
            axes.barh(*bars, color=_colour(number), label=style.literal(label))
        axes.set_yticks(rows, [shown[name] for name in names], fontsize=11)
        axes.yaxis.set_tick_params(length=0, which="both")
        axes.set_ylim(len(names) - 0.4, -0.6)
        _label(figure, axes, "lost accepts in Hz", "")
    caption = "Accepts of each trigger that are lost, by the rule that vetoes them."
    return Picture(
        "live_causes", caption, figure, {"trigger": names, **dict(zip(labels, lost.T, strict=True))}
    )


def _distances(result: LiveRates) -> Picture:
    """Draw the density of distances, and an exponential of the same mean."""
    low, counts = DISTANCES, result.distances
    last = int(np.flatnonzero(counts)[-1]) + 1
    edges = np.append(low, 2 * low[-1])[: last + 1].astype(np.float64)
    drawn, widths = counts[:last], np.diff(edges)
    mean = float((drawn * np.sqrt(edges[:-1] * (edges[1:] - 1))).sum() / drawn.sum())
    expected = drawn.sum() * -np.diff(np.exp(-(edges - 1.0) / mean)) / widths
    with style.figure(7.0, 4.4) as (figure, axes):
        axes.stairs(drawn / widths, edges, fill=True, color=style.COLOURS[0], alpha=0.7, label="recorded")
        middle = np.sqrt(edges[:-1] * edges[1:])
        axes.errorbar(middle, drawn / widths, np.sqrt(drawn) / widths, fmt="none", ecolor="black")
        axes.stairs(expected, edges, color="black", label="exponential", baseline=None)
        axes.set_xscale("log")
        axes.set_yscale("log")
        distance = "crossings of 25 ns from one accept to the next"
        _label(figure, axes, distance, "accepts per crossing", columns=2)
    caption = "Distances between recorded accepts; line: an exponential of the same mean."
    return Picture("live_distances", caption, figure, {"from": low, "accepts": counts})


def _live_curve(result: LiveRates) -> Picture:
    """Draw the live fraction of independent crossings against the rate before the rules, and the menu."""
    hz = result.levels[0].before.hz
    top = min(max(_CURVE_HZ, 1.5 * hz), result.filling.crossing_rate_hz)
    rates = np.linspace(top / 20, top, 20)
    how = {"attempts": 100_000, "seed": result.seed}
    points = [live_fraction(result.rules, result.filling, rate, **how) for rate in rates.tolist()]
    live, errors = np.array([(point.value, point.error) for point in points]).T
    with style.figure(6.4, 4.6) as (figure, axes):
        label, colour = style.literal(result.rules.name), style.COLOURS[0]
        axes.errorbar(rates / 1e3, 100 * live, 100 * errors, color=colour, marker=".", label=label)
        of_menu = [hz / 1e3], [100 * result.live], [100 * result.live_error]
        axes.errorbar(*of_menu, fmt="o", color="black", label="menu")
        axes.set_xlim(0, 1.02 * top / 1e3)
        axes.set_ylim(min(90.0, 100 * float(live.min()) - 1.0), 100.5)
        _label(figure, axes, "rate before the rules in kHz", "recorded accepts in %", columns=2)
    caption = (
        "The part of the accepts that are recorded against their rate before the rules, for independent "
        "crossings; dot: this menu."
    )
    return Picture("live_curve", caption, figure, {"input_rate_hz": rates, "live": live})


def picture_of_fill(
    key: str,
    label: str,
    hours: FloatArray,
    lines: Mapping[str, FloatArray],
    target: float | None = None,
    tolerance: float = 0.0,
    names: Sequence[str] = (),
) -> Picture:
    """Draw values, float64[steps] by the names of lines, against time, and a band around a target. names: of
    the values 0, 1, 2 …"""
    with style.figure(7.0, 4.2) as (figure, axes):
        if target:
            low, high = target * (1 - tolerance), target * (1 + tolerance)
            axes.axhspan(low, high, color="lightgrey", label=f"±{100 * tolerance:g} % of the target")
        for number, (way, values) in enumerate(lines.items()):
            axes.step(hours, values, where="post", color=_colour(number), label=way)
        if label.endswith("Hz"):
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.short(value)))
        low, high = (float(end([end(values) for values in lines.values()])) for end in (np.min, np.max))
        room = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
        axes.set_ylim(0.0 if 0.0 <= low < 0.7 * high else low - room, high + room)
        if names:
            axes.set_yticks(range(len(names)), list(style.shown(names).values()))
            axes.set_ylim(-0.5, len(names) - 0.5)
            axes.yaxis.set_tick_params(length=0, which="minor")
        axes.set_xlim(hours[0], hours[-1])
        _label(figure, axes, "time in hours", style.literal(label))
    name, caption = f"fill_{file_stem(key)}", f"{label} through the fill."
    return Picture(name, caption, figure, {"hours": hours, **lines})


def _label(figure: Figure, axes: Axes, x: str, y: str, columns: int = 4) -> None:
    axes.set_xlabel(x, fontsize=14)
    axes.set_ylabel(y, fontsize=14)
    figure.legend(loc="outside upper right", ncols=columns, fontsize=11, frameon=False)


def _colour(number: int) -> str:
    return style.COLOURS[number % len(style.COLOURS)]
