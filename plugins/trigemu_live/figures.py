"""Figures: what is recorded along the orbit, in the train, by cause, between accepts, against the rate; and
rates and efficiencies through a fill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.results import numbers
from trigemu.results.figures import style
from trigemu.results.section import Picture, slug

from .curve import LiveCurve, live_curve
from .fill import Fill
from .filling import ORBIT
from .results import LiveRates

#: The triggers with the largest losses that are drawn.
SHOWN = 12
#: Lines: name → values, float64[steps].
Lines = Sequence[tuple[str, FloatArray]]


def figures_of(result: LiveRates) -> Iterator[Picture]:
    """Yield the figures of a result."""
    (before, after), labels = result.by_slot, result.rules.labels
    yield Picture(
        "live_orbit",
        "Accepts of the first level along the orbit, before and after the rules, in groups of 12 slots.",
        draw_orbit(before, after, result.seconds),
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
        rates = hz * np.geomspace(0.25, 10.0, 15)
        rates = rates[rates < result.filling.crossing_rate_hz]
        curve = live_curve(result.rules, result.filling, rates.tolist(), attempts=100_000, seed=result.seed)
        yield Picture(
            "live_curve",
            "The recorded rate against that before the rules, for independent crossings; dot: this menu.",
            draw_curve(curve, (hz, result.live)),
            {"input_rate_hz": rates, "live": [point.value for point in curve.points]},
        )


def draw_orbit(before: IntArray, after: IntArray, seconds: float) -> Figure:
    """Draw the rates of accepts in groups of 12 slots, int64[3564] each."""
    edges = np.arange(0, ORBIT + 1, 12)
    before_hz, after_hz = (values.reshape(-1, 12).sum(axis=1) / seconds for values in (before, after))
    with style.figure(10.0, 3.6) as (figure, axes):
        axes.stairs(before_hz, edges, color=style.COLOURS[3], label="before the rules")
        axes.stairs(after_hz, edges, fill=True, color=style.COLOURS[0], label="recorded", alpha=0.9)
        axes.set_xlim(0, ORBIT)
        _label(figure, axes, "slot of the orbit", "accepts in Hz", columns=2)
    return figure


def draw_position(before: IntArray, lost: IntArray, labels: tuple[str, ...]) -> Figure:
    """Draw the lost part of the accepts by position, int64[p], stacked by rule, int64[r, p]."""
    tops = np.cumsum(100.0 * lost / np.maximum(before, 1), axis=0)
    edges = np.arange(0.5, len(before) + 1.0)
    with style.figure(7.0, 4.2) as (figure, axes):
        for number, (label, top, foot) in enumerate(zip(labels, tops, [0 * tops[0], *tops], strict=False)):
            label, colour = style.literal(label), _colour(number)
            axes.stairs(top, edges, baseline=foot, fill=True, color=colour, label=label)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0.0, 1.25 * max(float(tops[-1].max()), 1e-3))
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
        axes.stairs(expected, edges, color="black", label="exponential", baseline=None)
        axes.set_xscale("log")
        axes.set_yscale("log")
        distance = "crossings of 25 ns from one accept to the next"
        _label(figure, axes, distance, "accepts per crossing", columns=2)
    return figure


def draw_curve(curve: LiveCurve, menu: tuple[float, float] | None = None) -> Figure:
    """Draw the recorded rate against the rate before the rules; menu: its rate and live fraction."""
    rates, live = np.array([(point.input_rate_hz, point.value) for point in curve.points]).T
    with style.figure(6.4, 4.6) as (figure, axes):
        top = 1.1 * max((rates * live).max(), menu[0] * menu[1] if menu else 0.0)
        axes.plot([0, top], [0, top], color=style.COLOURS[3], linestyle="--", label="no dead time")
        label = style.literal(curve.rules.name)
        axes.plot(rates, rates * live, color=style.COLOURS[0], marker=".", label=label)
        if menu:
            axes.plot([menu[0]], [menu[0] * menu[1]], "o", color="black", label="menu")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: numbers.short(value)))
        axes.set_xlim(0, 1.02 * rates.max())
        axes.set_ylim(0, 1.1 * top)
        _label(figure, axes, "rate before the rules in Hz", "recorded rate in Hz", columns=3)
    return figure


def figures_of_fill(result: Fill) -> Iterator[Picture]:
    """Yield the figures of a fill; controllers are shown with the first seed."""
    first = {way: traces[0] for way, traces in result.ways.items()}
    lines: Lines = [(way, trace.recorded) for way, trace in first.items()]
    rows: list[tuple[str, str, Lines, float | None]] = [
        ("menu", "recorded rate of the menu in Hz", lines, result.target_hz)
    ]
    for k, (name, control) in enumerate(zip(result.controlled, result.config.controls, strict=True)):
        target = result.targets[k] if control.of == "trigger" else None
        lines = [(way, trace.rates[k]) for way, trace in first.items()]
        rows.append((name, f"recorded rate of {name} in Hz", lines, target))
    for s, name in enumerate(result.signals):
        lines = [(way, 100.0 * trace.efficiencies[s]) for way, trace in first.items()]
        rows.append((name, f"recorded part of {name} in %", lines, None))
    for quantity, label, lines, target in rows:
        yield Picture(
            f"fill_{slug(quantity)}",
            f"{label} through the fill.",
            draw_lines(result.hours, lines, label, target, result.config.fill.tolerance),
            {"hours": result.hours, **dict(lines)},
        )


def draw_lines(hours: FloatArray, lines: Lines, label: str, target: float | None, tolerance: float) -> Figure:
    """Draw values against time, and a band around a target."""
    with style.figure(7.0, 4.2) as (figure, axes):
        if target:
            low, high = target * (1 - tolerance), target * (1 + tolerance)
            axes.axhspan(low, high, color="lightgrey", label=f"±{100 * tolerance:g} % of the target")
        for number, (way, values) in enumerate(lines):
            axes.plot(hours, values, color=style.COLOURS[number], label=way)
        if label.endswith("Hz"):
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.short(value)))
        axes.set_ylim(0.0, 1.1 * max(float(values.max()) for _, values in lines))
        axes.set_xlim(hours[0], hours[-1])
        _label(figure, axes, "time in hours", style.literal(label))
    return figure


def _label(figure: Figure, axes: Axes, x: str, y: str, columns: int = 4) -> None:
    axes.set_xlabel(x, fontsize=14)
    axes.set_ylabel(y, fontsize=14)
    figure.legend(loc="outside upper right", ncols=columns, fontsize=11, frameon=False)


def _colour(number: int) -> str:
    return style.COLOURS[number % len(style.COLOURS)]
