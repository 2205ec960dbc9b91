"""All figures of a toy: the files are there, and what they say is readable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from trigemu_decade import figures
from trigemu_decade.diagnostics import diagnose
from trigemu_decade.figures import densities
from trigemu_decade.report import write_figures

Toy = Callable[..., Any]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved, in that order."""
    result: list[Figure] = []
    save = figures.style.save

    def keep(figure: Figure, path: Path) -> None:
        result.append(figure)
        save(figure, path)

    monkeypatch.setattr(figures.style, "save", keep)
    return result


def test_all_files_are_there_and_nothing_is_cut_off(toy: Toy, tmp_path: Path, drawn: list[Figure]) -> None:
    events = toy(20000, 1)
    files = write_figures(events, diagnose(events), tmp_path / "new")
    assert [file.stem for file in files] == [
        "acceptance_jet_0_pt",
        "acceptance_photon_0_pt",
        "acceptance_jet_0_pt_photon_0_pt",
        "density_jet_0_pt",
        "density_photon_0_pt",
    ]
    for file, result in zip(files, drawn, strict=True):
        pixels = matplotlib.image.imread(file)[..., :3]
        assert pixels.shape[0] >= 400
        border = (pixels[:2], pixels[-2:], pixels[:, :2], pixels[:, -2:])
        assert all((end == 1.0).all() for end in border)  # what is cut off reaches the border
        assert any(axes.get_xlabel() for axes in result.axes)
        assert any(axes.get_ylabel() or axes.get_yticklabels() for axes in result.axes)
        assert not overlapping(result)


def overlapping(made: Figure) -> list[tuple[str, str]]:
    """Pairs of labels of ticks on one axis that touch each other."""
    result = []
    for axes in made.axes:
        for axis in (axes.xaxis, axes.yaxis):
            texts: list[Text] = [t for t in axis.get_ticklabels() if t.get_visible() and t.get_text()]
            low, high = sorted(axis.get_view_interval())
            places = axis.get_ticklocs()
            shown = [t for t, p in zip(texts, places, strict=False) if low <= p <= high]
            boxes = [t.get_window_extent().shrunk(0.95, 0.95) for t in shown]
            for i, first in enumerate(boxes):
                result += [
                    (shown[i].get_text(), shown[j].get_text())
                    for j in range(i + 1, len(boxes))
                    if first.overlaps(boxes[j])
                ]
    return result


def test_points_are_acceptances_over_q(toy: Toy) -> None:
    events = toy(20000, 2)
    closure = diagnose(events).closures[0]
    result = figures.draw_acceptance(closure, events.q)
    top, bottom = result.axes
    assert (len(top.containers), len(bottom.containers)) == (4, 2)
    for number, acceptance in enumerate(closure.acceptances):
        heights = top.containers[number].lines[0].get_ydata()
        expected = np.array(acceptance.value) / events.q
        assert heights == pytest.approx(np.where(expected > 0, expected, np.nan), nan_ok=True)
    assert bottom.get_xticklabels()[0].get_text() == "none"
    assert "chi" in result.legends[0].get_texts()[0].get_text()


def test_a_map_shows_only_cells_with_enough_events(toy: Toy) -> None:
    events = toy(3000, 3)
    closure = diagnose(events).closures[2]
    result = figures.draw_map(closure, events.q)
    shape = [axis.bins for axis in closure.axes]
    for panel, acceptance in zip(result.axes, closure.acceptances[:2], strict=False):
        cells = np.ma.filled(panel.collections[0].get_array(), np.nan).reshape(shape[::-1]).T.ravel()
        assert np.isnan(cells).tolist() == [not tested for tested in closure.tested]
        ratio = np.array(acceptance.value, float) / events.q
        assert cells == pytest.approx(np.where(closure.tested, np.maximum(ratio, 1e-9), np.nan), nan_ok=True)


@pytest.mark.usefixtures("without_layout")
@pytest.mark.parametrize("changed", ["nothing passes", "one observable", "never missing", "always missing"])
def test_odd_samples_are_drawn_too(toy: Toy, tmp_path: Path, changed: str) -> None:
    events = toy(400, 4)
    x = events.x
    odd = {
        "nothing passes": replace(events, threshold=1e9),
        "one observable": replace(events, x={"jet[0].pt": x["jet[0].pt"]}),
        "never missing": replace(events, x={name: values + 1 for name, values in x.items()}),
        "always missing": replace(events, x=x | {"jet[0].pt": np.zeros(400)}),
    }[changed]
    files = write_figures(odd, diagnose(odd), tmp_path)
    assert all(file.stat().st_size > 5000 for file in files)


def test_no_rate_is_lost_and_every_event_is_where_it_belongs(toy: Toy) -> None:
    events = toy(2000, 1)
    result = densities(events)
    assert [d.observable for d, _ in result] == [*events.x]
    assert [(before.corrected, after.corrected) for before, after in result] == [(False, True)] * 2
    for density in chain.from_iterable(result):
        x, score = events.x[density.observable], events.corrected if density.corrected else events.y
        assert density.rate.shape == (1 + figures.BINS, figures.BINS)
        assert density.rate.sum() == pytest.approx(events.weight.sum())
        assert density.rate[0].sum() == pytest.approx(events.weight[x == 0].sum())
        edges = density.y_edges.copy()
        edges[[0, -1]] = -np.inf, np.inf  # the first and the last bin take what is beyond
        present = x != 0
        plain = np.histogram2d(
            x[present], score[present], [density.x_edges, edges], weights=events.weight[present]
        )[0]
        inner = slice(1, -1)  # logarithms may move an event at the very edge
        assert density.rate[1:][inner] == pytest.approx(plain[inner])


def test_cuts_are_quantiles_over_the_other_observables(toy: Toy) -> None:
    events = toy(3000, 2)
    before, after = densities(events)[0]
    x = events.x["jet[0].pt"]
    rows = (x >= before.x_edges[3]) & (x < before.x_edges[4])
    expected = np.quantile(
        events.quantile[rows] + events.threshold,
        [0.16, 0.5, 0.84],
        weights=events.weight[rows],
        method="inverted_cdf",
    )
    assert before.threshold[4] == pytest.approx(expected)
    assert before.constant == events.y_threshold
    filled = after.rate.any(axis=1)
    assert (after.threshold[filled] == events.threshold).all()
    assert np.isnan(after.threshold[~filled]).all()
    assert after.constant is None


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_axes_are_logarithmic_where_values_spread(toy: Toy, spread: float) -> None:
    events = toy(500, 3)
    x = np.linspace(1.0, 1.0 + spread, 500)
    (density,) = densities(replace(events, x={"x": x, "nothing": np.zeros(500)}))
    steps = np.diff(np.log(density[0].x_edges)) if spread > 5 else np.diff(density[0].x_edges)
    assert density[0].is_log == (spread > 5)
    assert steps == pytest.approx(steps[0])


def test_one_value_alone_makes_an_axis(toy: Toy) -> None:
    events = toy(50, 4)
    (result,) = densities(replace(events, x={"x": np.full(50, 7.0)}, y=np.ones(50), quantile=np.ones(50)))
    assert result[0].rate.sum() == pytest.approx(events.weight.sum())
