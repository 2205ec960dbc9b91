"""The figure of a scan of bits from plain numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from figure_checks import check_names_are_no_formulas
from trigemu_firmware.precision_figure import draw_bits

from trigemu.api import style

BITS = np.array([8, 10, 12])


def test_shifts_in_percent_and_differing_decisions(tmp_path: Path) -> None:
    shifts = {
        "total": (np.array([30.0, -3.0, 0.0]), np.array([3.0, 1.0, 0.0]), 300.0),
        "unique": (np.array([20.0, -2.0, 0.0]), np.array([2.0, 1.0, 0.0]), 200.0),
    }
    result = draw_bits("bits of inputs", BITS, shifts, np.array([1e-2, 1e-3, 0.0]), "AD")
    upper, lower = result.axes
    points = {c.get_label(): c[0].get_ydata() for c in upper.containers}
    assert points["total rate"] == pytest.approx([10.0, -1.0, 0.0])
    assert points["unique rate"] == pytest.approx([10.0, -1.0, 0.0])
    bars = upper.containers[0][2][0].get_segments()
    assert [np.ptp(bar[:, 1]) for bar in bars] == pytest.approx([2.0, 2 / 3, 0.0])
    (line,) = lower.lines
    assert line.get_xdata().tolist() == BITS.tolist()
    assert line.get_ydata()[:2].tolist() == [1e-2, 1e-3]
    assert np.isnan(line.get_ydata()[2])
    assert lower.get_xlabel() == "bits of inputs"
    style.save(result, tmp_path / "bits.png")


@pytest.mark.parametrize("n", [1, 3])
def test_nothing_that_differs_is_drawn_too(tmp_path: Path, n: int) -> None:
    nothing = np.zeros(n)
    result = draw_bits("bits", BITS[:n], {"total": (nothing, nothing, 0.0)}, nothing, "AD")
    upper, lower = result.axes
    (points,) = upper.containers
    assert points[0].get_ydata().tolist() == nothing.tolist()
    assert lower.get_yscale() == "linear"
    assert np.isnan(lower.lines[0].get_ydata()).all()
    style.save(result, tmp_path / "bits.svg")
    assert "bits" in (tmp_path / "bits.svg").read_text()


def test_names_are_no_formulas() -> None:
    one = np.ones(2)
    check_names_are_no_formulas(lambda n: draw_bits("x", np.array([8, 9]), {n: (one, one, 1.0)}, one, n))
