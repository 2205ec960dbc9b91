"""Projects on disk: what is written is read, and what was changed is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from firmware_toys import toy, write_project
from tree_toys import random_trees

from trigemu.firmware import project as layout
from trigemu.firmware.project import MANIFEST, TREES, VECTORS, open_project, sha256
from trigemu.support.errors import TrigemuError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project without conifer's sources."""
    made = write_project(toy(), tmp_path, ())
    layout.write_trees(made.fixed.ensemble, tmp_path / TREES)
    layout.write_vectors(made.vectors, tmp_path / VECTORS)
    resealed(tmp_path, made.manifest)
    return tmp_path


def resealed(folder: Path, manifest: layout.Manifest | None = None, **changed: object) -> None:
    """With the sha256 of the files that are there."""
    given = manifest or open_manifest(folder)
    digests = {name: sha256(folder / name) for name in (TREES, VECTORS)}
    layout.write_manifest(msgspec.structs.replace(given, sha256=digests, **changed), folder / MANIFEST)


def open_manifest(folder: Path) -> layout.Manifest:
    return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=layout.Manifest)


def test_what_is_written_is_read_to_the_last_bit(folder: Path) -> None:
    made, fixed = open_project(folder), toy()
    for name in ("feature", "threshold", "left", "right", "value", "starts", "base", "features"):
        ours, theirs = getattr(made.fixed.ensemble, name), getattr(fixed.ensemble, name)
        assert np.array_equal(ours, theirs), name
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
    assert (made.fixed.precision, made.fixed.scales) == (fixed.precision, fixed.scales)
    assert (made.vectors.words == fixed.inputs(made.vectors.x)).all()
    assert (made.vectors.scores == fixed.predict(made.vectors.x)).all()
    assert len(made.simulated) == 400


@pytest.mark.parametrize("name", [TREES, VECTORS])
@pytest.mark.parametrize("how", ["gone", "cut", "other"])
def test_files_that_are_not_those_that_were_exported(folder: Path, name: str, how: str) -> None:
    if how == "gone":
        (folder / name).unlink()
    else:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2] if how == "cut" else content + b"\n")
    with pytest.raises(TrigemuError, match=f"{name}: is not the file that was exported: export"):
        open_project(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no project.json: expected a folder that trigemu firmware export wrote"),
        ("{", "project.json: cannot be read"),
        ("{}", "project.json: cannot be read .*missing required field"),
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


def test_another_format_is_told(folder: Path) -> None:
    resealed(folder, format=2)
    with pytest.raises(TrigemuError, match=r"has format 2, and this trigemu reads 1: export"):
        open_project(folder)


def test_scores_that_the_emulation_does_not_give(folder: Path) -> None:
    made = open_project(folder)
    layout.write_vectors(replace(made.vectors, scores=made.vectors.scores + 1), folder / VECTORS)
    resealed(folder)
    with pytest.raises(TrigemuError, match=r"gives other scores than trigemu 0 did: export"):
        open_project(folder)


def test_trees_that_are_none(folder: Path) -> None:
    document = json.loads((folder / TREES).read_text())
    document["left"] = [0] * len(document["left"])
    (folder / TREES).write_text(json.dumps(document))
    resealed(folder)
    with pytest.raises(TrigemuError, match="not a later node"):
        open_project(folder)


def test_simulated_events_are_spread_over_all() -> None:
    x = np.arange(1000, dtype=np.float32)[:, np.newaxis]
    every = layout.Vectors(x, x.astype(np.int64), x[:, 0].astype(np.int64))
    assert every.spread(4).tolist() == [0, 333, 666, 999]
    assert every.spread(5000).tolist() == list(range(1000))


def test_a_base_and_leaves_of_any_size_survive_text(tmp_path: Path) -> None:
    trees = replace(random_trees(3, 2), base=1 / 3)
    layout.write_trees(trees, tmp_path / "trees.json")
    assert json.loads((tmp_path / "trees.json").read_text())["base"] == 1 / 3
