"""Bars of agreeing and differing decisions."""

from __future__ import annotations

from figure_checks import check_names_are_no_formulas
from matplotlib.patches import Rectangle
from trigemu_validation.decisions_figure import draw_decisions


def test_each_outcome_has_a_bar_of_its_length() -> None:
    counts = {"agree": [1000, 7], "only emulated": [0, 2], "only stored": [1, 0]}
    result = draw_decisions(["A", "$B"], counts)
    (axes,) = result.axes
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bar.get_width() for bar in bars] == [1000, 7, 0, 2, 1, 0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A", r"\$B"]
    rows = [round(bar.get_y() + bar.get_height() / 2) for bar in bars]
    assert rows == [0, 1] * 3
    assert axes.get_xlabel() == "number of crossings"
    assert axes.get_xlim()[0] == 0
    assert axes.get_xlim()[1] > 1000


def test_names_are_no_formulas_and_nothing_can_be_drawn() -> None:
    draw_decisions([], {"agree": [], "only emulated": [], "only stored": []}).canvas.draw()
    check_names_are_no_formulas(lambda n: draw_decisions([n], {n: [1]}))
