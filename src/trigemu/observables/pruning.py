"""Shortcuts that preserve decisions, not scores: drop objects below all thresholds, and skip a sum if an
upper bound on it is below the threshold.

A trigger on the leading jet above 100 GeV makes the same decision if jets start at 100 GeV, because objects
are in descending pT. A selection whose softer objects are never needed therefore gets an additional window,
which leaves most events without objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np

from trigemu.base.arrays import Array, FloatArray, IntArray
from trigemu.base.kernels import inlined, kernel
from trigemu.observables.expressions import Constant, Count, Element, Number, Scalar, ScalarSum
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.vectors import MissingMomentum, OfVectors
from trigemu.observables.windows import Window
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import event_starts

#: Objects that are used, and the pT in GeV below which they make no difference; −inf: all matter.
Use = tuple[ObjectSelection, float]
#: A bound on the error of both components with `_sine_of_turns`, relative to pT: 0.0011 √2, and a margin.
_ROUGH = 0.0016
#: More than the momentum, in GeV, whose square is too small for a float.
_UNDERFLOW = 1e-150
_TURN = 1 / (2 * math.pi)


def all_uses(content: object) -> Iterator[Use]:
    """Yield all object selections in an observable, a condition or a compiled trigger, as uses of all
    objects."""
    if isinstance(content, ObjectSelection):
        yield content, -math.inf
    elif is_dataclass(content):
        for field in fields(content):
            yield from all_uses(getattr(content, field.name))
    elif isinstance(content, tuple):
        for item in content:
            yield from all_uses(item)


def lowest_pt(uses: Iterable[Use]) -> dict[ObjectSelection, float]:
    """Return the pT in GeV below which no use needs objects of a selection, directly or through another
    selection."""
    lowest: dict[ObjectSelection, float] = {}
    pending = list(uses)
    while pending:
        selection, floor = pending.pop()
        lowest[selection] = min(lowest.get(selection, math.inf), floor)
        if selection.source:
            pending.append((selection.source, floor))
        if selection.overlap:
            pending.append((selection.overlap[0], -math.inf))
    return lowest


def harder_than(selection: ObjectSelection, lowest: Mapping[ObjectSelection, float]) -> ObjectSelection:
    """Return the selection without objects below the lowest pT that matters; the objects are dropped where it
    or one of its sources removes overlaps."""
    source = selection.source and harder_than(selection.source, lowest)
    floor = lowest.get(selection, -math.inf) if selection.overlap else -math.inf
    if floor == -math.inf:
        return replace(selection, source=source)
    hard = Window(min=floor)
    others = [
        (column, window)
        for column, window in selection.windows
        if not (column == "pt" and isinstance(window, Window) and window.contains(hard))
    ]
    return replace(selection, source=source, windows=(*others, ("pt", hard)))


def cheap(number: Number, work: Workspace) -> bool:
    """Whether evaluating all events costs no more than selecting some of them."""
    return isinstance(number, (Constant, Scalar, Element, Count, ScalarSum)) or work.has(number)


def ceiling(number: Number, work: Workspace) -> FloatArray | None:
    """Return an upper bound float64[n] on a number if it costs much less than the number itself, else None:
    missing momentum from rough sines takes a seventh of the time."""
    if not isinstance(number, OfVectors) or number.function != "pt" or work.has(number):
        return None
    (vector,) = number.vectors
    if not isinstance(vector, MissingMomentum) or work.has(vector):
        return None
    if any(np.any(np.less(work.base_column(d.base, "pt"), 0)) for d in vector.of):
        return None
    px, py, sum_pt = np.zeros((3, len(work.events)))
    for d in vector.of:
        _add_roughly(
            work.column(d, "pt"), work.column(d, "phi"), event_starts(work.objects(d).offsets), px, py, sum_pt
        )
    return np.sqrt(px * px + py * py) + (_ROUGH * sum_pt + _UNDERFLOW)


@inlined
def _sine_of_turns(x: float) -> float:
    """Return sin(2πx) within 0.0011 (a parabola, and a correction by its square)."""
    x -= np.rint(x)
    parabola = 8 * x - 16 * x * abs(x)
    return 0.225 * (parabola * abs(parabola) - parabola) + parabola


@kernel
def _add_roughly(
    pt: Array, phi: Array, starts: IntArray, px: FloatArray, py: FloatArray, sum_pt: FloatArray
) -> None:
    event = 0
    for i in range(len(pt)):
        event = max(event, starts[i])
        turns = np.float64(phi[i]) * _TURN
        px[event] += np.float64(pt[i]) * _sine_of_turns(turns + 0.25)
        py[event] += np.float64(pt[i]) * _sine_of_turns(turns)
        sum_pt[event] += np.float64(pt[i])
