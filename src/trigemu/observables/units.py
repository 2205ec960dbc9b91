"""Units of observables, as far as they follow from their columns."""

from __future__ import annotations

from trigemu.observables.expressions import Arithmetic, Constant, Element, Number, Scalar, ScalarSum
from trigemu.observables.vectors import OfVectors

#: Columns, and functions of vectors, in GeV.
_GEV = ("pt", "mass", "m", "met")


def unit_of(number: Number) -> str:
    """Return the unit of a number; empty if it has none or an unknown one."""
    match number:
        case ScalarSum():
            return "GeV"
        case Element(column=name) | Scalar(name=name) | OfVectors(function=name):
            return "GeV" if name in _GEV else ""
        case Arithmetic(operation="+" | "-" | "negative" | "abs" | "max" | "min", operands=operands):
            units = {unit_of(part) for part in operands if not isinstance(part, Constant)}
            return units.pop() if len(units) == 1 else ""
        case Arithmetic(operation="*", operands=(Constant(), other) | (other, Constant())):
            return unit_of(other)
        case Arithmetic(operation="/", operands=(other, Constant())):
            return unit_of(other)
    return ""
