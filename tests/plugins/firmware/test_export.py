"""A project of a toy trigger: what it holds, of which events, and what is left where that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import needs
from toys import evaluation_half, is_evaluation, memory_catalogue, menu_from, toy_events
from tree_toys import READS, TREES, Boosted, fixed_walk
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.precision import PrecisionTable
from trigemu_anomaly.trees import Ensemble, FixedEnsemble, Precision
from trigemu_firmware import Manifest, choose, export as exporting, open_project, verify
from trigemu_firmware.export import SATURATING_PRECISION, export

from trigemu import Catalogue, Menu, TrigemuError, __version__

pytestmark = needs("conifer")

MENU = """
[[trigger]]
name = "AD"
kind = "threshold"
observable = "met"
above = 0.0
"""
PRECISION = PrecisionTable(
    input="ap_fixed<10,8>", threshold="ap_fixed<10,8>", score="ap_fixed<12,4>", scales=(0, 2)
)
EVENTS = toy_events(37, 600)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("AROUND", 200),):
        monkeypatch.setattr(verify, name, count)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return memory_catalogue({"a": EVENTS[:250], "b": EVENTS[250:]})


def menu(folder: Path, precision: PrecisionTable | None = PRECISION, **keys: Any) -> Menu:
    result = menu_from(folder, MENU)
    description = Boosted(above=0.0, requires="n_photon >= 1", precision=precision, **keys)
    return replace(result, triggers=(replace(result.triggers[0], kind="boosted", description=description),))


def entered(events: list[dict[str, Any]]) -> list[list[float]]:
    """Return the inputs of the trees for the preselected events."""
    rows = []
    for event in events:
        if event["photon"]:
            jet = event["jet"][0]["pt"] if event["jet"] else 0.0
            rows.append(np.float32([jet, event["photon"][0]["pt"] / 8]).tolist())
    return rows


def exported(folder: Path, catalogue: Catalogue, made: Menu, **options: Any) -> Manifest:
    return export(made, "AD", catalogue, folder / "made", **options)


@pytest.mark.parametrize(("form", "made"), [("logic", {"trees.v"}), ("memory", {"trees.v", "trees.hex"})])
def test_a_project_has_the_files_of_its_manifest(
    tmp_path: Path, catalogue: Catalogue, form: str, made: set[str]
) -> None:
    manifest = exported(tmp_path, catalogue, menu(tmp_path), latency=3, form=form, clock_mhz=320.0)
    folder = tmp_path / "made"
    project = open_project(folder)
    assert project.manifest == manifest
    assert manifest.backends == ("verilog", "cpp", "hls")
    assert {path.name for path in folder.iterdir() if path.is_dir()} == set(manifest.backends)
    assert {path.name for path in (folder / "verilog").iterdir()} == {*made, "inputs.txt", "scores.txt"}
    assert (project.circuit.latency, set(project.circuit.data)) == (3, made - {"trees.v"})
    assert (manifest.trigemu, manifest.conifer) == (__version__, metadata.version("conifer"))
    assert (manifest.menu, manifest.trigger, manifest.catalogue) == ("menu", "AD", "toy")
    assert (manifest.inputs, manifest.clock_mhz) == (READS, 320.0)
    assert manifest.precision == PRECISION
    for name in ("feature", "threshold", "left", "right", "value", "starts"):
        assert (getattr(project.fixed.ensemble, name) == getattr(TREES, name)).all()
    readme = (folder / "README.md").read_text()
    for text in (
        f"{TREES.split_nodes} splits",
        "| 1 | `photon[0].pt / 8` | 2^2 |",
        "20 bits",
        "3 clocks later",
    ):
        assert text in readme
    assert all(f"`{name}/`" in readme for name in manifest.backends)


def test_vectors_are_the_preselected_events_and_the_scores_of_loops(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    manifest = exported(tmp_path, catalogue, menu(tmp_path))
    project = open_project(tmp_path / "made")
    requested = entered(EVENTS)
    assert (manifest.sample, manifest.half) == (len(requested), None)
    assert len(project.vectors) == manifest.events == manifest.sample + 200
    rows = project.vectors.x.tolist()
    assert all(rows.count(row) >= requested.count(row) for row in requested)
    fixed = PRECISION.of(TREES)
    assert project.vectors.scores.tolist() == fixed_walk(fixed, project.vectors.x)[0]
    # The same as text, for simulators.
    verilog, hls = tmp_path / "made" / "verilog", tmp_path / "made" / "hls" / "tb_data"
    assert np.loadtxt(verilog / "inputs.txt").tolist() == project.vectors.words.tolist()
    assert np.loadtxt(hls / "inputs.txt").tolist() == (project.vectors.x * np.float64([1, 4])).tolist()
    for folder in (verilog, hls):
        assert np.loadtxt(folder / "scores.txt").tolist() == project.vectors.scores.tolist()


def test_events_are_of_the_half_that_was_not_fitted(tmp_path: Path, catalogue: Catalogue) -> None:
    manifest = exported(tmp_path, catalogue, menu(tmp_path, trained_on="toy"))
    requested = entered([*evaluation_half(EVENTS[:250]), *evaluation_half(EVENTS[250:])])
    assert (manifest.sample, manifest.half) == (len(requested), "evaluation")
    rows = open_project(tmp_path / "made").vectors.x.tolist()
    assert all(row in rows for row in requested)
    assert "its evaluation half" in (tmp_path / "made" / "README.md").read_text()


def test_without_a_precision_one_is_chosen_on_the_training_events(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def recorded(trees: Ensemble, x: Features, names: Sequence[str], types: Precision) -> FixedEnsemble:
        seen.append(x)
        return choose(trees, x, names, types)

    monkeypatch.setattr(exporting, "choose", recorded)
    manifest = exported(tmp_path, catalogue, menu(tmp_path, precision=None, trained_on="toy"))
    numbers = [*range(250), *range(350)]
    known = [event for event, number in zip(EVENTS, numbers, strict=True) if not is_evaluation(number)]
    assert seen[0].tolist() == entered(known)
    assert manifest.chosen == len(seen[0])
    expected = choose(TREES, np.float32(entered(known)), ("a", "b"), SATURATING_PRECISION)
    fixed = open_project(tmp_path / "made").fixed
    assert (fixed.precision, fixed.scales) == (expected.precision, expected.scales)
    widths = [getattr(fixed.precision, kind).width for kind in ("input", "threshold", "score")]
    assert widths == [12, 12, 16]
    assert fixed.precision.input.overflow == "AP_SAT"


def test_hls_is_the_model_where_conifer_has_no_other(tmp_path: Path, catalogue: Catalogue) -> None:
    precision = PrecisionTable(input="ap_fixed<10,8>", threshold="ap_fixed<11,8>", score="ap_fixed<12,4>")
    manifest = exported(tmp_path, catalogue, menu(tmp_path, precision))
    assert manifest.backends == ("verilog", "hls")


def test_the_same_gives_the_same_bytes(tmp_path: Path, catalogue: Catalogue) -> None:
    result = []
    for name in ("one", "another"):
        export(menu(tmp_path), "AD", catalogue, tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        result.append({path.relative_to(tmp_path / name): path.read_bytes() for path in files})
    assert result[0] == result[1]


def test_an_existing_folder_is_left_alone(tmp_path: Path, catalogue: Catalogue) -> None:
    (tmp_path / "made").mkdir()
    with pytest.raises(TrigemuError, match="made: it already exists"):
        exported(tmp_path, catalogue, menu(tmp_path))
    assert not list((tmp_path / "made").iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_export_that_is_interrupted_leaves_nothing(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    seen = []

    def fails(*_: object) -> None:
        seen.extend(path.name for path in tmp_path.iterdir())
        raise error

    monkeypatch.setattr(exporting, "_readme", fails)
    with pytest.raises((KeyboardInterrupt, TrigemuError)):
        exported(tmp_path, catalogue, menu(tmp_path))
    assert any(name.startswith(".trigemu-") for name in seen)
    assert "made" not in seen
    assert [path.name for path in tmp_path.iterdir()] == ["menu.toml"]


def test_a_precision_that_conifer_lacks_is_reported_with_the_trigger(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    precision = PrecisionTable(input="ap_fixed<10,8>", threshold="ap_fixed<10,8>", score="ap_fixed<12,1>")
    with pytest.raises(TrigemuError, match=r"menu.toml:2: trigger 'AD': score = ap_fixed<12,1>"):
        exported(tmp_path, catalogue, menu(tmp_path, precision))
    assert not (tmp_path / "made").exists()
