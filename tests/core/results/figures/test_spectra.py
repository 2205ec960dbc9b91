"""What is drawn is what was given: read back from the artists, and as pixels of a file."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch

from trigemu import TrigemuError
from trigemu.results.figures.spectra import draw_spectrum
from trigemu.results.figures.style import save

EDGES = np.array([10.0, 20.0, 40.0, 80.0])
RATES = {"a": np.array([100.0, 40.0, 8.0]), "b": np.array([10.0, 0.0, 2.0]), "s": np.array([1.0, 1.0, 1.0])}


def draw() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    made = draw_spectrum("pT", "GeV", EDGES, RATES, RATES, frozenset("s"))
    return steps_of(made.axes[0]), steps_of(made.axes[1])


def steps_of(axes: Axes) -> dict[str, np.ndarray]:
    steps = [p for p in axes.patches if isinstance(p, StepPatch) and p.get_label()[:1] not in ("", "_")]
    return {str(p.get_label()): p.get_data().values for p in steps}


def test_lines_are_rates_per_bin_width_and_signals_have_a_panel_of_their_own() -> None:
    lines, shapes = draw()
    assert lines["a"] == pytest.approx([10.0, 2.0, 0.2])
    assert list(shapes) == ["s"]
    assert shapes["s"] == pytest.approx(np.array([0.1, 0.05, 0.025]) / 3)
    assert lines["sum of the background"] == pytest.approx([11.0, 2.0, 0.25])
    assert np.isnan(lines["b"][1])


def test_rare_samples_are_one_line() -> None:
    rates = {f"s{i}": np.array([1.0, 10.0**-i, 0.0]) for i in range(12)}
    lines = steps_of(draw_spectrum("n", "", EDGES, rates, rates).axes[0])
    assert [*lines] == [*(f"s{i}" for i in range(8)), "4 others", "sum of the background"]
    assert lines["4 others"][:2] == pytest.approx([4.0, sum(10.0**-i for i in range(8, 12))])
    assert lines["sum of the background"][:2] == pytest.approx([12.0, sum(10.0**-i for i in range(12))])


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    made = draw_spectrum("pT", "GeV", EDGES, RATES, RATES)
    save(made, tmp_path / "new" / "a.png")
    pixels = matplotlib.image.imread(tmp_path / "new" / "a.png")
    assert pixels.shape[0] > 500
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 50
    assert [f.name for f in (tmp_path / "new").iterdir()] == ["a.png"]
    (tmp_path / "file").write_text("")
    with pytest.raises(TrigemuError, match="cannot write"):
        save(made, tmp_path / "file" / "a.png")
