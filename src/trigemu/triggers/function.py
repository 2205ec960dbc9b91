"""Triggers whose decision is a function of a few numbers of one event, written in plain Python by a plugin,
such as plugins/alpha_t.py. numba compiles it once; the same machine code decides batches and single events.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numba
import numpy as np
from numba import types

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import address_of, c_function, call_function, kernel, pointer
from trigemu.observables.expressions import Number
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import Compiled

Function = Callable[..., float]


@dataclass(frozen=True)
class CompiledFunction(Compiled):
    """A trigger whose score is a function of one event. Single events are as fast as those of built-in kinds.

    Raises
    ------
    TrigemuError
        If numba cannot compile the function, or the number of arguments differs.
    """

    #: A function of floats, in the part of Python that numba compiles. It returns the score, NaN for none; or
    #: whether the trigger fires, if `threshold` is None. It is not called for events that lack one of the
    #: numbers: they do not fire.
    function: Function
    numbers: tuple[Number, ...]  #: Its first arguments
    threshold: float | None  #: The threshold on the score
    parameters: tuple[float, ...] = ()  #: Its further arguments, the same for all events

    def __post_init__(self) -> None:
        _ = self.address  # reports errors when the menu is read

    @cached_property
    def address(self) -> int:
        """The address of a C function. Its argument is the address of a row: the arguments, and memory for
        the result. It returns 1, or 0 if the function raised an error."""
        return _address(self.function, len(self.numbers) + len(self.parameters))

    def evaluate(self, work: Workspace) -> FloatArray | BoolArray:
        rows = np.empty((len(work.events), len(self.numbers) + len(self.parameters) + 1))
        for column, number in enumerate(self.numbers):
            rows[:, column] = number.evaluate(work)
        rows[:, len(self.numbers) : -1] = self.parameters
        failed = _call_each(self.address, rows.ctypes.data, rows, len(self.numbers))
        if failed >= 0:
            arguments = rows[failed, :-1].tolist()
            _plain(self.function)(*arguments)  # raises the error
            raise TrigemuError(f"an error in machine code, for {arguments}")
        score: FloatArray = rows[:, -1]
        return score > 0.0 if self.threshold is None else score.copy()


@kernel
def _call_each(function: int, address: int, rows: FloatArray, numbers: int) -> int:
    """Call a function on each row that has all numbers; the result of other rows is −inf. rows: float64
    [n, k + 1], at this address. Return the first row with an error, or −1."""
    last = rows.shape[1] - 1
    for n in range(len(rows)):
        complete = True
        for column in range(numbers):
            complete &= rows[n, column] == rows[n, column]
        if complete and not call_function(function, address + 8 * (last + 1) * n):
            return n
        if not complete or rows[n, last] != rows[n, last]:
            rows[n, last] = -math.inf
    return -1


def _plain(function: Function) -> Any:
    """Return the Python function of a kernel."""
    return getattr(function, "py_func", function)


@cache
def _address(function: Function, arguments: int) -> int:
    """Compile a function of floats; return the address of the C function that `CompiledFunction` calls, or
    raise TrigemuError if numba cannot compile it."""
    code = _plain(function).__code__
    name = f"function {function.__name__!r} ({code.co_filename}:{code.co_firstlineno})"
    try:
        inspect.signature(_plain(function)).bind(*[0.0] * arguments)
    except TypeError as error:
        raise TrigemuError(f"{name}: {error} (it gets {arguments})") from None
    compiled: Any = kernel(function) if _plain(function) is function else function
    signature = (types.float64,) * arguments
    try:
        compiled.compile(signature)
    except Exception as error:  # of numba, or of the names in the function
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((x for x in lines if not x.startswith(("Failed in", "During:", ">>>"))), "")
        line = getattr(getattr(error, "loc", None), "line", None)
        where = f" (line {line})" if line else ""
        raise TrigemuError(f"{name} cannot be compiled: {reason}{where}") from error
    result = compiled.overloads[signature].signature.return_type
    if not isinstance(result, types.Float | types.Integer | types.Boolean):
        raise TrigemuError(f"{name} gives {result}, expected a number or a bool")
    values = ", ".join(f"row[{n}]" for n in range(arguments))
    text = f"""def of_row(address):
    row = carray(pointer(address), ({arguments + 1},), np.float64)
    try:
        row[{arguments}] = function({values})
        return 1
    except Exception:
        return 0
"""
    names = {"carray": numba.carray, "pointer": pointer, "np": np, "function": compiled}
    names["__name__"] = function.__module__
    # Its file and name are those of the function, so that both are cached in the same folder.
    exec(compile(text, code.co_filename, "exec"), names)
    of_row: Any = names["of_row"]
    of_row.__qualname__ = f"{_plain(function).__qualname__}.of_{arguments}"
    return address_of(c_function(of_row), types.intp(types.intp))
