"""Boosted trees compiled by treelite (tl2cgen); where there is no C compiler, treelite's own interpreter."""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import platform
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from threading import Lock

import numpy as np
import tl2cgen
import treelite
from platformdirs import user_cache_path
from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, own_cause
from trigemu.base.files import temporary_folder

from .inputs import Features
from .single_row import Row
from .trees import Ensemble

#: Most nodes that are compiled, in about 12 s and 1 GB.
MAX_NODES = 20_000


class CompiledTrees:
    """Trees as treelite evaluates them. engine: how; notes: why not as machine code."""

    def __init__(self, trees: Ensemble) -> None:
        self._model, self._features = _model(trees), trees.features
        self._has_nan = trees.left_of_nan is not None
        self._library: ctypes.CDLL | None = None
        self.engine, self.notes = "compiled by treelite", tuple[str, ...]()
        nodes, compiler, file = len(trees.feature), _compiler(), _cache_file(self._model)
        if nodes > MAX_NODES or not (compiler or file.is_file()):
            reason = "cannot be compiled: there is no C compiler (gcc, clang or the variable CC)"
            if nodes > MAX_NODES:
                reason = f"has {nodes} nodes, of which at most {MAX_NODES} are compiled"
            self.engine = "by treelite's interpreter"
            self.notes = (f"{reason}: treelite's interpreter evaluates its trees, which takes longer",)
            return
        if compiler and not file.is_file():
            _compile(self._model, compiler, file)
        with _silent():
            self._predictor, self._library = tl2cgen.Predictor(file, nthread=1), ctypes.CDLL(str(file))
        self._lock = Lock()
        if file.name.startswith("trigemu-"):
            file.unlink()  # it is loaded

    def predict(self, x: Features) -> FloatArray:
        """Return the scores float64[n] of float32[n, d], in one call without the GIL."""
        if x.ndim != 2 or x.shape[1] != self._features:
            raise ValueError(f"trees that read {self._features} features got an array {x.shape}")
        rows = np.ascontiguousarray(x, np.float32)
        if not len(rows):
            return np.empty(0)
        if not self._library:
            scores = treelite.gtil.predict(self._model, rows, nthread=1)
        else:
            with self._lock:  # one thread at a time may call it
                scores = self._predictor.predict(tl2cgen.DMatrix(rows), pred_margin=True)
        return scores.reshape(-1).astype(np.float64)  # type: ignore[no-any-return]

    def row(self) -> Row:
        """Return memory for one event at a time."""
        x, score = np.zeros(self._features, np.float32), np.zeros(1)
        if not self._library:
            return Row(x, score, python=lambda: np.copyto(score, self.predict(x[np.newaxis])))
        leaves, bits = np.zeros(1, np.float32), x.view(np.int32)
        function, arguments = self._library.predict, (x.ctypes.data, 0, leaves.ctypes.data)
        function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p), None

        def run() -> None:
            leaves[0] = 0.0  # the trees add to the present value
            if self._has_nan:  # which the C code knows by these bits
                bits[x != x] = -1
            function(*arguments)
            score[0] = leaves[0]

        return Row(x, score, python=run)


def _model(trees: Ensemble) -> treelite.Model:
    builder = ModelBuilder(
        threshold_type="float32",
        leaf_output_type="float32",
        metadata=Metadata(trees.features, "kRegressor", False, 1, [1], (1, 1)),
        tree_annotation=TreeAnnotation(trees.trees, [0] * trees.trees, [0] * trees.trees),
        postprocessor=PostProcessorFunc("identity"),
        base_scores=[trees.base],
    )
    nan = np.ones(len(trees.feature), np.bool_) if trees.left_of_nan is None else trees.left_of_nan
    columns = trees.feature, trees.threshold, trees.left, trees.right, trees.value, nan
    nodes = list(zip(*(column.tolist() for column in columns), strict=True))
    for start, stop in zip(trees.starts[:-1].tolist(), trees.starts[1:].tolist(), strict=True):
        builder.start_tree()
        for number, (feature, threshold, left, right, value, left_of_nan) in enumerate(nodes[start:stop]):
            builder.start_node(number)
            if feature < 0:
                builder.leaf(value)
            else:
                keys = {"left_child_key": left - start, "right_child_key": right - start}
                builder.numerical_test(feature, threshold, default_left=left_of_nan, opname="<", **keys)
            builder.end_node()
        builder.end_tree()
    return builder.commit()


def _compiler() -> str | None:
    """Return the C compiler: that of the variable CC, else gcc or clang."""
    names = filter(None, (os.environ.get("CC"), "gcc", "clang"))
    return next((name for name in names if shutil.which(name)), None)


def _cache_file(model: treelite.Model) -> Path:
    """Return the file of a compiled model; without a cache folder, one for this process alone."""
    versions = f"{treelite.__version__} {tl2cgen.__version__} {platform.machine()}"
    name = f"{hashlib.sha256(model.serialize_bytes() + versions.encode()).hexdigest()}.so"
    try:
        folder = Path(os.environ.get("TRIGEMU_CACHE_DIR") or user_cache_path("trigemu"))
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(folder, os.W_OK) or (folder / name).is_file():
            return folder / name
    except (OSError, RuntimeError):  # it is read-only, or there is no home folder
        pass
    return Path(tempfile.gettempdir()) / f"trigemu-{os.getpid()}-{name}"


def _compile(model: treelite.Model, compiler: str, file: Path) -> None:
    with temporary_folder(file) as scratch:
        try:
            with _silent():
                tl2cgen.export_lib(model, compiler, scratch / file.name, params={}, options=["-O3"])
        except Exception as error:
            if cause := own_cause(error):
                raise cause from error
            reason = " ".join(str(error).split())[-300:]
            raise TrigemuError(
                f"cannot be compiled by {compiler}: {reason}; try another compiler (variable CC)"
            ) from None
        (scratch / file.name).replace(file)


@contextmanager
def _silent() -> Iterator[None]:
    """Silence tl2cgen, which warns about long code and, directly from C++, about a newer treelite."""
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as sink, redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
