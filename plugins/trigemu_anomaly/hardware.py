"""Inputs that are integers of the hardware: columns of the sample, or computed from GeV and radians.

A card with the scales of a menu reads `jet[0].hw_pt` from the column `pt`, also of samples that have no
integers:

    [integer.jet]
    pt = { first = 0.0, step = 0.5, bins = 2047 }
    eta = { step = 0.0435 }
    phi = { bins = 144 }

`met[0].hw_pt` and `met[0].hw_phi` are those of `met` and `met_phi` if the scale is that of `met`.
"""

from __future__ import annotations

import math
import re

from trigemu.base.errors import TrigemuError
from trigemu.observables.hardware_scales import Integers
from trigemu.observables.selections import Scope

from .integer_layers import InputScale

_COLUMN = re.compile(r"([A-Za-z_]\w*)\[(\d+)\]\.hw_(pt|eta|phi|upt)")


def hardware_input(
    text: str, padding: float | None, halved: bool, integers: Integers | None, scope: Scope
) -> tuple[str, float | None, InputScale | None]:
    """Return the observable to read for an input, its padding, and how it becomes an integer; TrigemuError if
    the scale of the object lacks the column."""
    match = _COLUMN.fullmatch(text.strip())
    if not match:
        return text, padding, None
    name, index, column = match.groups()
    half = halved and column in ("pt", "upt")
    table = integers and integers.scale(scope.object(name).base)
    if not table:
        return text, padding, InputScale(halved=True) if half else None
    scale = _scale(table, column, half)
    if scale is None:
        raise TrigemuError(f"{text}: [integer.{name}] has no {column}")
    read = f"{name}[{index}].{column}"
    if name == "met" and not scope.has_object("met"):
        read = {"pt": "met", "phi": "met_phi"}.get(column, read)
    missing = None if padding is None else scale.first + (padding + 0.5) * scale.step
    return read, missing, scale


def _scale(table: object, column: str, halved: bool) -> InputScale | None:
    scale = getattr(table, column)
    if scale is None:
        return None
    if column == "eta":
        return InputScale(-0.5 * scale.step if scale.centred else 0.0, scale.step)
    if column == "phi":
        return InputScale(0.0, 2 * math.pi / scale.bins, period=scale.bins)
    return InputScale(scale.first, scale.step, 0, scale.bins, halved=halved)
