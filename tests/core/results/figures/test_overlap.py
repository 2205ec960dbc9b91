"""What is drawn is what was given, read back from the artists."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from trigemu.api import draw_combinations, draw_overlap

SHARE = np.array([[1.0, 0.25, 0.0], [0.5, 1.0, 0.0002], [np.nan, np.nan, np.nan]])


def test_the_map_holds_the_shares_and_writes_them_where_there_is_room() -> None:
    axes, bar = draw_overlap(["a", "b", "c"], SHARE).axes
    assert bar.get_ylabel() == "fraction of the row's rate that the column accepts too"
    assert np.ma.filled(axes.images[0].get_array(), np.nan).tolist() == pytest.approx(SHARE, nan_ok=True)
    assert [t.get_text() for t in axes.texts] == ["100 %", "25.0 %", "0 %", "50.0 %", "100 %", "<0.1 %"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b", "c"]


def test_numbers_and_their_cells_differ_in_brightness() -> None:
    (axes, _) = draw_overlap(["a", "b", "c"], SHARE).axes
    image = axes.images[0]
    for text in axes.texts:
        x, y = text.get_position()
        red, green, blue, _ = image.cmap(image.norm(SHARE[int(y), int(x)]))
        brightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        assert (brightness < 0.45) == (text.get_color() == "white")


def test_a_map_of_many_triggers_has_no_numbers() -> None:
    (axes, _) = draw_overlap([f"T{i}" for i in range(30)], np.eye(30)).axes
    assert not axes.texts
    assert len(axes.get_xticklabels()) == 30


def test_bars_and_dots_are_the_combinations() -> None:
    members = np.array([[True, False, False, False], [True, False, True, False], [False, False, True, False]])
    hz, error = np.array([2e4, 300.0, 0.5]), np.array([100.0, 20.0, 0.5])
    top, bottom = draw_combinations(["a", "b", "c", "d"], members, hz, error).axes
    bars = [bar for bar in top.patches if isinstance(bar, Rectangle)]
    assert [bar.get_height() for bar in bars] == hz.tolist()
    assert [text.get_text() for text in top.texts] == ["20k", "300", "0.5"]
    assert [t.get_text() for t in bottom.get_yticklabels()] == ["a", "c"]  # b and d are in none
    dots = [(x, y) for line in bottom.lines if line.get_linestyle() == "-" for x, y in line.get_xydata()]
    assert sorted(dots) == [(0, 0), (1, 0), (1, 1), (2, 1)]
    low, high = top.get_ylim()
    assert low < 0.5
    assert high > 2e4


def test_combinations_of_rates_that_are_zero_or_below_are_drawn() -> None:
    """On an axis that begins above 0, with their numbers."""
    for hz, shown in ((-1.0, "-1"), (0.0, "0")):
        made = draw_combinations(["a"], np.array([[True]]), np.array([hz]), np.array([2.0]))
        made.canvas.draw()
        top, bottom = made.axes
        assert [text.get_text() for text in top.texts] == [shown]
        assert [bar.get_height() for bar in top.patches if isinstance(bar, Rectangle)] == [hz]
        low, high = top.get_ylim()
        assert 0 < low < high < np.inf
        assert [t.get_text() for t in bottom.get_yticklabels()] == ["a"]
