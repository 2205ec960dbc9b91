"""Boosted trees as machine code: treelite → C (tl2cgen) → a library on this machine.

Libraries are kept in a cache (`XDG_CACHE_HOME`, else `~/.cache`) and never travel with a menu. Their name
is made of the model's content, the compiler, the versions of all that writes code and the machine, and of
their own content: one that was cut short would end the process that loads it.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tl2cgen
import treelite
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from trigemu.observables import Features
from trigemu.support import TrigemuError, kernel, pointer

#: Relative to the largest value: sums of float32 leaves in another order.
_TOLERANCE = 1e-5
_CHECKED_ROWS = 1024

Scores = npt.NDArray[np.float32]


class Library:
    """A model compiled for this machine, which reads so many features."""

    def __init__(self, path: Path, features: int) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
            self._predict = ctypes.cast(self._library.predict, ctypes.c_void_p).value or 0
        except (OSError, AttributeError) as error:
            raise TrigemuError(f"cannot load compiled trees: {error}") from None
        self._features = features

    @property
    def address(self) -> int:
        """Of the compiled function."""
        return self._predict

    def predict(self, x: Features) -> Scores:
        """float32[n] of float32[n, d]; releases the GIL."""
        if x.ndim != 2 or x.shape[1] != self._features:
            raise ValueError(f"trees that read {self._features} features got an array {x.shape}")
        scores = np.empty(len(x), np.float32)
        _predict_rows(self._predict, np.ascontiguousarray(x, np.float32), scores)
        return scores


def build(model: treelite.Model, content: bytes) -> Library | None:
    """The library of a model, from the cache or compiled now; None where there is no C compiler.

    TrigemuError where the compiler fails, or makes something that differs from treelite's own
    evaluation. content: what the model was read from.
    """
    compiler = _compiler()
    if compiler is None:
        return None
    versions = f"{treelite.__version__} {tl2cgen.__version__} {compiler[1]} {platform.machine()}"
    key = hashlib.sha256(content + versions.encode()).hexdigest()
    folder = _cache()
    path = _kept(folder, key) or _made(model, folder, key, compiler[0])
    return Library(path, model.num_feature)


def _kept(folder: Path, key: str) -> Path | None:
    """The library of that key in the cache; damaged ones are removed."""
    for path in folder.glob(f"{key}-*.so"):
        with suppress(OSError):  # it may not be readable, or another process removes it too
            if path.name == f"{key}-{_digest(path)}.so":
                return path
            path.unlink()
    return None


def _made(model: treelite.Model, folder: Path, key: str, compiler: str) -> Path:
    """Compile a model into the cache, where it is seen only when it is whole and checked."""
    with _scratch(folder) as scratch:
        made = scratch / "trees.so"
        _compile(model, made, compiler)
        _check(model, Library(made, model.num_feature))
        path = folder / f"{key}-{_digest(made)}.so"
        made.replace(path)
    return path


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    try:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            yield Path(scratch)
    except OSError as error:
        raise TrigemuError(
            f"cannot write to {folder}, where compiled models are kept: {error.strerror}; set XDG_CACHE_HOME"
        ) from None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def interpret(model: treelite.Model, x: Features) -> Scores:
    """float32[n] by treelite's own interpreter (GTIL)."""
    scores: Scores = treelite.gtil.predict(model, x, nthread=1)
    return scores.reshape(-1)


def _compiler() -> tuple[str, str] | None:
    """Name and version of the C compiler: the variable CC, else gcc or clang."""
    for name in filter(None, (os.environ.get("CC"), "gcc", "clang")):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
            return name, f"{name} {version.partition(chr(10))[0]}"
    return None


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(home) if home else Path.home() / ".cache") / "trigemu"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except RuntimeError:
        raise TrigemuError("there is no home folder to keep compiled models in: set XDG_CACHE_HOME") from None
    except OSError as error:
        raise TrigemuError(
            f"cannot make {folder}, where compiled models are kept: {error.strerror}; set XDG_CACHE_HOME"
        ) from None
    return folder


def _compile(model: treelite.Model, path: Path, compiler: str) -> None:
    try:
        with _silent():
            tl2cgen.export_lib(model, toolchain=compiler, libpath=path)
    except Exception as error:
        reason = " ".join(str(error).split())[-300:]
        raise TrigemuError(f"{compiler} cannot compile the trees: {reason}") from None


@contextmanager
def _silent() -> Iterator[None]:
    """tl2cgen prints what it does, and warns of long code, and from C++ past Python of a newer treelite."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as sink, redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _check(model: treelite.Model, library: Library) -> None:
    """Rows between, on and next to the edges of splits."""
    x = edges(model, _CHECKED_ROWS)
    expected, made = interpret(model, x), library.predict(x)
    difference = float(np.abs(made - expected).max())
    if not difference <= _TOLERANCE * max(1.0, float(np.abs(expected).max())):
        raise TrigemuError(
            f"the compiled trees differ by {difference:g} from treelite's own evaluation: another compiler "
            f"(variable CC) may do better"
        )


def edges(model: treelite.Model, n: int) -> Features:
    """float32[n, d]: thresholds of the model's splits and their neighbours, combined at random."""
    splits: list[list[float]] = [[0.0] for _ in range(model.num_feature)]
    for number in range(model.num_tree):
        tree = model.get_tree_accessor(number)
        feature, threshold = tree.get_field("split_index"), tree.get_field("threshold")
        for f, value in zip(feature, threshold, strict=True):
            if f >= 0:
                splits[f].append(float(value))
    random = np.random.default_rng(n)
    x = np.column_stack([random.choice(np.array(values, np.float32), n) for values in splits])
    towards = random.choice(np.array([-np.inf, np.inf], np.float32), x.shape)
    moved = np.nextafter(x, towards)
    return np.where(random.random(x.shape) < 1 / 3, x, moved).astype(np.float32)


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing: Any, address: Any, row: Any, result: Any) -> Any:
    """predict(row, pred_margin = 0, result), the function that tl2cgen writes, at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, ir.IntType(32), pointer])
        at, row_, result_ = arguments
        function = builder.inttoptr(at, kind.as_pointer())
        margin = ir.Constant(ir.IntType(32), 0)
        builder.call(function, [builder.inttoptr(row_, pointer), margin, builder.inttoptr(result_, pointer)])
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp, types.uintp), generate


@kernel
def predict_row(predict: int, row: int, result: int) -> float:
    """Of the row of float32 at an address, by way of the float32 at `result`."""
    score = carray(pointer(result), (1,), np.float32)
    score[0] = 0.0  # the trees add to what is there
    _call(predict, row, result)
    return np.float64(score[0])


@kernel
def _predict_rows(predict: int, x: Features, scores: Scores) -> None:
    """Row by row without a copy: an entry of tl2cgen's union is a float32."""
    row, result = x.ctypes.data, scores.ctypes.data
    for i in range(len(x)):
        scores[i] = 0.0  # the trees add to what is there
        _call(predict, row + i * x.shape[1] * 4, result + i * 4)
