"""Figures of what is recorded: along the orbit, in the train, by cause, between accepts, against the rate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.results import numbers
from trigemu.results.figures import style
from trigemu.results.section import Picture

from .curve import LiveCurve, live_curve
from .filling import ORBIT
from .results import LiveRates

#: The triggers with the largest losses that are drawn.
SHOWN = 12


def figures_of(result: LiveRates) -> Iterator[Picture]:
    """Yield the figures of a result."""
    before, after = result.by_slot
    yield Picture(
        "live_orbit",
        "Accepts of the first level along the orbit, before and after the rules, in groups of 12 slots.",
        draw_orbit(before, after, result.seconds),
        {"slot": np.arange(1, ORBIT + 1), "before": before, "after": after},
    )
    labels = result.rules.labels
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
    if result.distances.sum() > 1:
        low, counts = result.distance_edges, result.distances
        yield Picture(
            "live_distances",
            "Distances between recorded accepts; line: an exponential of the same mean.",
            draw_distances(low, counts),
            {"from": low, "accepts": counts},
        )
    if labels and result.levels[0].before.events:
        yield Picture(
            "live_curve",
            "The recorded rate against that before the rules, for independent crossings; dot: this menu.",
            draw_curve(curve := wide_curve(result), (result.levels[0].before.hz, result.live)),
            {
                "input_rate_hz": [p.input_rate_hz for p in curve.points],
                "live": [p.value for p in curve.points],
            },
        )


def wide_curve(result: LiveRates) -> LiveCurve:
    """Return the curve of the live fraction from a quarter of the rate of a menu to ten times it."""
    rates = result.levels[0].before.hz * np.geomspace(0.25, 10.0, 15)
    rates = rates[(rates > 0) & (rates < result.filling.crossing_rate_hz)]
    return live_curve(result.rules, result.filling, rates.tolist(), attempts=100_000, seed=result.seed)


def draw_orbit(before: IntArray, after: IntArray, seconds: float) -> Figure:
    """Draw the rates of accepts in groups of 12 slots, int64[3564] each."""
    edges = np.arange(0, ORBIT + 1, 12)
    with style.figure(10.0, 3.6) as (figure, axes):
        for values, label, colour in (
            (before, "before the rules", style.COLOURS[3]),
            (after, "recorded", style.COLOURS[0]),
        ):
            heights = values.reshape(-1, 12).sum(axis=1) / seconds
            fill = label == "recorded"
            axes.stairs(heights, edges, fill=fill, color=colour, label=label, alpha=0.9 if fill else 1.0)
        axes.set_xlim(0, ORBIT)
        axes.set_xlabel("slot of the orbit", fontsize=14)
        axes.set_ylabel("accepts in Hz", fontsize=14)
        figure.legend(loc="outside upper right", ncols=2, fontsize=11, frameon=False)
    return figure


def draw_position(before: IntArray, lost: IntArray, labels: tuple[str, ...]) -> Figure:
    """Draw the lost part of the accepts by position, int64[p], stacked by rule, int64[r, p]."""
    share = 100.0 * lost / np.maximum(before, 1)
    edges = np.arange(0.5, len(before) + 1.0)
    with style.figure(7.0, 4.2) as (figure, axes):
        foot = np.zeros(len(before))
        for number, (label, row) in enumerate(zip(labels, share, strict=True)):
            colour = style.COLOURS[number % len(style.COLOURS)]
            text = style.literal(label)
            axes.stairs(foot + row, edges, baseline=foot, fill=True, color=colour, label=text)
            foot = foot + row
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(0.0, 1.25 * max(float(foot.max()), 1e-3))
        axes.set_xlabel("position in the train", fontsize=14)
        axes.set_ylabel("accepts that are lost in %", fontsize=14)
        figure.legend(loc="outside upper right", ncols=4, fontsize=11, frameon=False)
    return figure


def draw_causes(names: list[str], labels: tuple[str, ...], lost: FloatArray) -> Figure:
    """Draw for each trigger a bar of what each rule takes in Hz, float64[t, r]."""
    with style.figure(7.5, 1.6 + 0.36 * len(names)) as (figure, axes):
        left = np.zeros(len(names))
        for number, label in enumerate(labels):
            colour = style.COLOURS[number % len(style.COLOURS)]
            axes.barh(
                np.arange(len(names)), lost[:, number], 0.8, left, color=colour, label=style.literal(label)
            )
            left = left + lost[:, number]
        shown = style.shown(names)
        axes.set_yticks(range(len(names)), [shown[n] for n in names], fontsize=11)
        axes.yaxis.set_tick_params(length=0, which="both")
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel("lost accepts in Hz", fontsize=14)
        figure.legend(loc="outside upper right", ncols=4, fontsize=11, frameon=False)
    return figure


def draw_distances(low: IntArray, counts: IntArray) -> Figure:
    """Draw the density of distances, int64[d] with their smallest ones, and an exponential of the same
    mean."""
    last = int(np.flatnonzero(counts)[-1]) + 1
    edges = np.append(low, 2 * low[-1])[: last + 1].astype(np.float64)
    counts = counts[:last]
    total = counts.sum()
    mean = float((counts * np.sqrt(edges[:-1] * (edges[1:] - 1))).sum() / total)
    expected = total * -np.diff(np.exp(-(edges - 1.0) / mean)) / np.diff(edges)
    with style.figure(7.0, 4.4) as (figure, axes):
        axes.stairs(
            counts / np.diff(edges), edges, fill=True, color=style.COLOURS[0], alpha=0.7, label="recorded"
        )
        axes.stairs(expected, edges, color="black", label="exponential", baseline=None)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("crossings of 25 ns from one accept to the next", fontsize=14)
        axes.set_ylabel("accepts per crossing", fontsize=14)
        figure.legend(loc="outside upper right", ncols=2, fontsize=11, frameon=False)
    return figure


def draw_curve(curve: LiveCurve, menu: tuple[float, float] | None = None) -> Figure:
    """Draw the recorded rate against the rate before the rules; menu: its rate and live fraction."""
    rates = np.array([point.input_rate_hz for point in curve.points])
    live = np.array([point.value for point in curve.points])
    with style.figure(6.4, 4.6) as (figure, axes):
        top = 1.1 * max((rates * live).max(), menu[0] * menu[1] if menu else 0.0)
        axes.plot([0, top], [0, top], color=style.COLOURS[3], linestyle="--", label="no dead time")
        axes.plot(
            rates, rates * live, color=style.COLOURS[0], marker=".", label=style.literal(curve.rules.name)
        )
        if menu:
            axes.plot([menu[0]], [menu[0] * menu[1]], "o", color="black", label="menu")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: numbers.short(value)))
        axes.set_xlim(0, 1.02 * rates.max())
        axes.set_ylim(0, 1.1 * top)
        axes.set_xlabel("rate before the rules in Hz", fontsize=14)
        axes.set_ylabel("recorded rate in Hz", fontsize=14)
        figure.legend(loc="outside upper right", ncols=3, fontsize=11, frameon=False)
    return figure
