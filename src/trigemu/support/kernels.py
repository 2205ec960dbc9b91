"""The numba policy, in one place.

Kernels are compiled once and cached on disk, release the GIL, and never use fastmath: decisions are
compared bit by bit with brute force and with recorded ones, so IEEE semantics (NaN, rounding) matter.
Columns have one of five types (float32, float64, int32, int64, uint64), so a few signatures serve every menu.
Comparisons and derived quantities are computed in float64 whatever the column's type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from trigemu.support.internals import extend_in_turn, keep_in
from trigemu.support.kernel_cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function on scalars, flat arrays and ranges of rows with numba, and cache it on the disk.

    Parameters
    ----------
    function : callable
        A function of a module, in the part of Python that numba compiles.

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
    return _compile(function)


def inner(function: F) -> F:
    """Compile a function that only other kernels call, and not Python, which takes less time.

    Parameters
    ----------
    function : callable
        As for `kernel`.

    Returns
    -------
    callable
        The kernel.
    """
    return _compile(function, no_cpython_wrapper=True)


def inlined(function: F) -> F:
    """Compile a small function that is inlined into the loops of other kernels.

    A call with array arguments takes longer than a few operations.

    Parameters
    ----------
    function : callable
        As for `kernel`.

    Returns
    -------
    callable
        The kernel.
    """
    return _compile(function, inline="always")


def c_function(function: F) -> F:
    """Compile a function that is called through its address, by `call_function`.

    Parameters
    ----------
    function : callable
        A function of integers that returns an integer.

    Returns
    -------
    callable
        The kernel, whose address is `address_of` it.
    """
    return _compile(function, no_cfunc_wrapper=False)


def _compile(function: F, **options: str | bool) -> F:
    # numba makes a C function by default, which takes time to compile and which most kernels do not need.
    options = {"no_cfunc_wrapper": True, **options}
    compiled = numba.njit(nogil=True, fastmath=False, error_model="numpy", **options)(function)
    _MADE_OF[compiled] = _digest(function)
    # The file alone is not enough: the code contains kernels and constants of other files.
    stamp = f"{_digest_of_file(function.__code__.co_filename)} {_MADE_OF[compiled]} {options}"
    keep_in(compiled, KernelCache(function, stamp))
    extend_in_turn(compiled)
    return compiled  # type: ignore[no-any-return]


@cache
def _digest_of_file(name: str) -> str:
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest()
    except OSError:  # typed in, or in an archive
        return ""


_MADE_OF: dict[Callable[..., Any], str] = {}


def _digest(function: Callable[..., Any]) -> str:
    """Return a digest of a function and of the kernels and constants that it names."""
    code: CodeType = function.__code__
    parts: list[object] = [code.co_code, code.co_names]
    parts += [c.co_code if isinstance(c, CodeType) else c for c in code.co_consts]
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            named = [vars(value).get(n) for n in code.co_names]
            parts += [of for of in named if isinstance(of, int | float)]
            parts += [_MADE_OF[of] for of in named if isinstance(of, Hashable) and of in _MADE_OF]
        elif isinstance(value, int | float | str | tuple):
            parts.append(value)
        elif isinstance(value, type) and issubclass(value, tuple):  # a named tuple that is made there
            parts.append(vars(value).get("_fields"))
        elif isinstance(value, Hashable) and value in _MADE_OF:
            parts.append(_MADE_OF[value])
        elif isinstance(value, type(pointer)):  # LLVM code that a file generates
            parts.append(_digest_of_file(value._defn.__code__.co_filename))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing: Any, address: Any) -> Any:
    """Turn an address into the pointer that `numba.carray` accepts; for use in kernels.

    Unlike an array argument of a kernel, it costs no allocation.

    Parameters
    ----------
    address : int
        The address of memory that is kept alive elsewhere.

    Returns
    -------
    void*
        The pointer.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def call_function(typing: Any, function: Any, row: Any) -> Any:
    """Call a C function of one integer at an address; for use in kernels.

    Parameters
    ----------
    function : int
        The address, from `address_of` with the signature intp(intp).
    row : int
        Its argument.

    Returns
    -------
    int
        Its result.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(arguments[1].type, [arguments[1].type])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])

    return types.intp(types.intp, types.intp), generate


def numbers_at(kind: types.Type) -> tuple[Any, Any]:
    """Make functions that read and write numbers of a type at an address; for use in kernels.

    They compile faster than arrays at addresses (`numba.carray`), and cost nothing when they run.

    Parameters
    ----------
    kind : numba type
        The type, such as `numba.types.int64`.

    Returns
    -------
    read, write : callable
        `read(address, number)` returns a number by its position, `write(address, number, value)` sets it.
    """

    def place(builder: Any, context: Any, address: Any, number: Any) -> Any:
        kind_of_data = context.get_data_type(kind)
        return builder.gep(builder.inttoptr(address, kind_of_data.as_pointer()), [number])

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typing: Any, address: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(place(builder, context, *arguments))

        return kind(types.int64, types.int64), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing: Any, address: Any, number: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            *at, value = arguments
            builder.store(value, place(builder, context, *at))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind), generate

    return read, write
