from __future__ import annotations

import numpy as np
import pytest
from matplotlib.lines import Line2D

from trigemu.results.figures.groups import draw_rates

TOTAL = {
    "one": (np.array([1e4, 20.0]), np.array([100.0, 30.0])),
    "two": (np.array([2e4, np.nan]), np.array([50.0, np.nan])),
}
UNIQUE = {
    "one": (np.array([5e3, 0.0]), np.array([70.0, 0.0])),
    "two": (np.array([1e3, np.nan]), np.array([9.0, np.nan])),
}


def test_points_are_the_rates_and_unique_ones_are_open() -> None:
    (axes,) = draw_rates(["jets", "muons"], TOTAL, UNIQUE).axes
    points = [bars.lines[0] for bars in axes.containers]
    given = [pair[0] for menu in TOTAL for pair in (UNIQUE[menu], TOTAL[menu])]
    for line, hz in zip(points, given, strict=False):
        assert np.asarray(line.get_xdata()) == pytest.approx(np.where(hz > 0, hz, np.nan), nan_ok=True)
    assert [line.get_markerfacecolor() == "white" for line in points[:4]] == [True, False, True, False]
    assert len({line.get_marker() for line in points[:4]}) == 2  # menus differ in more than colour
    assert [text.get_text() for text in axes.get_yticklabels()] == ["jets", "muons"]


def test_the_legend_has_the_points_of_the_plot() -> None:
    made = draw_rates(["jets", "muons"], TOTAL, UNIQUE)
    (axes,) = made.axes
    (legend,) = made.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one: total, unique", "two: total, unique"]
    shown = [line for line in legend.findobj(Line2D) if line.get_marker() not in ("", "None")]
    drawn = [bars.lines[0] for bars in axes.containers]  # the unique rates of a menu, then its total rates
    of_legend = [drawn[number] for number in (1, 0, 3, 2)]
    for looks in ("get_color", "get_marker", "get_markerfacecolor", "get_markersize"):
        assert [getattr(line, looks)() for line in shown] == [getattr(line, looks)() for line in of_legend]


def test_without_any_rate_there_is_still_a_figure() -> None:
    nothing = {"one": (np.zeros(2), np.zeros(2))}
    made = draw_rates(["a", "b"], nothing, nothing)
    made.canvas.draw()
    (axes,) = made.axes
    assert axes.get_xscale() == "linear"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    points = [bars.lines[0] for bars in axes.containers[:2]]
    assert all(np.isnan(np.asarray(line.get_xdata())).all() for line in points)
