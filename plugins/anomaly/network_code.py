"""Networks as machine code, for single events: ONNX → C (emx-onnx-cgen) → a library on this machine.

ONNX Runtime takes 10 µs for a network of a few thousand multiplications, nearly all of it to call it. As C,
with its sizes and weights in the code, such a network takes less than 1 µs. ONNX Runtime remains the
reference: the library is compared with it whenever it is loaded, and decides only where the score is not
close to the cut (`single_row.py`).
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trigemu.api import Features, FloatArray, TrigemuError, children, levels

from . import network_source
from .machine_code import CodeRecipe, build_library, last_words, open_library

_SOURCES = [Path(__file__).with_name(f"network_{name}.py") for name in ("source", "error", "rules")]
_GENERATORS = "emx-onnx-cgen", "onnx"
#: The compiled network may differ from ONNX Runtime by this, relative to the score if that is above 1: far
#: more than float32 sums in another order, far less than what an error would do.
TOLERANCE = 1e-3
#: They change no result: NaN and the order of sums stay.
_OPTIONS = "-fno-math-errno", "-fno-trapping-math"
#: A few seconds are enough for the largest network that is taken.
_LIMITS = children.Limits(seconds=60, memory=4 * 2**30)


@dataclass(frozen=True)
class NetworkCode:
    """A compiled network. address: of `void model(const float features[k], score)`, where the score is a
    float or double as ONNX Runtime gives it. apart: the most by which it can differ from that on trial
    rows, from the weights (`network_error.py`), relative to the score if that is above 1. library: keeps it
    loaded."""

    address: int
    apart: float
    library: ctypes.CDLL


def compiled_network(
    content: bytes, rows: Features, scores: FloatArray, kind: type[np.floating]
) -> NetworkCode | str:
    """Return a network as machine code, or why ONNX Runtime has to serve.

    rows, scores: float32[n, k] and what ONNX Runtime makes of them, float64[n], to compare with. kind: the
    type of its score."""
    try:
        versions = " ".join(f"{name} {importlib.metadata.version(name)}" for name in _GENERATORS)
    except importlib.metadata.PackageNotFoundError as error:
        return f"{error.name} is not installed"
    level = levels()[0]
    written = "".join(path.read_text() for path in _SOURCES)
    depends_on = f"{versions} {platform.machine()} {level} {_OPTIONS} {written}"
    recipe = CodeRecipe(
        "the network",
        content + depends_on.encode(),
        lambda folder: _write(content, folder),
        lambda path: _checked(path, rows, scores, kind),
        _LIMITS,
        "use a smaller network",
        (*_OPTIONS, *(("-march=x86-64-v3",) if level == "x86-64-v3" else ())),
    )
    try:
        return build_library(recipe) or "there is no C compiler (gcc, clang or the variable CC)"
    except TrigemuError as error:
        return str(error)


def _write(content: bytes, folder: Path) -> None:
    command = [sys.executable, "-P", "-m", network_source.__name__]
    try:
        done = children.run_limited(command, folder, _LIMITS, given=content)
    except children.StoppedError as error:
        raise TrigemuError(f"cannot be written as C: {error}") from None
    if done.code:
        said = last_words(done.stderr.decode(errors="replace"))
        raise TrigemuError(
            f"has {said}" if done.code == network_source.STATUS else f"cannot be written as C: {said}"
        )
    (folder / "main.c").write_bytes(done.stdout)


def _checked(path: Path, rows: Features, scores: FloatArray, kind: type[np.floating]) -> NetworkCode:
    library, address = open_library(path, "model", "the network")
    function = library.model
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), None
    found, given = np.zeros(len(rows), kind), np.ascontiguousarray(rows, np.float32)
    for i in range(len(given)):
        function(given.ctypes.data + i * given.strides[0], found.ctypes.data + i * found.itemsize)
    with np.errstate(invalid="ignore"):
        same = (found == scores) | (np.isnan(found) & np.isnan(scores))
        apart = np.where(same, 0.0, np.abs(found - scores) / np.maximum(1.0, np.abs(scores)))
    largest = float(apart.max(initial=0.0))
    if not largest <= TOLERANCE:
        raise TrigemuError(f"differs as machine code by {largest:g} from ONNX Runtime")
    return NetworkCode(address, max(largest, ctypes.c_double.in_dll(library, "apart").value), library)
