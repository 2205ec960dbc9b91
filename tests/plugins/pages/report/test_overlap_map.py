"""The map of overlaps holds what it was given."""

from __future__ import annotations

import numpy as np
import pytest
from figure_checks import check_names_are_no_formulas
from trigemu_pages.report.pictures import draw_overlap

SHARE = np.array([[1.0, 0.25, 0.0], [0.5, 1.0, 0.0002], [np.nan, np.nan, np.nan]])


def test_the_map_holds_the_shares_and_writes_them_where_there_is_room() -> None:
    axes, bar = draw_overlap(["a", "b", "c"], SHARE).axes
    assert bar.get_ylabel() == "fraction of the row's rate that the column accepts too"
    assert np.ma.filled(axes.images[0].get_array(), np.nan).tolist() == pytest.approx(SHARE, nan_ok=True)
    assert [t.get_text() for t in axes.texts] == ["100 %", "25.0 %", "0 %", "50.0 %", "100 %", "<0.1 %"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b", "c"]
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


def test_names_are_no_formulas() -> None:
    check_names_are_no_formulas(lambda name: draw_overlap([name, "b"], np.eye(2)))
