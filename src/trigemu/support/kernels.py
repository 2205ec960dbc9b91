"""The numba policy, in one place, and the four-momentum kernels that several modules share.

Kernels are compiled once and cached on disk, release the GIL, and never use fastmath: decisions are
compared bit by bit with brute force and with recorded ones, so IEEE semantics (NaN, rounding) matter.
Columns have one of four types (float32, float64, int32, int64), so a few signatures serve every menu.
Comparisons and derived quantities are computed in float64 whatever the column's type.

Quantities computed both in batches and for single events (`stream`) are scalar kernels here, because NumPy's
own functions differ from them in the last bit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from trigemu.support.internals import extend_in_turn, keep_in
from trigemu.support.kernel_cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])

#: Directions that are opposite up to rounding are at +π, as a single object and the missing momentum it
#: causes. Otherwise rounding could flip the sign of a network's input.
_OPPOSITE = math.pi - 1e-12


def kernel(function: F) -> F:
    """Compile a function on scalars, flat arrays and ranges of rows."""
    return _compile(function)


def inlined(function: F) -> F:
    """Compile a small function that is inlined into the loops of other kernels: a call with array arguments
    takes longer than a few operations."""
    return _compile(function, inline="always")


def c_function(function: F) -> F:
    """Compile a function on integers, of which `address_of` gives the address of the C function."""
    return _compile(function, no_cfunc_wrapper=False)


def _compile(function: F, **options: str | bool) -> F:
    # A C function, which numba makes by default, takes time to compile and has no use in most kernels.
    options = {"no_cfunc_wrapper": True, **options}
    compiled = numba.njit(nogil=True, fastmath=False, error_model="numpy", **options)(function)
    _MADE_OF[compiled] = _digest(function)
    # The file alone is not enough: kernels and constants of other files are compiled into it.
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
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing: Any, address: Any) -> Any:
    """Turn an address into the pointer that `numba.carray` takes. Unlike an array argument of a kernel, it
    costs no allocation. The memory must be kept alive elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def call_function(typing: Any, function: Any, row: Any) -> Any:
    """Call the function intp(intp) at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(arguments[1].type, [arguments[1].type])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])

    return types.intp(types.intp, types.intp), generate


@kernel
def delta_phi(phi1: float, phi2: float) -> float:
    """Return φ1 − φ2 in (−π, π], in radians."""
    difference = phi1 - phi2
    if abs(difference) > math.pi:
        difference -= 2 * math.pi * np.rint(difference / (2 * math.pi))
    return math.pi if difference < -_OPPOSITE else difference


@kernel
def delta_r(eta1: float, phi1: float, eta2: float, phi2: float) -> float:
    """Return the distance in (η, φ)."""
    return math.hypot(eta1 - eta2, delta_phi(phi1, phi2))


@kernel
def momentum_x(pt: float, phi: float) -> float:
    return pt * math.cos(phi)


@kernel
def momentum_y(pt: float, phi: float) -> float:
    return pt * math.sin(phi)


@kernel
def momentum_z(pt: float, eta: float) -> float:
    return pt * math.sinh(eta)


@kernel
def energy(pt: float, eta: float) -> float:
    """Return the energy of a massless object."""
    return pt * math.cosh(eta)


@kernel
def pseudorapidity(px: float, py: float, pz: float) -> float:
    return math.asinh(pz / math.hypot(px, py))


@kernel
def mass(px: float, py: float, pz: float, e: float) -> float:
    square = e * e - px * px - py * py - pz * pz
    return 0.0 if square < 0.0 else math.sqrt(square)


@kernel
def pair_mass(pt1: float, eta1: float, phi1: float, pt2: float, eta2: float, phi2: float) -> float:
    """Return the invariant mass in GeV of two massless objects: m² = 2 pT1 pT2 (cosh Δη − cos Δφ)."""
    square = 2.0 * pt1 * pt2 * (math.cosh(eta1 - eta2) - math.cos(phi1 - phi2))
    return 0.0 if square < 0.0 else math.sqrt(square)
