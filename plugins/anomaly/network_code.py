"""Networks as machine code, for single events: ONNX → C (emx-onnx-cgen) → a library on this machine.

ONNX Runtime needs 10 µs for a network of a few thousand multiplications, nearly all of it for the call. As C,
with its sizes and weights in the code, such a network needs less than 1 µs. ONNX Runtime remains the
reference: the library is compared with it whenever it is loaded, and decides only where the score is not
close to the threshold (`single_row.py`).
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
from .machine_code import CodeRecipe, build_library, open_library, output_tail

_SOURCES = [Path(__file__).with_name(f"network_{name}.py") for name in ("source", "error", "rules")]
_GENERATORS = "emx-onnx-cgen", "onnx"
#: Largest difference of the compiled network from ONNX Runtime, relative to the score if that is above 1: far
#: larger than the effect of summing float32 in another order, far smaller than the effect of a mistake.
TOLERANCE = 1e-3
#: These options change no result: NaN and the order of sums stay.
_OPTIONS = "-fno-math-errno", "-fno-trapping-math"
#: A few seconds are enough for the largest network that is accepted.
_LIMITS = children.Limits(seconds=60, memory=4 * 2**30)


@dataclass(frozen=True)
class NetworkCode:
    """A compiled network. address: of `void model(const float features[k], score)`, where the score is a
    float or double as in ONNX Runtime. apart: its largest possible difference from ONNX Runtime on trial
    rows, from the weights (`network_error.py`), relative to the score if that is above 1. library: a
    reference that keeps the code loaded."""

    address: int
    apart: float
    library: ctypes.CDLL


def compiled_network(
    content: bytes, rows: Features, scores: FloatArray, kind: type[np.floating]
) -> NetworkCode | str:
    """Return a network as machine code, or the reason why ONNX Runtime has to be used.

    rows, scores: float32[n, k] and their scores from ONNX Runtime, float64[n], for the comparison. kind: the
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
        done = children.run_limited(command, folder, _LIMITS, stdin_content=content)
    except children.StoppedError as error:
        raise TrigemuError(f"cannot be written as C: {error}") from None
    if done.code:
        reason = output_tail(done.stderr.decode(errors="replace"))
        raise TrigemuError(
            f"has {reason}" if done.code == network_source.STATUS else f"cannot be written as C: {reason}"
        )
    (folder / "main.c").write_bytes(done.stdout)


def _checked(path: Path, rows: Features, scores: FloatArray, kind: type[np.floating]) -> NetworkCode:
    library, address = open_library(path, "model", "the network")
    function = library.model
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), None
    results, inputs = np.zeros(len(rows), kind), np.ascontiguousarray(rows, np.float32)
    for i in range(len(inputs)):
        function(inputs.ctypes.data + i * inputs.strides[0], results.ctypes.data + i * results.itemsize)
    with np.errstate(invalid="ignore"):
        same = (results == scores) | (np.isnan(results) & np.isnan(scores))
        apart = np.where(same, 0.0, np.abs(results - scores) / np.maximum(1.0, np.abs(scores)))
    largest = float(apart.max(initial=0.0))
    if not largest <= TOLERANCE:
        raise TrigemuError(f"differs as machine code by {largest:g} from ONNX Runtime")
    return NetworkCode(address, max(largest, ctypes.c_double.in_dll(library, "apart").value), library)
