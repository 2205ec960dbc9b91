"""Projects on disk: written projects are read, and changes are reported."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from firmware_toys import toy, write_project
from trigemu_firmware import open_project, project as layout
from trigemu_firmware.project import MANIFEST, TREES, VECTORS, sha256

from trigemu import TrigemuError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project without conifer's sources."""
    result = write_project(toy(), tmp_path, ())
    layout.write_trees(result.fixed.ensemble, tmp_path / TREES)
    layout.write_vectors(result.vectors, tmp_path / VECTORS)
    resealed(tmp_path, result.manifest)
    return tmp_path


def resealed(folder: Path, manifest: layout.Manifest | None = None, **changed: object) -> None:
    """With the sha256 of the files that are there."""
    inputs = manifest or open_manifest(folder)
    digests = {name: sha256(folder / name) for name in (TREES, VECTORS)}
    layout.write_manifest(msgspec.structs.replace(inputs, sha256=digests, **changed), folder / MANIFEST)


def open_manifest(folder: Path) -> layout.Manifest:
    return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=layout.Manifest)


def test_what_is_written_is_read_to_the_last_bit(folder: Path) -> None:
    result, fixed = open_project(folder), toy()
    for name in ("feature", "threshold", "left", "right", "value", "starts", "base", "features"):
        ours, theirs = getattr(result.fixed.ensemble, name), getattr(fixed.ensemble, name)
        assert np.array_equal(ours, theirs), name
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
    assert (result.fixed.precision, result.fixed.scales) == (fixed.precision, fixed.scales)
    assert (result.vectors.words == fixed.inputs(result.vectors.x)).all()
    assert (result.vectors.scores == fixed.predict(result.vectors.x)).all()


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


def test_scores_that_the_emulation_does_not_give(folder: Path) -> None:
    result = open_project(folder)
    layout.write_vectors(replace(result.vectors, scores=result.vectors.scores + 1), folder / VECTORS)
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
    everything = layout.Vectors(x, x.astype(np.int64), x[:, 0].astype(np.int64))
    assert everything.spread(4).tolist() == [0, 333, 666, 999]
    assert everything.spread(5000).tolist() == list(range(1000))


NINE = dict.fromkeys(("input", "threshold", "score"), "ap_fixed<9,5>")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": 1}, "has format 1, but this trigemu reads 2"),
        ({"backends": ["../cpp"]}, r"matching regex .* at `\$.backends\[0\]`"),
        ({"part": "x]; exec rm"}, "matching regex"),
        ({"benches": -1}, "`int` >= 1"),
        ({"events": 10**12}, "`int` <= 1000000"),
        ({"events": 1999}, r"x: is not the array float32\[1999, 3\]"),
        ({"clock_mhz": 0}, "`float` > 0"),
        ({"inputs": ["a"] * 100_000}, "trees of 3 inputs, but project.json names 100000"),
        ({"precision": NINE | {"input": "x" * 10**6}}, "ap_fixed<W"),
        ({"precision": NINE | {"scales": [10**6] * 3}}, "expected −64 to 64"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_manifests_that_are_absurd(folder: Path, changed: dict[str, object], message: str) -> None:
    document = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(document | changed))
    with pytest.raises(TrigemuError, match=message) as error:
        open_project(folder)
    assert len(str(error.value)) < 1500


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "Expected `object`"),
        (b"\xff", "trees.json: "),
        (b'{"feature": [' + b"[" * 100_000, "trees.json: "),
        (b'{"feature": [4294967296]}', "Expected `int`"),
        (b'{"feature": [NaN]}', "malformed"),
    ],
    ids=["list", "no UTF-8", "nested", "large", "NaN"],
)
def test_trees_that_are_no_json(folder: Path, content: bytes, message: str) -> None:
    (folder / TREES).write_bytes(content)
    resealed(folder)
    with pytest.raises(TrigemuError, match=message):
        open_project(folder)


def test_trees_that_are_too_deep(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 101
    split = [node % 2 == 0 and node < n - 1 for node in range(n)]
    chain = {
        "feature": [0 if s else -1 for s in split],
        "left": [node + 1 if s else -1 for node, s in enumerate(split)],
        "right": [node + 2 if s else -1 for node, s in enumerate(split)],
        **{"threshold": [0.0] * n, "value": [0.0] * n, "starts": [0, n], "base": 0.0, "features": 3},
    }
    (folder / TREES).write_text(json.dumps(chain))
    resealed(folder)
    monkeypatch.setattr(layout, "MAX_DEPTH", 40)
    with pytest.raises(TrigemuError, match="trees of 50 splits from root to leaf: expected at most 40"):
        open_project(folder)


def archive(path: Path, **arrays: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in arrays.items():
            file.writestr(f"{name}.npy", content)


def npy(array: np.ndarray, **how: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **how)
    return stream.getvalue()


def header(shape: str, dtype: str = "<f4") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


X = np.zeros((2000, 3), np.float32)
NO_X = r"x: is not the array float32\[2000, 3\]"
WORDS = {"words": npy(X.astype(np.int64)), "scores": npy(np.zeros(2000, np.int64))}
WORSE: dict[str, tuple[dict[str, bytes] | bytes, str]] = {
    "no archive": (b"PK\x05\x06", "is damaged: "),
    "empty": ({}, "x is not a file in the archive"),
    "objects": ({"x": npy(np.array([print], object), allow_pickle=True)}, "Object arrays cannot be loaded"),
    "doubles": ({"x": npy(X.astype(np.float64)), **WORDS}, NO_X),
    "enormous": ({"x": header("(1000000000000, 3)")}, "is damaged: Unable to allocate"),
    "transposed": ({"x": npy(np.asfortranarray(X.T)), **WORDS}, NO_X),
    "short": ({"x": npy(X)[:-1]}, "is damaged: EOF: reading array data"),
    "nested": ({"x": header("(" * 5000)}, "is damaged: "),
    "not a number": ({"x": npy(X * np.nan), **WORDS}, "not finite"),
}


@pytest.mark.parametrize("kind", WORSE)
def test_arrays_that_are_others(folder: Path, kind: str) -> None:
    content, message = WORSE[kind]
    if isinstance(content, bytes):
        (folder / VECTORS).write_bytes(content)
    else:
        archive(folder / VECTORS, **content)
    resealed(folder)
    with pytest.raises(TrigemuError, match=rf"vectors.npz.*{message}"):
        open_project(folder)


def test_an_archive_with_a_wrong_checksum(folder: Path) -> None:
    archive(folder / VECTORS, x=npy(X))
    with zipfile.ZipFile(folder / VECTORS) as file:
        crc = file.getinfo("x.npy").CRC.to_bytes(4, "little")
    content = (folder / VECTORS).read_bytes()
    assert content.count(crc) == 2
    (folder / VECTORS).write_bytes(content.replace(crc, bytes(4)))
    resealed(folder)
    with pytest.raises(TrigemuError, match=r"vectors.npz is damaged: Bad CRC"):
        open_project(folder)
