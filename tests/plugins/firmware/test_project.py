"""Projects on disk: what an export holds, of which events, and what is left where that fails; changes to the
files are reported, and changed sources never run."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import needs, toy, write_project
from toys import evaluation_half, is_evaluation, memory_catalogue, menu_from, threshold, toy_events
from tree_toys import READS, TREES, Boosted, fixed_walk
from trigemu_anomaly.precision import PrecisionTable
from trigemu_firmware import Manifest, choose, export, open_project, project as layout
from trigemu_firmware.estimate import estimate
from trigemu_firmware.project import MANIFEST, SATURATING_PRECISION, VECTORS, around
from trigemu_firmware.sources import NAME
from trigemu_firmware.verify import verify

from trigemu import Catalogue, Menu, TrigemuError, __version__

MENU = threshold("AD", "met", 0.0)
PRECISION = PrecisionTable(
    input="ap_fixed<10,8>", threshold="ap_fixed<10,8>", score="ap_fixed<12,4>", scales=(0, 2)
)
EVENTS = toy_events(37, 600)
CONIFER = needs("conifer")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "AROUND", 200)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return memory_catalogue({"a": EVENTS[:250], "b": EVENTS[250:]})


def menu(folder: Path, precision: PrecisionTable | None = PRECISION, **keys: Any) -> Menu:
    result = menu_from(folder, MENU)
    description = Boosted(above=0.0, requires="n_photon >= 1", precision=precision, **keys)
    return replace(result, triggers=(replace(result.triggers[0], kind="boosted", description=description),))


def entered(events: list[dict[str, Any]]) -> list[list[float]]:
    """Return the inputs of the trees for the preselected events."""
    rows = [(e["jet"][0]["pt"] if e["jet"] else 0.0, e["photon"][0]["pt"] / 8) for e in events if e["photon"]]
    return np.float32(rows).tolist()


def exported(folder: Path, catalogue: Catalogue, made: Menu, **options: Any) -> Manifest:
    return export(made, "AD", catalogue, folder / "made", **options)


# ---- exports


@CONIFER
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
    assert (manifest.inputs, manifest.clock_mhz, manifest.precision) == (READS, 320.0, PRECISION)
    readme = (folder / "README.md").read_text()
    said = f"{TREES.split_nodes} splits", "| 1 | `photon[0].pt / 8` | 2^2 |", "20 bits", "3 clocks later"
    assert all(text in readme for text in (*said, *(f"`{name}/`" for name in manifest.backends)))


@CONIFER
@pytest.mark.parametrize("fitted", [False, True])
def test_vectors_are_the_preselected_events_and_the_scores_of_loops(
    tmp_path: Path, catalogue: Catalogue, fitted: bool
) -> None:
    """Of the half that was not fitted."""
    manifest = exported(tmp_path, catalogue, menu(tmp_path, trained_on="toy" if fitted else None))
    project = open_project(tmp_path / "made")
    requested = entered(
        [*evaluation_half(EVENTS[:250]), *evaluation_half(EVENTS[250:])] if fitted else EVENTS
    )
    assert (manifest.sample, manifest.half) == (len(requested), "evaluation" if fitted else None)
    assert len(project.x) == manifest.events == manifest.sample + 200
    rows = project.x.tolist()
    assert all(rows.count(row) >= requested.count(row) for row in requested)
    assert project.scores.tolist() == fixed_walk(PRECISION.of(TREES), project.x)[0]
    # The same as text, for simulators.
    verilog, hls = tmp_path / "made" / "verilog", tmp_path / "made" / "hls" / "tb_data"
    assert np.loadtxt(verilog / "inputs.txt").tolist() == project.words.tolist()
    assert np.loadtxt(hls / "inputs.txt").tolist() == (project.x * np.float64([1, 4])).tolist()
    for folder in (verilog, hls):
        assert np.loadtxt(folder / "scores.txt").tolist() == project.scores.tolist()


@CONIFER
def test_without_a_precision_one_is_chosen_on_the_training_events(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    manifest = exported(tmp_path, catalogue, menu(tmp_path, precision=None, trained_on="toy"))
    known = [
        e for e, number in zip(EVENTS, [*range(250), *range(350)], strict=True) if not is_evaluation(number)
    ]
    x = np.float32(entered(known))
    assert manifest.chosen == len(x)
    expected = choose(TREES, x, ("a", "b"), SATURATING_PRECISION)
    fixed = open_project(tmp_path / "made").fixed
    assert (fixed.precision, fixed.scales) == (expected.precision, expected.scales)
    kind = fixed.precision.input
    assert (kind.width, fixed.precision.score.width, kind.overflow) == (12, 16, "AP_SAT")


@CONIFER
def test_hls_is_the_model_where_conifer_has_no_other(tmp_path: Path, catalogue: Catalogue) -> None:
    precision = PrecisionTable(input="ap_fixed<10,8>", threshold="ap_fixed<11,8>", score="ap_fixed<12,4>")
    assert exported(tmp_path, catalogue, menu(tmp_path, precision)).backends == ("verilog", "hls")


@CONIFER
def test_an_export_that_fails_leaves_nothing(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    precision = PrecisionTable(input="ap_fixed<10,8>", threshold="ap_fixed<10,8>", score="ap_fixed<12,1>")
    with pytest.raises(TrigemuError, match=r"menu.toml:1: trigger 'AD': score = ap_fixed<12,1>"):
        exported(tmp_path, catalogue, menu(tmp_path, precision))

    def interrupted(*_: object) -> None:
        assert not (tmp_path / "made").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(layout, "_readme", interrupted)
    with pytest.raises(KeyboardInterrupt):
        exported(tmp_path, catalogue, menu(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["menu.toml"]
    (tmp_path / "made").mkdir()
    with pytest.raises(TrigemuError, match="made: it already exists"):
        exported(tmp_path, catalogue, menu(tmp_path))


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


# ---- files that were changed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project without sources."""
    layout.write_project(write_project(toy(), tmp_path, ()))
    return tmp_path


