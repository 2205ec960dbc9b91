"""Figures: what is recorded along the orbit, in the train, by cause, between accepts, against the rate; and
rates and efficiencies through a fill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import file_stem
from trigemu.results import numbers
from trigemu.results.figures import style
from trigemu.results.section import Picture

from .curve import LiveCurve, live_curve
from .fill import Fill
from .filling import ORBIT
from .results import LiveRates

#: The triggers with the largest losses that are drawn.
SHOWN = 12
#: The curve of the live fraction reaches to this rate, or beyond that of the menu.
_CURVE_HZ = 200e3
#: Lines: name → values, float64[steps].
Lines = Sequence[tuple[str, FloatArray]]


def figures_of(result: LiveRates) -> Iterator[Picture]:
    """Yield the figures of a result."""
    (before, after), labels = result.by_slot, result.rules.labels
    yield Picture(
        "live_orbit",
        "Accepts of the first level along the orbit, before and after the rules: the mean rate of a slot.",
        draw_orbit(before, after, result.seconds, result.filling.filled),
        {"slot": np.arange(1, ORBIT + 1), "before": before, "after": after},
    )
    at_before, at_after, lost = result.by_position
    if labels and len(at_before) > 1:
        yield Picture(
            "live_position",
            "The part of the accepts that are recorded, by position in the train, and what each rule takes.",
            draw_position(at_before, lost, labels),
            {"position": np.arange(1, len(at_before) + 1), "before": at_before, "after": at_after},
        )
    if labels and result.levels[0].lost:
        rows = sorted(result.triggers, key=lambda item: -sum(item.lost.values()))[:SHOWN]
        table = np.array([[item.lost.get(label, 0) for label in labels] for item in rows]) / result.seconds
        yield Picture(
            "live_causes",
            "Accepts of each trigger that are lost, by the rule that vetoes them.",
            draw_causes([item.name for item in rows], labels, table),
            {"trigger": [item.name for item in rows], **dict(zip(labels, table.T, strict=True))},
        )
    low, counts = result.distance_edges, result.distances
    if counts.sum() > 1:
        yield Picture(
            "live_distances",
            "Distances between recorded accepts; line: an exponential of the same mean.",
            draw_distances(low, counts),
            {"from": low, "accepts": counts},
        )
    if labels and result.levels[0].before.events:
        hz = result.levels[0].before.hz
        top = min(max(_CURVE_HZ, 1.5 * hz), result.filling.crossing_rate_hz)
        rates = np.linspace(top / 20, top, 20)
        curve = live_curve(result.rules, result.filling, rates.tolist(), attempts=100_000, seed=result.seed)
        yield Picture(
            "live_curve",
            "The part of the accepts that are recorded against their rate before the rules, for independent "
            "crossings; dot: this menu.",
            draw_curve(curve, (hz, result.live, result.live_error)),
            {"input_rate_hz": rates, "live": [point.value for point in curve.points]},
        )


def draw_orbit(before: IntArray, after: IntArray, seconds: float, filled: BoolArray) -> Figure:
    """Draw the mean rate of a slot, of int64[3564] accepts each, in parts of about 12 slots of one train."""
    bounds, edges = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), ORBIT], [0]
    for first, last in pairwise(bounds):
        parts = max(1, round((last - first) / 12)) if filled[first] else 1
        edges += np.linspace(first, last, parts + 1)[1:].round().astype(int).tolist()
    seconds_of_slots = seconds * np.diff(edges)
    before_hz, after_hz = (np.add.reduceat(v, edges[:-1]) / seconds_of_slots for v in (before, after))
    with style.figure(10.0, 3.6) as (figure, axes):
        axes.stairs(before_hz, edges, color=style.COLOURS[3], label="before the rules")
        axes.stairs(after_hz, edges, fill=True, color=style.COLOURS[0], label="recorded", alpha=0.9)
        axes.set_xlim(0, ORBIT)
        _label(figure, axes, "slot of the orbit", "accepts of a slot in Hz", columns=2)
    return figure


def draw_position(before: IntArray, lost: IntArray, labels: tuple[str, ...]) -> Figure:
    """Draw the lost part of the accepts by position, int64[p], stacked by rule, int64[r, p]."""
    tops = np.cumsum(100.0 * lost / np.maximum(before, 1), axis=0)
    edges = np.arange(0.5, len(before) + 1.0)
    with style.figure(7.0, 4.2) as (figure, axes):
        for number, (label, top, foot) in enumerate(zip(labels, tops, [0 * tops[0], *tops], strict=False)):
            label, colour = style.literal(label), _colour(number)
            axes.stairs(top, edges, baseline=foot, fill=True, color=colour, label=label)
        part = tops[-1] / 100.0
        errors = 100.0 * np.sqrt(part * (1.0 - part) / np.maximum(before, 1))
        axes.errorbar(edges[1:] - 0.5, tops[-1], errors, fmt="none", ecolor="black", elinewidth=1)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0.0, 1.1 * max(float((tops[-1] + errors).max()), 1e-3))
        _label(figure, axes, "position in the train", "accepts that are lost in %")
    return figure


def draw_causes(names: list[str], labels: tuple[str, ...], lost: FloatArray) -> Figure:
    """Draw for each trigger a bar of what each rule takes in Hz, float64[t, r]."""
    left, rows, shown = np.cumsum(lost, axis=1) - lost, np.arange(len(names)), style.shown(names)
    with style.figure(7.5, 1.6 + 0.36 * len(names)) as (figure, axes):
        for number, label in enumerate(labels):
            bars = rows, lost[:, number], 0.8, left[:, number]
            axes.barh(*bars, color=_colour(number), label=style.literal(label))
        axes.set_yticks(rows, [shown[name] for name in names], fontsize=11)
        axes.yaxis.set_tick_params(length=0, which="both")
        axes.set_ylim(len(names) - 0.4, -0.6)
        _label(figure, axes, "lost accepts in Hz", "")
    return figure


def draw_distances(low: IntArray, counts: IntArray) -> Figure:
    """Draw the density of distances, int64[d], and an exponential of the same mean."""
    last = int(np.flatnonzero(counts)[-1]) + 1
    edges = np.append(low, 2 * low[-1])[: last + 1].astype(np.float64)
    counts, widths = counts[:last], np.diff(edges)
    mean = float((counts * np.sqrt(edges[:-1] * (edges[1:] - 1))).sum() / counts.sum())
    expected = counts.sum() * -np.diff(np.exp(-(edges - 1.0) / mean)) / widths
    with style.figure(7.0, 4.4) as (figure, axes):
        axes.stairs(counts / widths, edges, fill=True, color=style.COLOURS[0], alpha=0.7, label="recorded")
        middle = np.sqrt(edges[:-1] * edges[1:])
        axes.errorbar(middle, counts / widths, np.sqrt(counts) / widths, fmt="none", ecolor="black")
        axes.stairs(expected, edges, color="black", label="exponential", baseline=None)
        axes.set_xscale("log")
        axes.set_yscale("log")
        distance = "crossings of 25 ns from one accept to the next"
        _label(figure, axes, distance, "accepts per crossing", columns=2)
    return figure


def draw_curve(curve: LiveCurve, menu: tuple[float, float, float] | None = None) -> Figure:
    """Draw the live fraction against the rate before the rules; menu: its rate, live fraction and error."""
    points = [(point.input_rate_hz / 1e3, 100 * point.value, 100 * point.error) for point in curve.points]
    rates, live, errors = np.array(points).T
    with style.figure(6.4, 4.6) as (figure, axes):
        label = style.literal(curve.rules.name)
        axes.errorbar(rates, live, errors, color=style.COLOURS[0], marker=".", label=label)
        if menu:
            khz, value, error = menu[0] / 1e3, 100 * menu[1], 100 * menu[2]
            axes.errorbar([khz], [value], [error], fmt="o", color="black", label="menu")
        axes.set_xlim(0, 1.02 * rates.max())
        axes.set_ylim(min(90.0, float(live.min()) - 1.0), 100.5)
        _label(figure, axes, "rate before the rules in kHz", "recorded accepts in %", columns=2)
    return figure


def figures_of_fill(result: Fill) -> Iterator[Picture]:
    """Yield the figures of a fill; controllers are shown with the first seed."""
    first = {way: traces[0] for way, traces in result.ways.items()}

    def lines(what: str, row: int | None = None, factor: float = 1.0) -> Lines:
        values = {way: factor * np.asarray(getattr(trace, what)) for way, trace in first.items()}
        return [(way, table if row is None else table[row]) for way, table in values.items()]

    rows: list[tuple[str, str, Lines, float | None]] = [
        ("pileup", "interactions a crossing", [("µ", result.pileup)], None),
        ("menu", "recorded rate of the menu in Hz", lines("recorded"), result.target_hz),
    ]
    if result.menu.levels[1:]:
        level = result.menu.levels[0]
        of_first = [(way, trace.before * trace.live) for way, trace in first.items()]
        rows.append((level, f"recorded rate of {level} in Hz", of_first, None))
    if result.rules.rules:
        rows.append(("live", "live fraction in %", lines("live", factor=100.0), None))
    if result.config.columns:
        names = ", ".join(f"{n}: {column.name}" for n, column in enumerate(result.config.columns))
        rows.append(("column", f"column of prescales ({names})", lines("columns"), None))
    for k, (name, control) in enumerate(zip(result.controlled, result.config.controls, strict=True)):
        target = result.targets[k] if control.of == "trigger" else None
        rows.append((name, f"recorded rate of {name} in Hz", lines("rates", k), target))
        rows.append((f"{name}_above", f"threshold of {name}", lines("thresholds", k), None))
    for s, name in enumerate(result.signals):
        rows.append((name, f"recorded part of {name} in %", lines("efficiencies", s, 100.0), None))
    for quantity, label, shown, target in rows:
        yield Picture(
            f"fill_{file_stem(quantity)}",
            f"{label} through the fill.",
            draw_lines(result.hours, shown, label, target, result.config.fill.tolerance),
            {"hours": result.hours, **dict(shown)},
        )


def draw_lines(hours: FloatArray, lines: Lines, label: str, target: float | None, tolerance: float) -> Figure:
    """Draw values against time, and a band around a target."""
    with style.figure(7.0, 4.2) as (figure, axes):
        if target:
            low, high = target * (1 - tolerance), target * (1 + tolerance)
            axes.axhspan(low, high, color="lightgrey", label=f"±{100 * tolerance:g} % of the target")
        for number, (way, values) in enumerate(lines):
            axes.step(hours, values, where="post", color=style.COLOURS[number], label=way)
        if label.endswith("Hz"):
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.short(value)))
        low, high = (float(end([end(values) for _, values in lines])) for end in (np.min, np.max))
        room = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
        axes.set_ylim(0.0 if 0.0 <= low < 0.7 * high else low - room, high + room)
        axes.set_xlim(hours[0], hours[-1])
        _label(figure, axes, "time in hours", style.literal(label))
    return figure


def _label(figure: Figure, axes: Axes, x: str, y: str, columns: int = 4) -> None:
    axes.set_xlabel(x, fontsize=14)
    axes.set_ylabel(y, fontsize=14)
    figure.legend(loc="outside upper right", ncols=columns, fontsize=11, frameon=False)


def _colour(number: int) -> str:
    return style.COLOURS[number % len(style.COLOURS)]
