from __future__ import annotations

import numpy as np
import pytest
from figure_checks import check_names_are_no_formulas
from matplotlib.colors import to_rgb
from trigemu_latency.figures import LatencyBar, draw_latencies

from trigemu.api import style


def rows() -> list[LatencyBar]:
    edges = np.array([100.0, 200.0, 400.0])
    return [
        LatencyBar("menu m", 10 * edges, np.array([99, 9]), (1500.0, 3900.0), False),
        LatencyBar("T", edges, np.array([5, 0]), (150.0,), False),
        LatencyBar("preselected", edges, np.array([3, 7]), (), True),
    ]


def test_each_histogram_stands_in_its_row() -> None:
    result = draw_latencies(rows(), "latency")
    axes = result.axes[0]
    result.canvas.draw()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["menu m", "T", "preselected"]
    assert to_rgb(axes.get_yticklabels()[2].get_color()) == to_rgb(style.COLOURS[2])
    for number, (row, patch) in enumerate(zip(rows(), axes.patches, strict=True)):
        values, edges, foot = patch.get_data()
        assert (edges == row.edges_ns).all()
        height = foot - values
        assert height == pytest.approx(0.85 * np.log10(1 + row.calls) / np.log10(1 + row.calls.max()))
        assert foot == pytest.approx(number + 0.45)  # in its own row, the axis points down
    assert "red: on events that pass the preselection" in axes.get_title(loc="right")
    assert "red" not in draw_latencies(rows()[:2], "latency").axes[0].get_title(loc="right")
    marks = [line.get_xdata()[0] for line in axes.lines]
    assert marks == [1500.0, 3900.0, 150.0]


def test_the_axis_has_units() -> None:
    result = draw_latencies(rows(), "latency")
    result.canvas.draw()
    axes = result.axes[0]
    assert axes.get_xscale() == "log"
    low, high = axes.get_xlim()
    assert low < 100
    assert high > 4000
    shown = {label.get_text() for label in axes.get_xticklabels()}
    assert {"100 ns", "1 µs"} <= shown


def test_names_are_no_formulas() -> None:
    edges = np.array([1.0, 2.0, 3.0])
    check_names_are_no_formulas(
        lambda n: draw_latencies([LatencyBar(n, edges, np.array([1, 2]), (1.5,), False)], "x")
    )
