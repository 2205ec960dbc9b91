from __future__ import annotations

import numpy as np
import pytest
from figure_checks import check_names_are_no_formulas
from matplotlib.colors import to_rgb
from trigemu_latency.figures import draw_latencies
from trigemu_latency.timing.clock import Timing, summary

from trigemu.api import style


def timing(ns: list[int]) -> Timing:
    """Of single events."""
    return summary(np.array([ns]), 1)


#: With a time for each of its percentiles, one for all of its calls, and several.
ROWS = [
    ("menu m", timing([1500] * 995 + [3900] * 5), False),
    ("T", timing([150] * 5), False),
    ("preselected", timing([110] * 3 + [300] * 7), True),
]


def test_each_histogram_stands_in_its_row() -> None:
    result = draw_latencies(ROWS)
    axes = result.axes[0]
    result.canvas.draw()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["menu m", "T", "preselected"]
    assert to_rgb(axes.get_yticklabels()[2].get_color()) == to_rgb(style.COLOURS[2])
    for number, ((_, row, _), patch) in enumerate(zip(ROWS, axes.patches, strict=True)):
        values, edges, foot = patch.get_data()
        calls = row.histogram.calls
        assert (edges == row.histogram.edges_ns).all()
        height = foot - values
        assert height == pytest.approx(0.85 * np.log10(1 + calls) / np.log10(1 + calls.max()))
        assert foot == pytest.approx(number + 0.45)  # in its own row, the axis points down
    assert "red: on events that pass the preselection" in axes.get_title(loc="right")
    assert axes.get_xlabel() == "latency of a single event"
    assert "red" not in draw_latencies(ROWS[:2]).axes[0].get_title(loc="right")
    marks = [line.get_xdata()[0] for line in axes.lines]
    assert marks == [1500.0, 1500.0, 3900.0, 150.0, 300.0]


def test_the_axis_has_units() -> None:
    result = draw_latencies(ROWS)
    result.canvas.draw()
    axes = result.axes[0]
    assert axes.get_xscale() == "log"
    low, high = axes.get_xlim()
    assert low < 100
    assert high > 4000
    shown = {label.get_text() for label in axes.get_xticklabels()}
    assert {"100 ns", "1 µs"} <= shown


def test_names_are_no_formulas() -> None:
    check_names_are_no_formulas(lambda name: draw_latencies([(name, timing([1, 2, 2]), False)]))
