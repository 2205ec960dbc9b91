"""An ONNX model with one score an event, run by ONNX Runtime on one thread."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from trigemu.errors import TrigemuError
from trigemu.events import FloatArray
from trigemu.features import Features

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

#: Events a call: enough to hide its cost, few enough for the caches.
BATCH = 4096
_SILENT = 4


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
        try:
            trial = self._run(np.zeros((2, features), np.float32))
        except Exception as error:
            raise TrigemuError(f"cannot be run on {features} features: {_short(error)}") from None
        if trial.size != 2:
            raise TrigemuError(f"gives {trial.size // 2} numbers an event, expected one score")

    def score(self, features: Features) -> FloatArray:
        """float64[n], in batches; NaN where the model gives NaN."""
        scores = np.empty(len(features))
        for start in range(0, len(features), BATCH):
            rows = slice(start, start + BATCH)
            scores[rows] = self._run(features[rows])
        return scores

    def _run(self, features: Features) -> FloatArray:
        output: FloatArray = self._session.run(None, {self._input: features})[0]
        return output.reshape(-1)


@lru_cache(maxsize=32)
def _session(content: bytes) -> InferenceSession:
    import onnxruntime  # start-up is what users wait for, and most menus have no network

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _SILENT
    # Weights stand in the model: a folder that is none keeps it from reading any other file.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", "/dev/null/none")
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if "external data" in str(error).lower():
            raise TrigemuError(
                "keeps its weights in another file (external data), which its sha256 does not cover: save "
                "it with all weights inside"
            ) from None
        raise TrigemuError(f"is no ONNX model that ONNX Runtime loads: {_short(error)}") from None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
