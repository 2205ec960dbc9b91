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

from trigemu.base.arrays import FloatArray
from trigemu.observables.expressions import Constant, Count, Element, Number, Scalar, ScalarSum
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.vectors import MissingMomentum, OfVectors
from trigemu.observables.windows import Window
from trigemu.observables.workspace import Workspace

#: Objects that are used, and the pT in GeV below which they make no difference; −inf: all matter.
Use = tuple[ObjectSelection, float]
#: A bound on the error of both components in float32, relative to pT: some 10⁻⁶, and a margin.
_ROUGH = 1e-5
#: More than the momenta, in GeV, that are too small for a float32, or whose squares are for a float.
_UNDERFLOW = 1e-30


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
    missing momentum from sines in float32 takes a fifth of the time."""
    if not isinstance(number, OfVectors) or number.function != "pt" or work.has(number):
        return None
    (vector,) = number.vectors
    if not isinstance(vector, MissingMomentum) or work.has(vector):
        return None
    if any(np.any(np.less(work.base_column(d.base, "pt"), 0)) for d in vector.of):
        return None
    px, py = vector.sums(work, exact=False)
    sum_pt = ScalarSum(vector.of).evaluate(work)
    return np.sqrt(px * px + py * py) + (_ROUGH * sum_pt + _UNDERFLOW)
