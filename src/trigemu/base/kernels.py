"""The numba policy, in one place.

- nogil: threads read and decide at the same time.
- Never fastmath: decisions are compared bit by bit with brute force and with recorded ones, so IEEE semantics
  (NaN, rounding, division by zero) matter.
- No C function unless a kernel is called by its address: it takes time to compile.
- Compiled kernels are kept in the folder of NUMBA_CACHE_DIR, else in the user's cache folder: one file for
  each kernel and types of arguments, whose name is a digest of all that is compiled into it. numba's
  `cache=True` stores the same, but compares only the source of the function itself, not of the kernels that
  it calls; mixes up types of arguments if two processes compile for different ones at once; fails if its
  folder is read-only; and imports all that it compiles with before it loads a kernel: 0.5 s of each run.

Columns have one of five types (float32, float64, int32, int64, uint64), so a few signatures serve every menu.
Comparisons and derived quantities are computed in float64 whatever the column's type.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import entrypoints
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import intrinsic
from platformdirs import user_cache_path

from trigemu.base.errors import TrigemuError
from trigemu.base.files import write_bytes

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F, **options: str | bool) -> F:
    """Compile a function on scalars, flat arrays and ranges of rows with numba, and cache it on the disk.

    Parameters
    ----------
    function : callable
        A function of a module, in the part of Python that numba compiles.
    options
        Further options of `numba.njit`.

    Returns
    -------
    callable
        The kernel. It releases the GIL, and never uses fastmath: NaN and rounding matter in comparisons.

    Examples
    --------
    >>> import math
    >>> @kernel
    ... def transverse_mass(pt, met, dphi):
    ...     return math.sqrt(2 * pt * met * (1 - math.cos(dphi)))
    """
    options = {"no_cfunc_wrapper": True, **options}
    compiled = numba.njit(nogil=True, fastmath=False, error_model="numpy", **options)(function)
    _kept.append(compiled)
    # Not if compilation is disabled, nor for a closure, since the digest does not cover its variables.
    if isinstance(compiled, Dispatcher) and function.__closure__ is None:
        vars(compiled)["_compilation_chain_init_hook"] = lambda: None
        vars(compiled)["_cache"] = _Cache(function, options)
    return compiled  # type: ignore[no-any-return]


def inner(function: F) -> F:
    """Compile a function that only other kernels call, and not Python, which takes less time."""
    return kernel(function, no_cpython_wrapper=True)


def inlined(function: F) -> F:
    """Compile a small function that is inlined into other kernels: calls with array arguments take long."""
    return kernel(function, inline="always")


def c_function(function: F) -> F:
    """Compile a function that is called through its address, by `call_function`."""
    return kernel(function, no_cfunc_wrapper=False)


#: All kernels: other code may call one at its address for as long as the program runs.
_kept: list[Callable[..., Any]] = []
#: Versions that compiled code depends on besides its source.
_VERSIONS = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)


class _Cache(NullCache):  # type: ignore[misc]
    """The cache of one kernel, with the methods that numba calls."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, str | bool]) -> None:
        self._name = re.sub("[<>]", "", f"{function.__module__}.{function.__qualname__}")
        self._function, self._options = function, options
        # trigemu's own kernels need nothing that a refresh imports, such as the linear algebra of SciPy.
        self._is_own = function.__module__.startswith("trigemu.")

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the kernel for a signature, or None."""
        rtsys.initialize(target) if self._is_own else target.refresh()
        with suppress(Exception):  # there is none, or it is damaged: pickle may raise anything
            content = self._file(signature, target.codegen()).read_bytes()
            if hashlib.sha256(content[32:]).digest() == content[:32]:
                return CompileResult._rebuild(target, *pickle.loads(content[32:]))
        # numba loads the extensions of other libraries before any call, even of a kernel from the cache,
        # which takes 0.5 s; and without its lock, so that operators change while another thread compiles.
        entrypoints.init_all()
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store the kernel for a signature. Where that is impossible, each process compiles it."""
        if compiled.lifted or compiled.library.has_dynamic_globals:  # with addresses of this process
            return
        with suppress(OSError, RuntimeError, TrigemuError):  # it is read-only, or there is no home folder
            file = self._file(signature, compiled.codegen)
            for folder in (file.parents[1], file.parent):
                folder.mkdir(parents=True, exist_ok=True, mode=0o755)
            content = dumps(compiled._reduce())
            write_bytes(file, hashlib.sha256(content).digest() + content)

    def _file(self, signature: Any, codegen: Any) -> Path:
        made_of = _VERSIONS, _digest_of_file(self._function), _digest(self._function), self._options
        key = f"{made_of} {_text(signature)} {codegen.magic_tuple()}"
        name = f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
        folder = os.environ.get("NUMBA_CACHE_DIR")
        return Path(folder, "trigemu", name) if folder else user_cache_path("trigemu") / "kernels" / name


def _text(signature: Any) -> str:
    """Return the text of a signature with the fields of named tuples, which numba omits."""
    kinds = getattr(signature, "args", signature)
    fields = [(kind.fields, _text(kind.types)) for kind in kinds if isinstance(kind, types.BaseNamedTuple)]
    return f"{signature!r} {fields}" if fields else repr(signature)


@cache
def _digest_of_file(function: Callable[..., Any]) -> str:
    try:
        return hashlib.sha256(Path(function.__code__.co_filename).read_bytes()).hexdigest()
    except OSError:  # typed in, or in an archive
        return ""


@cache
def _digest(function: Callable[..., Any]) -> str:
    """Return a digest of a function and of the kernels and constants that it names, when it is called."""
    code: CodeType = function.__code__
    parts: list[object] = [code.co_code, code.co_names]
    parts += [c.co_code if isinstance(c, CodeType) else c for c in code.co_consts]
    names = {name: function.__globals__.get(name) for name in code.co_names}
    modules = [value for value in names.values() if isinstance(value, ModuleType)]
    for value in [*names.values(), *(vars(module).get(name) for module in modules for name in names)]:
        if isinstance(value, int | float | str | tuple):
            parts.append(value)
        elif isinstance(value, type) and issubclass(value, tuple):  # a named tuple that is made there
            parts.append(vars(value).get("_fields"))
        elif isinstance(value, Dispatcher) and value.py_func is not function:
            parts.append(_digest(value.py_func))
        elif isinstance(value, type(pointer)):  # LLVM code that a file generates
            parts.append(_digest_of_file(value._defn))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing: Any, address: Any) -> Any:
    """Turn an address into the pointer that `numba.carray` accepts, without an allocation; in kernels."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def call_function(typing: Any, function: Any, row: Any) -> Any:
    """Call a C function of one integer at an address; for use in kernels."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(arguments[1].type, [arguments[1].type])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])

    return types.intp(types.intp, types.intp), generate


def address_of(compiled: Callable[..., Any], signature: Any) -> int:
    """Return the address of the C function of a kernel."""
    result: Any = compiled.get_compile_result(signature)  # type: ignore[attr-defined]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
