"""Names are drawn as they are, in every figure."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from figure_checks import NAMES, check_names_are_no_formulas
from matplotlib.figure import Figure
from matplotlib.text import Text

from trigemu.results.figures.draw import (
    draw_combinations,
    draw_efficiency,
    draw_plane,
    draw_rates,
    draw_samples,
    draw_scan,
    draw_spectrum,
)
from trigemu.results.figures.style import axis_label, literal

EDGES, TWO, ONE = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0]), np.ones(2)


FIGURES: dict[str, Callable[[str], Figure]] = {
    "rates": lambda n: draw_rates(NAMES, *[{n: (np.ones(len(NAMES)),) * 2}] * 2),
    "samples": lambda n: draw_samples([n], [1.0], [False]),
    "combinations": lambda n: draw_combinations([n, "b"], np.eye(2, dtype=np.bool_), ONE, ONE),
    "bins": lambda n: draw_scan(n, EDGES, {n: (ONE, ONE)}),
    "spectrum": lambda n: draw_spectrum(n, n, EDGES, {n: ONE}, {n: ONE}),
    "scan": lambda n: draw_scan(n, TWO, {n: (ONE, ONE)}),
    "plane": lambda n: draw_plane((n, n), (TWO, TWO), np.array([[1.0, 2.0], [3.0, 4.0]]), title=n),
    "efficiency": lambda n: draw_efficiency(n, n, EDGES, {n: (ONE, ONE, ONE)}, {}, n),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_names_are_no_formulas(figure: str) -> None:
    check_names_are_no_formulas(FIGURES[figure])


@pytest.mark.parametrize("name", NAMES)
def test_a_literal_is_drawn_as_it_is(name: str) -> None:
    text = Text(0, 0, literal(name))
    shown, formula = text._preprocess_math(text.get_text())  # type: ignore[attr-defined]
    assert formula is False
    assert shown.lstrip("\u200b") == name.replace("\x1b", r"\x1b").replace("\n", r"\n")


def test_a_line_whose_name_begins_with_an_underscore_is_in_the_legend() -> None:
    legend = draw_scan("x", TWO, {"_x": (ONE, ONE)}).axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["\u200b_x"]


#: As the backend of notebooks: it makes pyplot interactive when it is loaded.
BACKEND = """
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas
matplotlib.interactive(True)
"""


def test_figures_of_pyplot_leave_its_settings(tmp_path: Path) -> None:
    """Also those that the backend makes when the first figure loads it; otherwise a notebook would show the
    first figure only."""
    (tmp_path / "notebook_backend.py").write_text(BACKEND)
    script = """if True:
        import matplotlib as mpl, matplotlib.pyplot as plt
        from trigemu.results.figures.style import figure, managed
        with managed(), figure() as (made, axes):
            pass
        assert mpl.is_interactive()
        assert plt.get_fignums() == [made.number]
        with figure() as (alone, axes):
            pass
        assert plt.get_fignums() == [made.number]
    """
    surroundings = {**os.environ, "MPLBACKEND": "module://notebook_backend"}
    surroundings["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=surroundings)


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("leading jet pT", r"leading jet $p_{\mathrm{T}}$ [GeV]"),
        ("HT of all, ET", r"$H_{\mathrm{T}}$ of all, $E_{\mathrm{T}}$ [GeV]"),
        ("MHT", "MHT [GeV]"),
        ("L1_pT30", "L1_pT30 [GeV]"),
        ("$pT", r"\$$p_{\mathrm{T}}$ [GeV]"),
    ],
)
def test_transverse_quantities_are_typeset(text: str, drawn: str) -> None:
    assert axis_label(text, "GeV") == drawn
    assert axis_label("n_jet") == "n_jet"
    Figure().text(0.5, 0.5, axis_label(text, "GeV")).figure.savefig(io.BytesIO(), dpi=20)
