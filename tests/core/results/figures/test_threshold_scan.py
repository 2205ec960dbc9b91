"""Figures of scans from plain numbers."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from trigemu.api import draw_scan
from trigemu.results.figures.style import save
from trigemu.results.figures.threshold_scan import draw_plane, in_hz

VALUES = np.array([60.0, 80.0, 100.0])


def test_a_line_and_a_band_for_each_rate(tmp_path: Path) -> None:
    hz = {"total": np.array([3e4, 2e4, 0.0]), "menu": np.array([4e4, 3e4, 2e4])}
    errors = {name: 0.1 * rate for name, rate in hz.items()}
    made = draw_scan("threshold of J", VALUES, hz, errors, [25e3], "menu x")
    (axes,) = made.axes
    assert axes.get_xlabel() == "threshold of J"
    assert axes.get_ylabel() == "rate [Hz]"
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.lines}
    assert lines["menu"].tolist() == hz["menu"].tolist()
    assert np.isnan(lines["total"]).tolist() == [False, False, True]
    assert len(axes.collections) == 2
    assert [text.get_text() for text in axes.texts] == ["25 kHz"]
    save(made, tmp_path / "scan.png")


def test_contours_of_the_menu_rate(tmp_path: Path) -> None:
    hz = np.array([[4e4, 3e4, 2e4], [2e4, 1.5e4, 1.2e4]])
    made = draw_plane(("first", "second"), (VALUES[:2], VALUES), hz, [17e3], "menu x")
    axes = made.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("first", "second")
    assert "17 kHz" in [text.get_text() for text in axes.texts]
    save(made, tmp_path / "plane.pdf")


@pytest.mark.parametrize("hz", [np.zeros((2, 3)), np.array([[0, 0, 1.0], [0, 0, 0]])])
def test_a_plane_without_a_slope_is_drawn(hz: np.ndarray) -> None:
    draw_plane(("first", "second"), (VALUES[:2], VALUES), hz).savefig(io.BytesIO(), dpi=20)


@pytest.mark.parametrize(
    ("hz", "text"),
    [(0.5, "500 mHz"), (1.0, "1 Hz"), (999.9999999999, "1 kHz"), (2.5e4, "25 kHz"), (4e7, "40 MHz")],
)
def test_ticks_have_a_unit(hz: float, text: str) -> None:
    assert in_hz(hz) == text
