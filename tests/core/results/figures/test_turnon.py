from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import StepPatch

from trigemu.api import draw_efficiency

EDGES = np.array([0.0, 10.0, 20.0, 50.0])
FIRST = (np.array([0.0, 0.5, np.nan]), np.array([0.0, 0.4, np.nan]), np.array([0.1, 0.6, np.nan]))
SECOND = (np.array([0.2, 0.7, np.nan]), np.array([0.1, 0.6, np.nan]), np.array([0.3, 0.8, np.nan]))
GAIN = (np.array([0.2, 0.2, np.nan]), np.array([0.15, 0.1, np.nan]), np.array([0.25, 0.3, np.nan]))


def test_lines_and_bands_are_the_numbers() -> None:
    made = draw_efficiency("pT", "GeV", EDGES, {"a": FIRST, "b": SECOND}, {"b": GAIN})
    made.canvas.draw()
    upper, lower = made.axes
    for axes, given in ((upper, [FIRST, SECOND]), (lower, [GAIN])):
        steps = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
        for (value, low, high), line, band in zip(given, steps[::2], steps[1::2], strict=True):
            assert line.get_data().values == pytest.approx(value, nan_ok=True)
            assert band.get_data().values == pytest.approx(high, nan_ok=True)
            assert band.get_data().baseline == pytest.approx(low, nan_ok=True)
    assert lower.get_xlabel() == "$p_{\\mathrm{T}}$ [GeV]"


def test_a_menu_has_one_colour_and_dash_in_both_panels() -> None:
    upper, lower = draw_efficiency("pT", "", EDGES, {"a": FIRST, "b": SECOND}, {"b": GAIN}).axes
    (gain, *_), lines = lower.patches, upper.patches[::2]
    assert gain.get_edgecolor() == lines[1].get_edgecolor() != lines[0].get_edgecolor()
    assert gain.get_linestyle() == lines[1].get_linestyle() != lines[0].get_linestyle()


def test_one_menu_alone_gains_nothing() -> None:
    assert len(draw_efficiency("pT", "GeV", EDGES, {"a": FIRST}, {}).axes) == 1


def test_what_lies_outside_of_0_to_1_is_seen() -> None:
    outside = (np.array([-0.1, 0.5, 1.2]), np.array([-0.2, 0.4, 1.1]), np.array([0.0, 0.6, 1.3]))
    low, high = draw_efficiency("pT", "GeV", EDGES, {"a": FIRST, "b": outside}, {}).axes[0].get_ylim()
    assert low < -0.2
    assert high > 1.3
    assert draw_efficiency("pT", "GeV", EDGES, {"a": FIRST}, {}).axes[0].get_ylim() == (0.0, 1.05)
