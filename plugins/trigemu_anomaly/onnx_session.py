"""Models run by ONNX Runtime, one event at a time, on one thread.

The last bits of ONNX Runtime's result for a row depend on its position in a batch: sums begin at aligned
addresses, and the last rows go through other code. An event alone, always at the same address, has one score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, excerpt, own_cause

from .input_kernels import Features
from .step_memory import aligned
from .steps import Array

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, NodeArg, RunOptions, SessionOptions

_SILENT = 4
_NO_FOLDER = "/dev/null/none"
#: Bytes that loading a model and a batch of events may use.
_MEMORY = 4 * 2**30
#: Events of the largest trial, and the longest time for it, in seconds.
BATCH, _SECONDS = 1024, 30.0
_LIMITING = Lock()


class Session:
    """A model in ONNX Runtime. Not picklable: created in each process.

    Raises TrigemuError if a model cannot be used.
    """

    def __init__(self, content: bytes, features: int) -> None:
        self._features = features
        with _limited_memory():
            # Without optimisation first: ONNX Runtime computes constants while it optimises a model, and
            # cannot be stopped there.
            for load in (_unoptimised, _optimised):
                self._session = load(content)
                self._input = self._input_name()
                self._try()
            self._check_independence()

    def _input_name(self) -> str:
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or len(outputs) != 1:
            raise TrigemuError(
                f"has the inputs {[i.name for i in inputs]} and the outputs {[o.name for o in outputs]}: "
                f"expected one input float32[n, {self._features}] and one output, the score"
            )
        if inputs[0].type != "tensor(float)":
            raise TrigemuError(
                f"has the input {excerpt(inputs[0].name)!r} of the type {_type(inputs[0])}: expected "
                f"float32[n, {self._features}]: export the model in float32 (PyTorch: model.float() and an "
                f"example in float32), or let it begin with a Cast from float32"
            )
        declared = inputs[0].shape
        if len(declared) != 2 or (isinstance(declared[1], int) and declared[1] != self._features):
            features = f"{declared[1]} features an event" if len(declared) == 2 else f"the shape {declared}"
            raise TrigemuError(f"reads {features}, but the card names {self._features} inputs")
        if isinstance(declared[0], int):
            raise TrigemuError(f"takes {declared[0]} events per call: export it with a variable batch size")
        if outputs[0].type not in ("tensor(float)", "tensor(double)"):
            raise TrigemuError(
                f"has the output {excerpt(outputs[0].name)!r} of the type {_type(outputs[0])}: expected a "
                f"score, float32[n] or float64[n]: let the model end with a Cast to float32"
            )
        return str(inputs[0].name)

    def _try(self) -> None:
        """Raise TrigemuError unless it returns one number per event, and a batch in time."""
        from onnxruntime import RunOptions

        options = RunOptions()
        stop = Timer(_SECONDS, setattr, (options, "terminate", True))
        stop.daemon = True
        stop.start()
        try:
            for size in (16, BATCH):
                trial = self._run(np.zeros((size, self._features), np.float32), options)
                if trial.size != size:
                    raise TrigemuError(f"gives {trial.size / size:g} numbers an event, expected one score")
        except TrigemuError:
            raise
        except Exception as error:
            if cause := own_cause(error):
                raise cause from error
            if options.terminate:
                raise TrigemuError(
                    f"takes over {_SECONDS:g} s for {BATCH} events: expected a smaller network"
                ) from None
            raise TrigemuError(f"cannot be run on {self._features} features: {_short(error)}") from None
        finally:
            stop.cancel()

    def _check_independence(self) -> None:
        """Raise TrigemuError if the score of a row depends on the other rows, or changes from call to
        call."""
        random = np.random.default_rng(1)
        rows = random.normal(size=(16, self._features)).astype(np.float32)
        scores = self._run(rows)[::2].copy()
        rows[1::2] = random.normal(size=rows[1::2].shape)
        if not np.array_equal(self._run(rows)[::2], scores, equal_nan=True):
            raise TrigemuError(
                "gives a row another score when the other rows change: it mixes the events of a call or "
                "draws random numbers; export it in the mode of inference"
            )

    def score(self, features: Features) -> FloatArray:
        """Return the scores float64[n] of features float32[n, k]; NaN if the model returns NaN."""
        row, scores = self.row(), np.empty(len(features))
        for event in range(len(features)):
            row.features[0] = features[event]
            scores[event] = row.evaluate()
        return scores

    def row(self) -> SessionRow:
        """Return memory for one event at a time."""
        return SessionRow(self._session, aligned(self._features, np.float32).reshape(1, -1))

    def bound(self, features: Features) -> Callable[[], Array]:
        """Return a function that computes the scores of what these rows contain then, in one call."""
        row = SessionRow(self._session, features)

        def run() -> Array:
            row.run()
            return row.score

        return run

    def _run(self, features: Features, options: RunOptions | None = None) -> FloatArray:
        output: FloatArray = self._session.run(None, {self._input: features}, options)[0]
        return output.reshape(-1)


class SessionRow:
    """Memory for one event of a model, or more. features: float32[n, k], read by `run`. score: float32[n] or
    float64[n], written by `run`."""

    def __init__(self, session: InferenceSession, features: Features) -> None:
        (source,), (output,) = session.get_inputs(), session.get_outputs()
        kind = np.float64 if output.type == "tensor(double)" else np.float32
        shape = session.run(None, {source.name: features})[0].shape
        self.features, self.score = features, np.zeros(shape, kind).reshape(-1)
        self._session, self._binding = session, session.io_binding()
        self._binding.bind_input(source.name, "cpu", 0, np.float32, features.shape, features.ctypes.data)
        self._binding.bind_output(output.name, "cpu", 0, kind, shape, self.score.ctypes.data)

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def evaluate(self) -> float:
        """Run the model on the features, and return the score."""
        self.run()
        return float(self.score[0])


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Limit the additional memory of this process to `_MEMORY`, on Linux: an absurd model is then an error
    and does not end this process or another one."""
    with _LIMITING:
        try:
            import resource

            pages = int(Path("/proc/self/statm").read_text().split()[0])
        except (ImportError, OSError):
            yield
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        lowered = min([pages * resource.getpagesize() + _MEMORY, *limits])
        resource.setrlimit(resource.RLIMIT_AS, (lowered, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# onnxruntime is imported late: it slows down start-up, and most menus have no model that needs it.
def _unoptimised(content: bytes) -> InferenceSession:
    from onnxruntime import GraphOptimizationLevel, SessionOptions

    options = SessionOptions()
    options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    return _session(content, options)


@lru_cache(maxsize=32)
def _optimised(content: bytes) -> InferenceSession:
    from onnxruntime import SessionOptions

    return _session(content, SessionOptions())


def _session(content: bytes, options: SessionOptions) -> InferenceSession:
    from onnxruntime import InferenceSession

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
