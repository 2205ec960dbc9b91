"""A network with one score per event: by ONNX Runtime, or as steps for kernels.

ONNX Runtime evaluates all rows in one call, on the calling thread. The last bits of a score depend on the
position of its row in the call: a score alone and among others agree to 1e-5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, excerpt, own_cause

from .inputs import Features
from .onnx_graph import read_graph
from .operators import trace
from .single_row import Row, ScoreModel
from .steps import KERNELS, StepModel, UnknownError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, NodeArg

_SILENT = 4
_NO_FOLDER = "/dev/null/none"
#: Most numbers that one call reads, 32 MB: more than a chunk of events for most models. Convolutions may need
#: thirty times the memory.
_NUMBERS = 2**23
#: What evaluates networks in ONNX: ONNX Runtime, all rows in one call, or trigemu's kernels.
Engine = Literal["onnxruntime", "kernels"]


class Network(ScoreModel):
    """A network in ONNX; ONNX Runtime evaluates it by choice, or if an operator has no kernel."""

    def __init__(self, content: bytes, features: int, engine: Engine = "onnxruntime") -> None:
        self._content, self._features = content, features
        self._steps: StepModel | None = None
        self.engine = "ONNX Runtime"
        if engine == "kernels":
            try:
                self._steps = StepModel(*trace(read_graph(content), features))
                self.engine = KERNELS
            except UnknownError as error:
                self.engine = f"ONNX Runtime ({error})"
            except (LookupError, TypeError, ValueError):
                self.engine = "ONNX Runtime (its fields are damaged)"
        if not self._steps:
            self._session  # noqa: B018 (loads the model, or raises)

    @cached_property
    def _session(self) -> InferenceSession:
        session = _opened(self._content)
        _check(session, self._features)
        return session

    @cached_property
    def ends(self) -> tuple[str, str]:
        """The names of the input and the score in the file."""
        return str(self._session.get_inputs()[0].name), str(self._session.get_outputs()[0].name)

    def score(self, features: Features) -> FloatArray:
        if self._steps:
            return self._steps.score(features)
        rows = np.ascontiguousarray(features, np.float32)
        most = max(_NUMBERS // self._features, 1)
        parts = [
            _run(self._session, self.ends[0], rows[first : first + most])
            for first in range(0, len(rows), most)
        ]
        return np.concatenate([np.empty(0), *parts])

    def row(self) -> Row:
        if self._steps:
            return self._steps.row()
        x, score = np.zeros((1, self._features), np.float32), np.zeros(1)
        run = self.bound(x)
        return Row(x[0], score, python=lambda: np.copyto(score, run()))

    def bound(self, features: Features) -> Callable[[], FloatArray]:
        """Return a function that computes the scores of what these rows contain then, in one bare call."""
        session, (source, output) = self._session, self.ends
        scores = session.run(None, {source: features})[0]
        binding = session.io_binding()
        binding.bind_input(source, "cpu", 0, np.float32, features.shape, features.ctypes.data)
        binding.bind_output(output, "cpu", 0, scores.dtype, scores.shape, scores.ctypes.data)

        def run(memory: Features = features) -> FloatArray:  # which is held as long as its address is used
            session.run_with_iobinding(binding)
            flat: FloatArray = scores.reshape(-1)
            return flat

        return run


def _run(session: InferenceSession, name: str, rows: Features) -> FloatArray:
    output: FloatArray = session.run(None, {name: rows})[0]
    return output.reshape(-1)


def _check(session: InferenceSession, features: int) -> None:
    """Raise TrigemuError unless it has one input of rows and one output, a number for each row that depends
    on this row alone."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    expected = f"expected one input float32[n, {features}] and one output, the score"
    if len(inputs) != 1 or len(outputs) != 1:
        names = [i.name for i in inputs], [o.name for o in outputs]
        raise TrigemuError(f"has the inputs {names[0]} and the outputs {names[1]}: {expected}")
    name, shape = inputs[0].name, inputs[0].shape
    if inputs[0].type != "tensor(float)":
        raise TrigemuError(
            f"has the input {excerpt(name)!r} of the type {_type(inputs[0])}: {expected}: export the model "
            f"in float32 (PyTorch: model.float() and an example in float32), or let it begin with a Cast "
            f"from float32"
        )
    if len(shape) != 2 or (isinstance(shape[1], int) and shape[1] != features):
        reads = f"{shape[1]} features an event" if len(shape) == 2 else f"the shape {shape}"
        raise TrigemuError(f"reads {reads}, but the card names {features} inputs")
    if isinstance(shape[0], int):
        raise TrigemuError(f"takes {shape[0]} events per call: export it with a variable batch size")
    if outputs[0].type not in ("tensor(float)", "tensor(double)"):
        raise TrigemuError(
            f"has the output {excerpt(outputs[0].name)!r} of the type {_type(outputs[0])}: expected a "
            f"score, float32[n] or float64[n]: let the model end with a Cast to float32"
        )
    random = np.random.default_rng(1)
    rows = random.normal(size=(16, features)).astype(np.float32)
    try:
        scores = _run(session, name, rows)
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        raise TrigemuError(f"cannot be run on {features} features: {_short(error)}") from None
    if scores.size != 16:
        raise TrigemuError(f"gives {scores.size / 16:g} numbers an event, expected one score")
    rows[1::2] = random.normal(size=rows[1::2].shape)
    if not np.array_equal(_run(session, name, rows)[::2], scores[::2], equal_nan=True):
        raise TrigemuError(
            "gives a row another score when the other rows change: it mixes the events of a call or "
            "draws random numbers; export it in the mode of inference"
        )


@lru_cache(maxsize=32)
def _opened(content: bytes) -> InferenceSession:
    # Imported late: it slows down the start, and most menus have no model that needs it.
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = _SILENT
    # Weights must be in the model: a folder that does not exist keeps it from reading other files.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", _NO_FOLDER)
    try:
        return InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        if _NO_FOLDER in str(error) or "external data" in str(error).lower():
            raise TrigemuError(
                "keeps its weights in another file (external data), which its sha256 does not cover: save "
                "it with all weights inside"
            ) from None
        raise TrigemuError(f"is not an ONNX model that ONNX Runtime can load: {_short(error)}") from None


def _type(value: NodeArg) -> str:
    """Return the type of an input or output as NumPy has it, where it is another name."""
    name = str(value.type).removeprefix("tensor(").removesuffix(")")
    return {"double": "float64", "float": "float32"}.get(name, name)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
