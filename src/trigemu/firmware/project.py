"""A project on disk: trees in fixed point, as conifer writes them, test events and their expected scores.

    DIR/README.md        a description, and commands to run next
    DIR/project.json     the manifest: what it was made from
    DIR/trees.json       the trees in floating point
    DIR/vectors.npz      inputs of events, their words, and the words of their scores
    DIR/cpp/             conifer's C++ model
    DIR/hls/             conifer's project for Vitis HLS, of back end hls
    DIR/vhdl/            conifer's VHDL

`verify` and `estimate` read nothing else.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trigemu.observables import Features
from trigemu.support import IntArray, TrigemuError
from trigemu.triggers import Ensemble, FixedEnsemble, PrecisionTable

#: Name of conifer's project, and of the entity that it synthesises.
NAME = "boosted_trees"
MANIFEST, TREES, VECTORS, README = "project.json", "trees.json", "vectors.npz", "README.md"
#: Version of the format of projects.
FORMAT = 1


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of project.json.

    backends: those with a folder in the project. inputs: inputs of the trees, as the card writes them.
    chosen: number of events that the precision was chosen on, None where it is the menu's. words: the single
    type of the VHDL. events: number of test events; sample: how many of them are from the catalogue's half,
    the others are made around thresholds; simulated: how many the VHDL is simulated with. sha256: of the
    menu, of the model, and of files of the project.
    """

    format: int
    trigemu: str
    conifer: str
    backends: tuple[str, ...]
    menu: str
    trigger: str
    catalogue: str
    half: str | None
    inputs: tuple[str, ...]
    precision: PrecisionTable
    chosen: int | None
    words: str
    part: str
    clock_mhz: float
    events: int
    sample: int
    simulated: int
    sha256: dict[str, str]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Test events.

    x: float32[n, d], inputs of the trees. words: int64[n, d], the inputs as words. scores: int64[n], words of
    the scores by the emulation.
    """

    x: Features
    words: IntArray
    scores: IntArray

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: IntArray) -> Vectors:
        """Return the events of some rows."""
        return Vectors(self.x[rows], self.words[rows], self.scores[rows])

    def spread(self, count: int) -> IntArray:
        """Return the numbers of at most `count` rows, evenly spread: int64[m]."""
        return np.linspace(0, len(self) - 1, min(count, len(self))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Project:
    """A project that was read from disk."""

    folder: Path
    manifest: Manifest
    fixed: FixedEnsemble
    vectors: Vectors

    @cached_property
    def simulated(self) -> IntArray:
        """Numbers of the test events that the VHDL is simulated with, int64[m]."""
        return self.vectors.spread(self.manifest.simulated)

    def of(self, backend: str) -> Path:
        """Return the folder of conifer's project of a back end."""
        return self.folder / backend


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_trees(ensemble: Ensemble, path: Path) -> None:
    """Write trees as JSON, with numbers exact to the last bit."""
    document = {field.name: _plain(getattr(ensemble, field.name)) for field in fields(ensemble)}
    path.write_text(json.dumps(document) + "\n")


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def write_vectors(vectors: Vectors, path: Path) -> None:
    """Write test events as npz."""
    np.savez_compressed(path, x=vectors.x, words=vectors.words, scores=vectors.scores)


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write the manifest as JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def open_project(folder: Path) -> Project:
    """Read a project; TrigemuError where a folder is not a project, or has changed since its export."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise TrigemuError(
            f"{folder}: there is no {MANIFEST}: expected a folder that trigemu firmware export wrote"
        ) from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TrigemuError(
            f"{folder / MANIFEST}: cannot be read ({error}): export the project again"
        ) from None
    if manifest.format != FORMAT:
        raise TrigemuError(
            f"{folder / MANIFEST}: has format {manifest.format}, and this trigemu reads {FORMAT}: export the "
            f"project again"
        )
    for name in (TREES, VECTORS):
        if not (folder / name).is_file() or sha256(folder / name) != manifest.sha256.get(name):
            raise TrigemuError(
                f"{folder / name}: is not the file that was exported: export the project again"
            )
    trees = _read_trees(json.loads((folder / TREES).read_text()))
    with np.load(folder / VECTORS, allow_pickle=False) as arrays:
        vectors = Vectors(arrays["x"], arrays["words"], arrays["scores"])
    project = Project(folder, manifest, manifest.precision.of(trees), vectors)
    if (project.fixed.predict(vectors.x) != vectors.scores).any():
        raise TrigemuError(
            f"{folder / VECTORS}: this trigemu's emulation gives other scores than trigemu "
            f"{manifest.trigemu} did: export the project again"
        )
    return project


def _read_trees(document: dict[str, Any]) -> Ensemble:
    numbers = {name: np.array(document[name], np.float64) for name in ("threshold", "value")}
    whole = {name: np.array(document[name], np.int32) for name in ("feature", "left", "right", "starts")}
    return Ensemble(
        feature=whole["feature"],
        threshold=numbers["threshold"],
        left=whole["left"],
        right=whole["right"],
        value=numbers["value"],
        starts=whole["starts"],
        base=document["base"],
        features=document["features"],
    )
