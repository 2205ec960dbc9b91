"""Boosted trees as machine code: treelite → C (tl2cgen) → a library on this machine, compared with treelite's
interpreter whenever it is loaded."""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import platform
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import tl2cgen
import treelite
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from trigemu.base import cache
from trigemu.base.errors import TrigemuError, own_cause
from trigemu.base.files import temporary_folder
from trigemu.base.kernels import address_of, c_function, kernel, pointer

from . import children
from .input_kernels import Features

T = TypeVar("T")


@dataclass(frozen=True)
class CodeRecipe(Generic[T]):
    """How a model becomes a library.

    what: its name in messages, such as "the trees". depends_on: the model and the versions of the
    generators. write: writes main.c into a folder, or raises TrigemuError. check: opens the library at a
    path, compares it with the model and returns it, or raises TrigemuError. limits: limits on time and memory
    of the compiler; advice: what to do if it exceeds them.
    """

    what: str
    depends_on: bytes
    write: Callable[[Path], None]
    check: Callable[[Path], T]
    limits: children.Limits
    advice: str


def build_library(recipe: CodeRecipe[T]) -> T | None:
    """Return the library of a model, from a cache or newly compiled; None if it is not cached and there is no
    C compiler, or no folder to compile in. Raises TrigemuError if the compiler or `check` fails."""
    key = hashlib.sha256(recipe.depends_on).hexdigest()
    cc = compiler(recipe.limits)
    # Without a compiler, a library from another machine's compiler is used, as in the cache of a container.
    begin = key if cc is None else f"{key}-{hashlib.sha256(cc[1].encode()).hexdigest()[:16]}"
    for folder in cache.cache_folders():
        if (cached := _from_cache(recipe, folder, begin)) is not None:
            return cached
    return None if cc is None else _compile_into_cache(recipe, begin, cc[0])


def open_library(path: Path, name: str, what: str) -> tuple[ctypes.CDLL, int]:
    """Load a library; return it, to be held as long as the address is used, and the address of a function."""
    try:
        library = ctypes.CDLL(str(path))
        return library, ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except (OSError, AttributeError) as error:
        raise TrigemuError(f"cannot load {what} as machine code: {error}") from None


def _from_cache(recipe: CodeRecipe[T], folder: Path, begin: str) -> T | None:
    """Return the library in a cache whose name begins with `begin`, or None. Remove any that is damaged, that
    others may have written, or that differs from the model."""
    for path in folder.glob(f"{begin}-*.so"):
        with suppress(OSError):  # it may be unreadable, or removed by another process
            if cache.is_trusted(path.lstat()) and path.name.endswith(f"-{_digest(path)}.so"):
                with suppress(TrigemuError):
                    return recipe.check(path)
            path.unlink()
    return None


def _compile_into_cache(recipe: CodeRecipe[T], begin: str, name: str) -> T | None:
    """Compile a model into the cache, where it appears only when complete and checked; without a writable
    cache, for this process alone."""
    with suppress(cache.NoCacheError, OSError):
        folder = cache.folder_of_cache()
        with temporary_folder(folder / "models") as scratch:
            compiled = _compile(recipe, scratch, name)
            compiled.chmod(0o755)  # for any umask: a library that others may write to is not used
            checked = recipe.check(compiled)
            compiled.replace(folder / f"{begin}-{_digest(compiled)}.so")  # libraries in use stay loaded
        return checked
    with suppress(OSError), tempfile.TemporaryDirectory(prefix="trigemu-") as alone:
        return recipe.check(_compile(recipe, Path(alone), name))
    return None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compiler(limits: children.Limits) -> tuple[str, str] | None:
    """Return name and version of the C compiler: the variable CC, else gcc or clang."""
    for name in filter(None, (os.environ.get("CC"), "gcc", "clang")):
        if path := shutil.which(name):
            with suppress(TrigemuError):  # without a folder for temporary files nothing can be compiled
                output = children.run_limited([Path(path).absolute(), "--version"], Path("/"), limits).stdout
                return name, f"{name} {output.decode(errors='replace').partition(chr(10))[0]}"
    return None


def _compile(recipe: CodeRecipe[T], folder: Path, name: str) -> Path:
    path = Path(shutil.which(name) or name).absolute()
    recipe.write(folder)
    for options in (
        ["-c", "-O3", "-o", "main.o", "main.c", "-fPIC"],
        ["-shared", "-O3", "-o", "model.so", "main.o"],
    ):
        try:
            done = children.run_limited([path, *options, "-std=c99", "-lm"], folder, recipe.limits)
        except children.StoppedError as error:
            raise TrigemuError(f"cannot be compiled: {error}: {recipe.advice}") from None
        if done.code:
            reason = output_tail((done.stderr or done.stdout).decode(errors="replace"))
            raise TrigemuError(f"{name} cannot compile {recipe.what}: {reason} (within {recipe.limits})")
    return folder / "model.so"


def output_tail(text: str) -> str:
    """Return the end of a program's output, on one line."""
    return " ".join(text.split())[-300:]


