"""What is drawn is what was given: read back from the artists, and names as they are, in every figure."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from figure_checks import NAMES, check_names_are_no_formulas
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Text

from trigemu import TrigemuError
from trigemu.results.figures.draw import (
    draw_combinations,
    draw_efficiency,
    draw_plane,
    draw_rates,
    draw_samples,
    draw_scan,
)
from trigemu.results.figures.style import axis_label, literal, save

# ---- rates of triggers and groups

TOTAL = {
    "one": (np.array([1e4, 20.0]), np.array([100.0, 30.0])),
    "two": (np.array([2e4, np.nan]), np.array([50.0, np.nan])),
}
UNIQUE = {
    "one": (np.array([5e3, 0.0]), np.array([70.0, 0.0])),
    "two": (np.array([1e3, np.nan]), np.array([9.0, np.nan])),
}


def test_points_are_the_rates_and_unique_ones_are_open() -> None:
    (axes,) = draw_rates(["jets", "muons"], TOTAL, UNIQUE).axes
    points = [bars.lines[0] for bars in axes.containers]
    given = [pair[0] for menu in TOTAL for pair in (UNIQUE[menu], TOTAL[menu])]
    for line, hz in zip(points, given, strict=False):
        assert np.asarray(line.get_xdata()) == pytest.approx(np.where(hz > 0, hz, np.nan), nan_ok=True)
    assert [line.get_markerfacecolor() == "white" for line in points[:4]] == [True, False, True, False]
    assert len({line.get_marker() for line in points[:4]}) == 2  # menus differ in more than colour
    assert [text.get_text() for text in axes.get_yticklabels()] == ["jets", "muons"]


def test_the_legend_has_the_points_of_the_plot() -> None:
    made = draw_rates(["jets", "muons"], TOTAL, UNIQUE)
    (axes,) = made.axes
    (legend,) = made.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one: total, unique", "two: total, unique"]
    shown = [line for line in legend.findobj(Line2D) if line.get_marker() not in ("", "None")]
    drawn = [bars.lines[0] for bars in axes.containers]  # the unique rates of a menu, then its total rates
    of_legend = [drawn[number] for number in (1, 0, 3, 2)]
    for looks in ("get_color", "get_marker", "get_markerfacecolor", "get_markersize"):
        assert [getattr(line, looks)() for line in shown] == [getattr(line, looks)() for line in of_legend]


def test_without_any_rate_there_is_still_a_figure() -> None:
    nothing = {"one": (np.zeros(2), np.zeros(2))}
    made = draw_rates(["a", "b"], nothing, nothing)
    made.canvas.draw()
    (axes,) = made.axes
    assert axes.get_xscale() == "linear"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    points = [bars.lines[0] for bars in axes.containers[:2]]
    assert all(np.isnan(np.asarray(line.get_xdata())).all() for line in points)


# ---- rates of samples


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
    draw_samples([], [], []).canvas.draw()


# ---- combinations


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


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    made = draw_scan("pT", np.array([10.0, 20.0]), {"a": (np.array([100.0, 40.0]), np.ones(2))})
    save(made, tmp_path / "new" / "a.png")
    pixels = matplotlib.image.imread(tmp_path / "new" / "a.png")
    assert pixels.shape[0] > 500
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 50
    assert [f.name for f in (tmp_path / "new").iterdir()] == ["a.png"]
    (tmp_path / "file").write_text("")
    with pytest.raises(TrigemuError, match="cannot write"):
        save(made, tmp_path / "file" / "a.png")


# ---- rates in bins

BINS = np.array([0.0, 5.0, 10.0, 20.0])


def test_each_curve_is_a_line_with_a_band_of_its_errors() -> None:
    hz, error = np.array([10.0, np.nan, 300.0]), np.array([2.0, np.nan, 30.0])
    (axes,) = draw_scan("n", BINS, {"A": (hz, error), "B": (2 * hz, error)}).axes
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
    made = draw_scan("n", BINS, {"A": (flat, flat)})
    (axes,) = made.axes
    np.testing.assert_array_equal(axes.patches[0].get_data().values, flat)
    assert axes.get_yscale() == "linear"
    made.savefig(io.BytesIO(), dpi=20)


# ---- scans

VALUES = np.array([60.0, 80.0, 100.0])


def test_a_line_and_a_band_for_each_rate(tmp_path: Path) -> None:
    hz = {"total": np.array([3e4, 2e4, 0.0]), "menu": np.array([4e4, 3e4, 2e4])}
    curves = {name: (rate, 0.1 * rate) for name, rate in hz.items()}
    made = draw_scan("threshold of J", VALUES, curves, [25e3])
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


# ---- turn-ons

TURNON_EDGES = np.array([0.0, 10.0, 20.0, 50.0])
FIRST = (np.array([0.0, 0.5, np.nan]), np.array([0.0, 0.4, np.nan]), np.array([0.1, 0.6, np.nan]))
SECOND = (np.array([0.2, 0.7, np.nan]), np.array([0.1, 0.6, np.nan]), np.array([0.3, 0.8, np.nan]))
GAIN = (np.array([0.2, 0.2, np.nan]), np.array([0.15, 0.1, np.nan]), np.array([0.25, 0.3, np.nan]))


def test_lines_and_bands_are_the_numbers() -> None:
    made = draw_efficiency("pT", "GeV", TURNON_EDGES, {"a": FIRST, "b": SECOND}, {"b": GAIN})
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
    upper, lower = draw_efficiency("pT", "", TURNON_EDGES, {"a": FIRST, "b": SECOND}, {"b": GAIN}).axes
    (gain, *_), lines = lower.patches, upper.patches[::2]
    assert gain.get_edgecolor() == lines[1].get_edgecolor() != lines[0].get_edgecolor()
    assert gain.get_linestyle() == lines[1].get_linestyle() != lines[0].get_linestyle()


def test_what_lies_outside_of_0_to_1_is_seen() -> None:
    outside = (np.array([-0.1, 0.5, 1.2]), np.array([-0.2, 0.4, 1.1]), np.array([0.0, 0.6, 1.3]))
    for curves, ends in (({"a": FIRST}, (0.0, 1.05)), ({"a": FIRST, "b": outside}, (-0.21, 1.365))):
        (axes,) = draw_efficiency("pT", "GeV", TURNON_EDGES, curves, {}).axes  # one menu alone gains nothing
        assert axes.get_ylim() == pytest.approx(ends)


# ---- names

EDGES, TWO, ONE = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0]), np.ones(2)
FIGURES: dict[str, Callable[[str], Figure]] = {
    "rates": lambda n: draw_rates(NAMES, *[{n: (np.ones(len(NAMES)),) * 2}] * 2),
    "samples": lambda n: draw_samples([n], [1.0], [False]),
    "combinations": lambda n: draw_combinations([n, "b"], np.eye(2, dtype=np.bool_), ONE, ONE),
    "bins": lambda n: draw_scan(n, EDGES, {n: (ONE, ONE)}),
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
