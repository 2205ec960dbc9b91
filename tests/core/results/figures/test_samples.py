"""Rates of samples."""

from __future__ import annotations

from trigemu.results.figures.samples import draw_samples


def test_each_sample_has_a_point_at_its_rate() -> None:
    made = draw_samples(["a", "$s"], [4e7, 15.0], [False, True])
    (axes,) = made.axes
    points = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if len(line.get_xdata())]
    assert points == [(4e7, 0), (15.0, 1)]
    faces = [line.get_markerfacecolor() for line in axes.lines[:2]]
    assert (faces[0] != "white", faces[1]) == (True, "white")
    assert axes.get_xlabel() == "rate [Hz]"
    low, high = axes.get_xlim()
    assert low < 15.0 < 4e7 < high


def test_no_sample_with_a_rate_is_drawn() -> None:
    draw_samples([], [], []).canvas.draw()
