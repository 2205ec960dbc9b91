"""Compiled kernels on the disk: one file for each kernel, types of arguments and processor.

numba's own cache depends on the path and, in some versions, the time of a source file, needs a writable
folder even for reading, and is useless on another model of processor. Here the name of a file is a digest of
everything that its content depends on, so a folder can be filled once and read by anybody: that of
TRIGEMU_CACHE_DIR, or the `__pycache__` beside the source, as in numba. Kernels that cannot be stored there go
to the user's own folder; if that fails too, each process compiles them again. The package trigemu_kernels, if
it is installed, has kernels that were compiled when it was built (`.ci/kernels`).

Files are pickles: they are loaded only from folders that nobody else can write to.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba import types

from trigemu.support.cache import folder_from_environment, is_trusted, own_folder
from trigemu.support.internals import compiled_from, pickled, prepare, processor
from trigemu.support.kernel_statistics import KERNEL_STATISTICS

_DIGEST = hashlib.sha256().digest_size
_SUFFIX = ".kernel"
#: Versions that compiled code depends on besides its source.
_VERSIONS = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
#: Levels of processors, the highest first, with the features that each needs. Code for a level runs on all
#: processors that have it. Code for one model of processor is hardly faster than code for the first level.
LEVELS = {"x86-64-v3": ("avx2", "bmi2", "f16c", "fma", "lzcnt", "movbe"), "x86-64": ("sse2",), "generic": ()}


#: Whether kernels are read only from the folder that is to be filled.
_only_first = False


class KernelCache:
    """The cache of one kernel, with the methods that numba calls. stamp: digest of its source and of the
    kernels and constants that are compiled into it."""

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        code = function.__code__
        self._source = Path(code.co_filename)
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._stamp = hashlib.sha256(f"{_VERSIONS} {self._name} {stamp}".encode()).hexdigest()[:16]
        self._is_kept = function.__closure__ is None
        # trigemu's own kernels need nothing that a refresh imports, such as the linear algebra of SciPy.
        self._is_own = function.__module__.startswith("trigemu.")

    @property
    def cache_path(self) -> str:
        return str(next(self._folders()))

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the kernel for a signature, or None."""
        if not self._is_kept:
            return None
        prepare(target) if self._is_own else target.refresh()
        folders = list(self._folders())
        for folder in folders[:1] if _only_first else [*folders, *installed()]:
            for name in self._names(signature, target.codegen()):
                compiled = _read(folder / name, target)
                if compiled is not None:
                    KERNEL_STATISTICS.loaded += 1
                    return compiled
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store the code for a signature in the first folder that can be written to."""
        KERNEL_STATISTICS.compiled.append(self._name)
        content = pickled(compiled) if self._is_kept else None
        if content is None:
            return
        name = self._names(signature, compiled.codegen)[0]
        for folder in self._folders():
            if _written(folder, name, content):
                KERNEL_STATISTICS.folders[folder] += 1
                if folder == self._beside:
                    self._remove_older(folder)
                return
        KERNEL_STATISTICS.not_stored.append(self._name)

    def _folders(self) -> Iterator[Path]:
        """Yield the folder to be filled, and the user's own."""
        folder, of_numba = folder_from_environment(), os.environ.get("NUMBA_CACHE_DIR")
        if folder is not None:
            yield folder / "kernels"
        elif of_numba:
            yield Path(of_numba) / "trigemu"
        elif self._source.is_file():
            yield self._beside
        own = own_folder()
        if own is not None:
            yield own / "kernels"

    @property
    def _beside(self) -> Path:
        return self._source.parent / "__pycache__"

    def _names(self, signature: Any, codegen: Any) -> list[str]:
        """Return the names of the files for the target processor and for its levels."""
        begin = f"{self._name}-{self._stamp}-{hashlib.sha256(_text(signature).encode()).hexdigest()[:16]}"
        triple, model, features = processor(codegen)
        targets = [(model, features), *((level, "") for level in levels())]
        tags = (hashlib.sha256(repr((triple, *of)).encode()).hexdigest()[:8] for of in targets)
        return [f"{begin}-{tag}{_SUFFIX}" for tag in tags]

    def _remove_older(self, folder: Path) -> None:
        """Remove files of other versions of the source."""
        for path in folder.glob(f"{self._name}-*{_SUFFIX}"):
            if not path.name.startswith(f"{self._name}-{self._stamp}-"):
                with suppress(OSError):
                    path.unlink()

    def enable(self) -> None:
        self._is_kept = True

    def disable(self) -> None:
        self._is_kept = False

    def flush(self) -> None:
        """Nothing is kept in memory."""


@cache
def installed() -> tuple[Path, ...]:
    """Return the folder of the package trigemu_kernels, or nothing."""
    spec = importlib.util.find_spec("trigemu_kernels")
    return tuple(map(Path, (spec and spec.submodule_search_locations) or ()))


@cache
def levels() -> tuple[str, ...]:
    """Return the levels of this processor, the highest first: keys of `LEVELS`.

    Returns
    -------
    tuple of str
        Code for each of these runs on it.
    """
    features = binding.get_host_cpu_features()
    is_x86 = binding.get_process_triple().startswith("x86_64")
    return tuple(
        level
        for level, needed in LEVELS.items()
        if (level != "generic") == is_x86 and all(features.get(name) for name in needed)
    )


def compile_for_others() -> str:
    """From now on, compile for all processors of this one's level, and read kernels only from the first
    folder. Return the level.

    numba chooses the processor with the first kernel: call this before any kernel is imported.
    """
    global _only_first
    if "trigemu.support.kernels" in sys.modules:
        raise RuntimeError("the processor that kernels are compiled for is chosen already")
    _only_first = True
    if numba.config.CPU_NAME is None:
        numba.config.CPU_NAME, numba.config.CPU_FEATURES = levels()[0], ""
    return str(numba.config.CPU_NAME)


def _text(signature: Any) -> str:
    """Return the text of a signature with the fields of named tuples. numba omits them, and code for a tuple
    with other fields would mix them up."""
    kinds = getattr(signature, "args", signature)
    fields = [(kind.fields, _text(kind.types)) for kind in kinds if isinstance(kind, types.BaseNamedTuple)]
    return f"{signature!r} {fields}" if fields else repr(signature)


def _read(path: Path, target: Any) -> Any:
    """Return the kernel in a file; None if there is none, others could have written it, or it is damaged. A
    damaged file is removed."""
    try:
        with path.open("rb") as file:
            folder = path.parent.stat()
            if not (is_trusted(os.fstat(file.fileno())) and is_trusted(folder, by_group=True)):
                return None
            content = file.read()
    except OSError:
        return None
    content, digest = content[:-_DIGEST], content[-_DIGEST:]
    try:
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("damaged")
        return compiled_from(pickle.loads(content), target)
    except MemoryError:
        raise
    except Exception:  # of pickle, which may raise anything
        with suppress(OSError):
            path.unlink()
        return None


def _written(folder: Path, name: str, content: bytes) -> bool:
    """Write a file that others can read; return False if it cannot be written or others can write there."""
    temporary = folder / f"{name}.tmp.{uuid.uuid4().hex[:16]}"
    try:
        folder.parent.mkdir(
            parents=True, exist_ok=True, mode=0o700 if folder.parent == own_folder() else 0o755
        )
        folder.mkdir(exist_ok=True, mode=0o755)
        if not is_trusted(folder.stat(), by_group=True):
            return False
        try:
            temporary.write_bytes(content + hashlib.sha256(content).digest())
            temporary.chmod(0o644)
            temporary.replace(folder / name)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError:
        return False
    return True