def test_what_is_written_is_read_to_the_last_bit(folder: Path) -> None:
    result, fixed = open_project(folder), toy()
    for name in ("feature", "threshold", "left", "right", "value", "starts", "base", "features"):
        ours, theirs = getattr(result.fixed.ensemble, name), getattr(fixed.ensemble, name)
        assert np.array_equal(ours, theirs), name
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
    assert (result.fixed.precision, result.fixed.scales) == (fixed.precision, fixed.scales)
    assert (result.words == fixed.inputs(result.x)).all()


@pytest.mark.parametrize("name", [layout.TREES, VECTORS])
@pytest.mark.parametrize("how", ["gone", "cut", "other"])
def test_files_that_are_not_those_that_were_exported(folder: Path, name: str, how: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2] if how == "cut" else content + b"\n")
    if how == "gone":
        (folder / name).unlink()
    with pytest.raises(TrigemuError, match=f"{name}: is not the file that was exported: export"):
        open_project(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no project.json"),
        ("{}", "project.json: cannot be read .*missing required field"),
        ('{"nested": ' + "[" * 100_000, "project.json: cannot be read"),
        ("\xff", "project.json: cannot be read"),
    ],
)
def test_folders_that_are_no_project(folder: Path, text: str | None, message: str) -> None:
    if text is None:
        (folder / MANIFEST).unlink()
    else:
        (folder / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(TrigemuError, match=message):
        open_project(folder)


NINE = dict.fromkeys(("input", "threshold", "score"), "ap_fixed<9,5>")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": 1}, "has format 1, but this trigemu reads 2"),
        ({"backends": ["../cpp"]}, r"Invalid enum value '../cpp' - at `\$.backends\[0\]`"),
        ({"precision": NINE | {"input": "x" * 10**6}}, "project.json: input = .*ap_fixed<W"),
        ({"precision": NINE | {"scales": [10**6] * 3}}, "expected −64 to 64"),
        ({"precision": NINE}, "gives other scores than trigemu 0 did: export"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_manifests_that_were_changed(folder: Path, changed: dict[str, object], message: str) -> None:
    document = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(document | changed))
    with pytest.raises(TrigemuError, match=message) as error:
        open_project(folder)
    assert len(str(error.value)) < 1500


@CONIFER
@pytest.mark.parametrize(
    ("backend", "file", "how"),
    [
        ("cpp", "run.cpp", "gone"),
        ("cpp", "run.cpp", '#include <fstream>\nint main() {{ std::ofstream("{seen}") << 1; }}\n'),
        ("cpp", f"{NAME}.json", "{{}}"),
        ("verilog", "trees.v", "// {seen}"),
    ],
)
def test_changed_sources_are_named_and_not_run(tmp_path: Path, backend: str, file: str, how: str) -> None:
    project = write_project(toy(), tmp_path, (backend,), events=10)
    seen, source = tmp_path / "seen", project.folder / backend / file
    if how == "gone":
        source.unlink()
    else:
        source.write_text(how.format(seen=seen).ljust(source.stat().st_size))
    with pytest.raises(TrigemuError, match=rf"{file}: is not what trigemu .* and conifer .* write"):
        estimate(project) if backend == "verilog" else verify(project)
    assert not seen.exists()
