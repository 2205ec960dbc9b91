from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from figure_checks import check_names_are_no_formulas
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from toys import memory_catalogue, toy_events
from trigemu_formats.spectra import Spectrum, spectra
from trigemu_formats.spectra_figure import draw_spectrum

from trigemu.base.mapping import Engine

SAMPLES = {"a": toy_events(1, 300), "b": toy_events(2, 100)}


@pytest.fixture(scope="module")
def found() -> dict[str, Spectrum]:
    return {s.quantity.observable: s for s in spectra(memory_catalogue(SAMPLES))}


def test_what_a_sample_lacks_is_left_out(found: dict[str, Spectrum]) -> None:
    assert "n_interaction" not in found
    assert "electron[0].pt" not in found
    assert {"jet[0].pt", "n_jet", "ht", "met", "weight"} <= set(found)


def test_spectra_equal_a_brute_force(found: dict[str, Spectrum]) -> None:
    values = {
        "jet[0].pt": lambda e: e["jet"][0]["pt"] if e["jet"] else math.nan,
        "n_photon": lambda e: len(e["photon"]),
        "ht": lambda e: sum(j["pt"] for j in e["jet"]),
        "met": lambda e: e["met"],
    }
    for name, value in values.items():
        edges = found[name].quantity.edges
        for sample, events in SAMPLES.items():
            for i, (low, high) in enumerate(pairwise(edges)):
                last = i == len(edges) - 2
                inside = [e["weight"] for e in events if low <= value(e) and (value(e) < high or last)]
                assert found[name].sum_w[sample][i] == pytest.approx(math.fsum(inside), rel=1e-9, abs=1e-9)
                squares = math.fsum(w * w for w in inside)
                assert found[name].variance[sample][i] == pytest.approx(squares, rel=1e-9, abs=1e-9)


def test_events_of_one_interaction_fluctuate_together() -> None:
    """The variance of a bin is that of the sums over its events of one parent."""
    events = [event | {"parent": number % 40} for number, event in enumerate(SAMPLES["a"])]
    catalogue = memory_catalogue({"a": events})
    found = {s.quantity.observable: s for s in spectra(catalogue)}["n_photon"]
    for i in range(6):
        inside = [e for e in events if len(e["photon"]) == i or (i == 5 and len(e["photon"]) > 5)]
        sums = [math.fsum(e["weight"] for e in inside if e["parent"] == p) for p in range(40)]
        assert found.variance["a"][i] == pytest.approx(math.fsum(x * x for x in sums))
    alone = {s.quantity.observable: s for s in spectra(catalogue.with_errors("events"))}["n_photon"]
    assert alone.variance["a"][0] < found.variance["a"][0]


def test_progress_counts_every_event() -> None:
    catalogue, done = memory_catalogue(SAMPLES), list[int]()
    spectra(catalogue, executor=Engine(progress=done.append))
    assert sum(done) == sum(sample.entries for sample in catalogue.samples) > 0


# ---- figures

SPECTRUM_EDGES = np.array([10.0, 20.0, 40.0, 80.0])
RATES = {"a": np.array([100.0, 40.0, 8.0]), "b": np.array([10.0, 0.0, 2.0]), "s": np.array([1.0, 1.0, 1.0])}


def drawn_spectrum() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    made = draw_spectrum("pT", "GeV", SPECTRUM_EDGES, RATES, RATES, frozenset("s"))
    return steps_of(made.axes[0]), steps_of(made.axes[1])


def steps_of(axes: Axes) -> dict[str, np.ndarray]:
    steps = [p for p in axes.patches if isinstance(p, StepPatch) and p.get_label()[:1] not in ("", "_")]
    return {str(p.get_label()): p.get_data().values for p in steps}


def test_lines_are_rates_per_bin_width_and_signals_have_a_panel_of_their_own() -> None:
    lines, shapes = drawn_spectrum()
    assert lines["a"] == pytest.approx([10.0, 2.0, 0.2])
    assert list(shapes) == ["s"]
    assert shapes["s"] == pytest.approx(np.array([0.1, 0.05, 0.025]) / 3)
    assert lines["sum of the background"] == pytest.approx([11.0, 2.0, 0.25])
    assert np.isnan(lines["b"][1])


def test_rare_samples_are_one_line() -> None:
    rates = {f"s{i}": np.array([1.0, 10.0**-i, 0.0]) for i in range(12)}
    lines = steps_of(draw_spectrum("n", "", SPECTRUM_EDGES, rates, rates).axes[0])
    assert [*lines] == [*(f"s{i}" for i in range(8)), "4 others", "sum of the background"]
    assert lines["4 others"][:2] == pytest.approx([4.0, sum(10.0**-i for i in range(8, 12))])
    assert lines["sum of the background"][:2] == pytest.approx([12.0, sum(10.0**-i for i in range(12))])


def test_names_are_no_formulas() -> None:
    edges, one = np.array([1.0, 2.0, 3.0]), np.ones(2)
    check_names_are_no_formulas(lambda name: draw_spectrum(name, name, edges, {name: one}, {name: one}))
