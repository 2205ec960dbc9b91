"""The instruction that computes the inputs of a model. The machine calls it by its address: many menus have
no model."""

from __future__ import annotations

from numba import types

from trigemu.api import DONE, address_of, c_function, call_function, numbers_at

from .opcodes import REFUSED

_integer, _ = numbers_at(types.int64)
_flag, _ = numbers_at(types.uint8)


def filler() -> int:
    """Return the address of the function, which is compiled the first time."""
    return address_of(_fill, types.intp(types.intp))


@c_function
def _fill(arguments: int) -> int:
    """Write the inputs of an event: the arguments are those of `fill_block`, and the address of its function.
    Return 1, 0 if a needed input is missing, or REFUSED."""
    if call_function(_integer(arguments, 7), arguments) != DONE:
        return REFUSED
    return int(_flag(_integer(arguments, 6), 0))
