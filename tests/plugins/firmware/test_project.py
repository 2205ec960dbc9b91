"""The trees of a trigger as firmware: of which events, with which types; and what an export writes."""

from __future__ import annotations

import getpass
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import needs, toy
from toys import evaluation_half, is_evaluation, memory_catalogue, menu_from, threshold, toy_events
from tree_toys import READS, TREES, Boosted, fixed_walk
from trigemu_anomaly.precision import PrecisionTable
from trigemu_firmware import choose, make_project, project as layout, write_project
from trigemu_firmware.project import SATURATING_PRECISION, around

from trigemu import Catalogue, Menu, TrigemuError, __version__

PRECISION = PrecisionTable(
    input="ap_fixed<10,8>", threshold="ap_fixed<10,8>", score="ap_fixed<12,4>", scales=(0, 2)
)
EVENTS = toy_events(37, 600)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "AROUND", 200)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return memory_catalogue({"a": EVENTS[:250], "b": EVENTS[250:]})


def menu(folder: Path, precision: PrecisionTable | None = PRECISION, **keys: Any) -> Menu:
    result = menu_from(folder, threshold("AD", "met", 0.0))
    description = Boosted(above=0.0, requires="n_photon >= 1", precision=precision, **keys)
    return replace(result, triggers=(replace(result.triggers[0], kind="boosted", description=description),))


def entered(events: list[dict[str, Any]]) -> list[list[float]]:
    """Return the inputs of the trees for the preselected events."""
    rows = [(e["jet"][0]["pt"] if e["jet"] else 0.0, e["photon"][0]["pt"] / 8) for e in events if e["photon"]]
    return np.float32(rows).tolist()


@pytest.mark.parametrize("fitted", [False, True])
def test_test_events_are_the_preselected_ones_with_the_scores_of_loops(
    tmp_path: Path, catalogue: Catalogue, fitted: bool
) -> None:
    """Of the half that was not fitted."""
    project = make_project(menu(tmp_path, trained_on="toy" if fitted else None), "AD", catalogue, 3)
    requested = entered(
        [*evaluation_half(EVENTS[:250]), *evaluation_half(EVENTS[250:])] if fitted else EVENTS
    )
    assert (project.sample, project.half) == (len(requested), "evaluation" if fitted else None)
    assert (project.circuit.latency, len(project.x)) == (3, project.sample + 200)
    rows = project.x.tolist()
    assert all(rows.count(row) >= requested.count(row) for row in requested)
    assert project.scores.tolist() == fixed_walk(PRECISION.of(TREES), project.x)[0]


def test_without_a_precision_one_is_chosen_on_the_training_events(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    project = make_project(menu(tmp_path, precision=None, trained_on="toy"), "AD", catalogue)
    known = [
        e for e, number in zip(EVENTS, [*range(250), *range(350)], strict=True) if not is_evaluation(number)
    ]
    x = np.float32(entered(known))
    assert project.chosen == len(x)
    expected = choose(TREES, x, ("a", "b"), SATURATING_PRECISION)
    assert (project.fixed.precision, project.fixed.scales) == (expected.precision, expected.scales)
    kind = project.fixed.precision.input
    assert (kind.width, project.fixed.precision.score.width, kind.overflow) == (12, 16, "AP_SAT")


def test_rows_lie_on_thresholds_next_to_them_and_beyond_the_type() -> None:
    fixed = toy("ap_fixed<9,5,AP_TRN,AP_SAT>")
    x, trees = around(fixed, 5000), fixed.ensemble
    assert np.isfinite(x).all()
    words, overflows = fixed.inputs(x), fixed.overflows(x)
    for feature in range(3):
        inside = {cut for cut in fixed.cuts[trees.feature == feature].tolist() if abs(cut) < 250}
        seen = set(words[:, feature].tolist())
        assert inside
        assert {word + by for word in inside for by in (-1, 0, 1)} | {*fixed.precision.input.words} <= seen
        assert overflows.inputs[feature] > 0


def content(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@needs("conifer")
def test_an_export_has_the_same_bytes_without_traces_of_the_machine(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(menu(tmp_path), "AD", catalogue, 3)
    monkeypatch.chdir(tmp_path)
    for name in ("one", "another"):
        write_project(project, Path(name), 320.0)
    files = content(tmp_path / "one")
    assert files == content(tmp_path / "another")
    for name, text in files.items():
        for private in (str(tmp_path), f'"{platform.node()}"', f'"{getpass.getuser()}"'):
            assert private.encode() not in text, name
    assert files["verilog/trees.v"].decode() == project.circuit.verilog
    readme = files["README.md"].decode()
    said = f"{TREES.split_nodes} splits", "| 1 | `photon[0].pt / 8` | 2^2 |", "20 bits", "3 clocks later"
    assert all(text in readme for text in (*said, *READS, __version__))
    parameters, types = files["hls/hls_parameters.tcl"], files["hls/firmware/parameters.h"].decode()
    assert b"set clock_period 3.125\n" in parameters
    for kind, name in (("10,8", "input"), ("10,8", "threshold"), ("12,4", "score")):
        assert f"typedef ap_fixed<{kind}> {name}_t;" in types
    # Inputs and scores as text, for simulators.
    verilog, hls = tmp_path / "one" / "verilog", tmp_path / "one" / "hls" / "tb_data"
    assert np.loadtxt(verilog / "inputs.txt").tolist() == project.words.tolist()
    assert np.loadtxt(hls / "inputs.txt").tolist() == (project.x * np.float64([1, 4])).tolist()
    for folder in (verilog, hls):
        assert np.loadtxt(folder / "scores.txt").tolist() == project.scores.tolist()


@needs("conifer")
def test_an_export_that_fails_leaves_nothing(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = PrecisionTable("ap_fixed<10,8>", "ap_fixed<10,8>", "ap_fixed<12,1>")
    with pytest.raises(TrigemuError, match=r"menu.toml:1: trigger 'AD': score = ap_fixed<12,1>: conifer"):
        make_project(menu(tmp_path, narrow), "AD", catalogue)
    project = make_project(menu(tmp_path), "AD", catalogue)

    def interrupted(*_: object) -> None:
        assert not (tmp_path / "made").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(layout, "_readme", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_project(project, tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["menu.toml"]
    (tmp_path / "made").mkdir()
    with pytest.raises(TrigemuError, match="made: it already exists"):
        write_project(project, tmp_path / "made")
