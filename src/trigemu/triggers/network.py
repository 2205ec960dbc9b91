"""An ONNX model with one score an event, run by ONNX Runtime on one thread.

What ONNX Runtime gives for a row depends, in the last bits, on where the row stands: sums along it begin at
aligned addresses, and the last rows of a call go through other code. A row therefore always stands in the
same of 16 lanes, which its content decides: its score depends on nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trigemu.errors import TrigemuError
from trigemu.events import FloatArray, IntArray
from trigemu.features import Features
from trigemu.kernels import kernel

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

#: Events a call: enough to hide its cost, few enough for the caches.
BATCH = 4096
#: Rows of float32 of any length repeat their alignment to 64 bytes, the widest vector, after so many.
_LANES = 16
_ALIGNMENT = 64
_SILENT = 4
_NO_FOLDER = "/dev/null/none"


class Network:
    """score(features float32[n, k]) → float64[n]. Not picklable: made in each process.

    TrigemuError says why a model is none that can be used.
    """

    def __init__(self, content: bytes, features: int) -> None:
        self._session = _session(content)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(outputs) != 1:
            raise TrigemuError(
                f"has the inputs {[i.name for i in inputs]} and the outputs {[o.name for o in outputs]}: "
                f"expected one input float[n, {features}] and one output, the score"
            )
        self._input = inputs[0].name
        declared = inputs[0].shape
        if len(declared) != 2 or (isinstance(declared[1], int) and declared[1] != features):
            wanted = f"{declared[1]} features an event" if len(declared) == 2 else f"the shape {declared}"
            raise TrigemuError(f"reads {wanted}, but the card names {features} inputs")
        if isinstance(declared[0], int):
            raise TrigemuError(f"takes {declared[0]} events a call: save it for any number of events")
        if outputs[0].type not in ("tensor(float)", "tensor(double)"):
            raise TrigemuError(f"gives {outputs[0].type}, expected a score, float[n] or double[n]")
        self._keys = _random_keys(features)
        try:
            trial = self._run(np.zeros((_LANES, features), np.float32))
        except Exception as error:
            raise TrigemuError(f"cannot be run on {features} features: {_short(error)}") from None
        if trial.size != _LANES:
            raise TrigemuError(f"gives {trial.size / _LANES:g} numbers an event, expected one score")

    def score(self, features: Features) -> FloatArray:
        """float64[n], in batches; NaN where the model gives NaN. Equal rows are run once."""
        scores = np.empty(len(features))
        for start in range(0, len(features), BATCH):
            rows = np.ascontiguousarray(features[start : start + BATCH])
            place, length = _places(rows.view(np.uint32), self._keys)
            laid_out = _aligned(length, rows.shape[1])
            laid_out[:] = rows[0]  # what no row fills is run too
            laid_out[place] = rows
            scores[start : start + BATCH] = self._run(laid_out)[place]
        return scores

    def _run(self, features: Features) -> FloatArray:
        output: FloatArray = self._session.run(None, {self._input: features})[0]
        return output.reshape(-1)


def _random_keys(n: int) -> npt.NDArray[np.uint64]:
    """uint64[n], odd (Knuth's MMIX generator)."""
    keys, state = [], 1
    for _ in range(n):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        keys.append(state | 1)
    return np.array(keys, np.uint64)


def _aligned(rows: int, columns: int) -> Features:
    """float32[rows, columns], uninitialised."""
    raw = np.empty(4 * rows * columns + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + 4 * rows * columns].view(np.float32).reshape(rows, columns)


@kernel
def _places(bits: npt.NDArray[np.uint32], keys: npt.NDArray[np.uint64]) -> tuple[IntArray, int]:
    """int64[n]: where each row shall stand, equal rows at one place, and how many places there are, whole
    lanes. The lane is place % 16."""
    n = len(bits)
    mask = 63
    while mask < 2 * n:
        mask = 2 * mask + 1
    table = np.full(mask + 1, -1, np.int64)
    place = np.empty(n, np.int64)
    filled = np.zeros(_LANES, np.int64)
    for row in range(n):
        hashed = np.uint64(0)
        for column in range(bits.shape[1]):
            hashed += np.uint64(bits[row, column]) * keys[column]
        slot = np.int64((hashed >> np.uint64(36)) & np.uint64(mask))
        while table[slot] >= 0 and not _equal(bits, row, table[slot]):
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = row
            lane = np.int64(hashed >> np.uint64(60))
            place[row] = filled[lane] * _LANES + lane
            filled[lane] += 1
        place[row] = place[table[slot]]
    return place, filled.max() * _LANES


@kernel
def _equal(bits: npt.NDArray[np.uint32], a: int, b: int) -> bool:
    for column in range(bits.shape[1]):  # noqa: SIM110 (a generator is slow in numba)
        if bits[a, column] != bits[b, column]:
            return False
    return True


@lru_cache(maxsize=32)
def _session(content: bytes) -> InferenceSession:
    import onnxruntime  # start-up is what users wait for, and most menus have no network

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _SILENT
    # Weights stand in the model: a folder that is none keeps it from reading any other file.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", _NO_FOLDER)
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if _NO_FOLDER in str(error) or "external data" in str(error).lower():
            raise TrigemuError(
                "keeps its weights in another file (external data), which its sha256 does not cover: save "
                "it with all weights inside"
            ) from None
        raise TrigemuError(f"is no ONNX model that ONNX Runtime loads: {_short(error)}") from None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
