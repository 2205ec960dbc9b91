"""A project on disk: trees in fixed point as Verilog and conifer's sources, test events and expected scores.

    DIR/README.md        a description, and commands to run next
    DIR/project.json     the manifest: the origin of the project
    DIR/trees.json       the trees in floating point
    DIR/vectors.npz      inputs of events, their words, and the words of their scores
    DIR/verilog/         the trees in Verilog, and the words of some events for test benches
    DIR/cpp/             conifer's C++ model
    DIR/hls/             conifer's project for Vitis HLS

`verify` and `estimate` read only these files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.precision import PrecisionTable
from trigemu_anomaly.trees import MAX_DEPTH, Ensemble, FixedEnsemble

from trigemu.base.arrays import IntArray
from trigemu.base.errors import TrigemuError, excerpt
from trigemu.base.files import read_arrays

from .circuit import Circuit
from .verilog_trees import trees_circuit

_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
#: Name of conifer's project, and of the entity that it synthesises.
NAME = "boosted_trees"
MANIFEST, TREES, VECTORS, README = "project.json", "trees.json", "vectors.npz", "README.md"
#: Version of the format of projects.
FORMAT = 2
#: Limits for test events, and the bytes of the manifest; an export is far below.
MAX_EVENTS, MAX_TEXT = 1_000_000, 2**26
_Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_EVENTS)]
#: The part name is written into scripts for vendors' tools.
_Part = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9-]{1,40}$")]
_Backend = Annotated[str, msgspec.Meta(pattern="^(verilog|cpp|hls)$")]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of project.json."""

    format: int
    trigemu: str
    conifer: str
    backends: Annotated[tuple[_Backend, ...], msgspec.Meta(max_length=3)]  # With a folder in the project
    menu: str
    trigger: str
    catalogue: str
    half: str | None
    inputs: tuple[str, ...]  # Of the trees, as in the card
    precision: PrecisionTable
    chosen: int | None  # Number of events that the precision was chosen on, None if it is from the menu
    part: _Part
    clock_mhz: Annotated[float, msgspec.Meta(gt=0, le=1e6)]
    events: _Count  # Number of test events
    # Number of them from the catalogue's half; the others are generated around thresholds
    sample: Annotated[int, msgspec.Meta(ge=0, le=MAX_EVENTS)]
    benches: _Count  # Number of events in the files of test benches
    latency: Annotated[int, msgspec.Meta(ge=0, le=100)]  # Clocks of the Verilog
    form: Literal["logic", "memory"]  # Of the Verilog
    sha256: dict[str, str]  # Of the menu, of the model, and of files of the project


@dataclass(frozen=True, eq=False)
class Vectors:
    """Test events."""

    x: Features  # float32[n, d], inputs of the trees
    words: IntArray  # int64[n, d], the inputs as words
    scores: IntArray  # int64[n], words of the scores by the emulation

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: IntArray) -> Vectors:
        """Return the events of these rows."""
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
    def circuit(self) -> Circuit:
        """The trees in Verilog."""
        return trees_circuit(self.fixed, self.manifest.latency, form=self.manifest.form)

    def of(self, backend: str) -> Path:
        """Return the folder of conifer's project of a back end."""
        return self.folder / backend


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_trees(ensemble: Ensemble, path: Path) -> None:
    """Write trees as JSON, with numbers exact to the last bit."""
    document = {name: getattr(ensemble, name) for name in _Trees.__struct_fields__}
    path.write_text(json.dumps(document, default=np.ndarray.tolist) + "\n")


def write_vectors(vectors: Vectors, path: Path) -> None:
    """Write test events as npz."""
    np.savez_compressed(path, x=vectors.x, words=vectors.words, scores=vectors.scores)


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write the manifest as JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def open_project(folder: Path) -> Project:
    """Read a project; TrigemuError if the folder is not a project, or has changed since its export."""
    manifest = _read_manifest(folder / MANIFEST)
    for name in (TREES, VECTORS):
        path = folder / name
        if not path.is_file() or sha256(path) != manifest.sha256.get(name):
            raise TrigemuError(f"{path}: is not the file that was exported: export the project again")
    with _damaged(folder / TREES):
        trees = _read_trees((folder / TREES).read_bytes(), len(manifest.inputs))
    with _damaged(folder / MANIFEST):
        for _, mistake in manifest.precision.mistakes():
            raise TrigemuError(mistake)
        fixed = manifest.precision.of(trees)
    vectors = _read_vectors(folder / VECTORS, manifest.events, trees.features)
    if (fixed.inputs(vectors.x) != vectors.words).any() or (fixed.predict(vectors.x) != vectors.scores).any():
        raise TrigemuError(
            f"{folder / VECTORS}: this trigemu's emulation gives other scores than trigemu "
            f"{excerpt(manifest.trigemu)} did: export the project again"
        )
    return Project(folder, manifest, fixed, vectors)


def _read_manifest(path: Path) -> Manifest:
    try:
        if path.stat().st_size > MAX_TEXT or not path.is_file():
            raise TrigemuError(f"{path}: is not a file of at most {MAX_TEXT} bytes")
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise TrigemuError(
            f"{path.parent}: there is no {MANIFEST}: expected a folder that trigemu firmware export wrote"
        ) from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TrigemuError(f"{path}: cannot be read ({error}): export the project again") from None
    if manifest.format != FORMAT:
        raise TrigemuError(
            f"{path}: has format {manifest.format}, but this trigemu reads {FORMAT}: export the project again"
        )
    return manifest


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Name a file in errors about its content; its sha256 only shows that it was exported in this state."""
    try:
        yield
    except (TrigemuError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TrigemuError(f"{path}: {error}: export the project again") from None


class _Trees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    feature: list[_Int32]
    threshold: list[float]
    left: list[_Int32]
    right: list[_Int32]
    value: list[float]
    starts: list[_Int32]
    base: float
    features: int


def _read_trees(content: bytes, features: int) -> Ensemble:
    content_ = msgspec.json.decode(content, type=_Trees)
    if content_.features != features:
        raise TrigemuError(f"trees of {content_.features} inputs, but {MANIFEST} names {features}")
    arrays: dict[str, Any] = msgspec.structs.asdict(content_)
    for name in ("feature", "left", "right", "starts"):
        arrays[name] = np.array(arrays[name], np.int32)
    for name in ("threshold", "value"):
        arrays[name] = np.array(arrays[name], np.float64)
    trees = Ensemble(**arrays)
    if trees.depth > MAX_DEPTH:
        raise TrigemuError(f"trees of {trees.depth} splits from root to leaf: expected at most {MAX_DEPTH}")
    return trees


def _read_vectors(path: Path, events: int, features: int) -> Vectors:
    expected: dict[str, tuple[Any, tuple[int, ...]]] = {
        "x": (np.float32, (events, features)),
        "words": (np.int64, (events, features)),
        "scores": (np.int64, (events,)),
    }
    arrays: dict[str, Any] = dict(read_arrays(path, expected))
    with _damaged(path):
        for name, (kind, dtype) in expected.items():
            if arrays[name].dtype != kind or arrays[name].shape != dtype:
                raise TrigemuError(f"{name}: is not the array {np.dtype(kind)}{list(dtype)}")
        if not np.isfinite(arrays["x"]).all():
            raise TrigemuError("an input is not finite")
    return Vectors(**arrays)