#: Tolerance relative to the largest value, for sums of float32 leaves in another order.
_TOLERANCE = 1e-5
_CHECKED_ROWS = 1024
#: Ten times the needs of the largest models that are compiled.
_LIMITS = children.Limits(seconds=120, memory=4 * 2**30)

Scores = npt.NDArray[np.float32]


class Library:
    """A model compiled for this machine; features: the number of its inputs."""

    def __init__(self, path: Path, features: int) -> None:
        self._library, self._predict = open_library(path, "predict", "compiled trees")
        self._features = features

    @property
    def address(self) -> int:
        """The address of the compiled function."""
        return self._predict

    def by_row(self, x: Features) -> Scores:
        """Return the same as `predict`, slowly, but without a kernel, which takes a second to load."""
        function, scores = self._library.predict, np.zeros(len(x), np.float32)
        function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p), None
        rows = np.ascontiguousarray(x, np.float32)
        for i in range(len(rows)):
            function(rows.ctypes.data + i * rows.strides[0], 0, scores.ctypes.data + 4 * i)
        return scores

    def predict(self, x: Features) -> Scores:
        """Return float32[n] for float32[n, d]; releases the GIL."""
        if x.ndim != 2 or x.shape[1] != self._features:
            raise ValueError(f"trees that read {self._features} features got an array {x.shape}")
        scores = np.empty(len(x), np.float32)
        _predict_rows(self._predict, np.ascontiguousarray(x, np.float32), scores)
        return scores


def build(model: treelite.Model, content: bytes) -> Library | None:
    """Return the library of a model, from a cache or newly compiled; None if it is not cached and there is no
    C compiler, or no folder to compile in.

    content: the text that the model was read from. Raises TrigemuError if the compiler fails, or the result
    differs from treelite's own evaluation.
    """
    versions = f"{treelite.__version__} {tl2cgen.__version__} {platform.machine()}"
    return build_library(
        CodeRecipe(
            "the trees",
            content + versions.encode(),
            lambda folder: _write(model, folder),
            lambda path: _checked(model, path),
            _LIMITS,
            "train fewer or smaller trees",
        )
    )


def interpret(model: treelite.Model, x: Features) -> Scores:
    """Return float32[n], computed by treelite's own interpreter (GTIL)."""
    scores: Scores = treelite.gtil.predict(model, x, nthread=1)
    return scores.reshape(-1)


def _write(model: treelite.Model, folder: Path) -> None:
    try:
        with _silent():
            tl2cgen.generate_c_code(model, folder, None)
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        raise TrigemuError(f"tl2cgen cannot write the trees as C: {output_tail(str(error))}") from None


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


def _checked(model: treelite.Model, path: Path) -> Library:
    """Load a library, and compare it with the interpreter on rows at and next to the thresholds of splits."""
    library = Library(path, model.num_feature)
    x = edges(model, _CHECKED_ROWS)
    expected, results = interpret(model, x), library.by_row(x)
    difference = float(np.abs(results - expected).max())
    if not difference <= _TOLERANCE * max(1.0, float(np.abs(expected).max())):
        raise TrigemuError(
            f"the compiled trees differ by {difference:g} from treelite's own evaluation: "
            f"try another compiler (variable CC)"
        )
    return library


def edges(model: treelite.Model, n: int) -> Features:
    """Return float32[n, d]: thresholds of the model's splits and adjacent numbers, combined at random."""
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


class LibraryRow:
    """A library for one row at a time. function, arguments: addresses for `score_by`; they are valid as long
    as the object exists."""

    def __init__(self, library: Library) -> None:
        self._library, numbers = library, np.array([library.address], np.int64)
        arguments = np.array([0, numbers.ctypes.data, 0], np.int64)
        self._memory = numbers, arguments
        self.arguments = int(arguments.ctypes.data)
        self.function = address_of(_of_arguments, types.intp(types.intp))


@c_function
def _of_arguments(arguments: int) -> int:
    at = carray(pointer(arguments), (3,), np.int64)
    score = carray(pointer(arguments), (1,), np.float32)
    score[0] = 0.0  # the trees add to the present value
    add_leaves(carray(pointer(at[1]), (1,), np.int64)[0], at[2], arguments)
    carray(pointer(arguments), (1,), np.float64)[0] = np.float64(score[0])
    return 1


@intrinsic  # type: ignore[untyped-decorator]
def add_leaves(typing: Any, address: Any, row: Any, result: Any) -> Any:
    """Call predict(row, pred_margin = 0, result), the function that tl2cgen generates, at an address: it adds
    the leaves of a row to the result."""

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
def _predict_rows(predict: int, x: Features, scores: Scores) -> None:
    """Evaluate row by row without a copy: an entry of tl2cgen's union is a float32."""
    row, result = x.ctypes.data, scores.ctypes.data
    for i in range(len(x)):
        scores[i] = 0.0  # the trees add to the present value
        add_leaves(predict, row + i * x.shape[1] * 4, result + i * 4)
