"""Rates and decisions against the number of bits, as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.results.figures import style

from .precision import share
from .scan import BitScan


def draw_bits(
    label: str,
    bits: IntArray,
    shifts: Mapping[str, tuple[FloatArray, FloatArray, float]],
    differ: FloatArray,
    title: str,
) -> Figure:
    """Draw, above, the shift of each rate (name → Hz, its error, float64[n] each, and the rate in Hz) in
    percent against bits, int64[n]; below, the fraction of events whose decision differs, float64[n]."""
    with style.figure(8.0, 7.0) as (figure, axes):
        axes.remove()
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        offsets = np.linspace(-0.08, 0.08, len(shifts))
        for number, (name, (hz, error, rate)) in enumerate(shifts.items()):
            percent = 100.0 / rate if rate else 0.0
            upper.errorbar(
                bits + offsets[number],
                hz * percent,
                error * percent,
                color=style.COLOURS[number],
                marker="os^"[number % 3],
                markersize=5,
                linewidth=1.2,
                capsize=2,
                label=style.literal(f"{name} rate"),
            )
        upper.axhline(0.0, color="black", linewidth=0.8)
        upper.set_yscale("symlog", linthresh=1.0)
        upper.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
        upper.set_ylabel("fixed − floating [%]")
        upper.set_title(style.literal(title), loc="left", fontsize=12)
        upper.legend(frameon=False)
        lower.plot(
            bits, np.where(differ > 0, differ, np.nan), color=style.COLOURS[2], marker="o", markersize=5
        )
        if (differ > 0).any():
            lower.set_yscale("log")
        lower.set_ylabel("differ")
        lower.set_xlabel(label)
        lower.set_xlim(bits[0] - 0.5, bits[-1] + 0.5)
        lower.xaxis.set_major_locator(MaxNLocator(14, integer=True))
        lower.xaxis.set_minor_locator(NullLocator())
    return figure


def figure_of(scan: BitScan) -> Any:
    """Draw shifts of the rates and differing decisions against the number of bits."""
    own_precision, points = scan.own, scan.points
    inputs, scores = ([getattr(p, key) for p in points] for key in ("input_bits", "score_bits"))
    varied = "inputs" if len(set(scores)) == 1 else "inputs, thresholds and score"
    shifts = {
        name: (
            np.array([getattr(p, name).hz for p in points]),
            np.array([getattr(p, name).error_hz for p in points]),
            getattr(own_precision, name).hz,
        )
        for name in ("total", "unique")
    }
    differ = np.array([share(p.differ_events, scan.preselected_events) for p in points])
    fixed = "" if len(set(scores)) > 1 else f", score of {scores[0]} bits"
    return draw_bits(f"bits of {varied}{fixed}", np.array(inputs), shifts, differ, scan.trigger)
