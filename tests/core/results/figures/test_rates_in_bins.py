"""Rates in bins as they are drawn."""

from __future__ import annotations

import io

import numpy as np
import pytest

from trigemu.results.figures.rates_in_bins import draw_rates_vs

EDGES = np.array([0.0, 5.0, 10.0, 20.0])


def test_each_curve_is_a_line_with_a_band_of_its_errors() -> None:
    hz, error = np.array([10.0, np.nan, 300.0]), np.array([2.0, np.nan, 30.0])
    (axes,) = draw_rates_vs("n", EDGES, {"A": (hz, error), "B": (2 * hz, error)}).axes
    line, band, *others = axes.patches
    assert len(others) == 2
    np.testing.assert_array_equal(line.get_data().values, hz)
    np.testing.assert_array_equal(band.get_data().values, hz + error)
    np.testing.assert_array_equal(band.get_data().baseline, hz - error)
    low, high = axes.get_ylim()
    assert low < 8
    assert high > 630
    assert axes.get_xlim() == (0.0, 20.0)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["A", "B"]


@pytest.mark.parametrize("nothing", [0.0, np.nan])
def test_what_has_no_rate_is_drawn(nothing: float) -> None:
    flat = np.full(3, nothing)
    made = draw_rates_vs("n", EDGES, {"A": (flat, flat)})
    (axes,) = made.axes
    np.testing.assert_array_equal(axes.patches[0].get_data().values, flat)
    assert axes.get_yscale() == "linear"
    made.savefig(io.BytesIO(), dpi=20)
