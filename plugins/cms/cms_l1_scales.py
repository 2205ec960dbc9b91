"""The integer arithmetic of a CMS Level-1 menu: scales of the objects in pairs, and decimal digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from trigemu.api import TrigemuError

from .cms_l1_grammar import OBJECTS
from .cms_l1_xml import Bins, XMLMenu
from .cms_words import OBJECT_BITS, SCALES

#: PRECISION of the XML → the key under [integer.digits].
_DIGITS = {
    "Delta": "delta",
    "Mass": "mass",
    "MassPt": "pt",
    "Math": "trigonometry",
    "InverseDeltaRMath": "inverse_dr",
    "TwoBodyPt": "two_body_pt",
    "TwoBodyPtMath": "two_body_trigonometry",
}
#: Edges that differ by a smaller fraction of a bin belong to the same bin; centres are half a bin away.
_SAME = 0.25
#: (type, type, the kinds of PRECISION that are needed).
Needed = tuple[str, str, frozenset[str]]


def edge_of(menu: XMLMenu, object_: str, kind: str, bin_: int, end: int) -> float:
    """Return the lower (end 0) or upper (end 1) edge of the bin at a position of a scale, in the columns of
    samples. This is the double of the XML; if the scale begins elsewhere, as in 2015, it is the edge of the
    same integer, unless test vectors have no such objects."""
    *ends, number = menu.scales[object_, kind].edges[bin_]
    if OBJECTS[object_] not in SCALES:
        return ends[end]
    column, step = _column_edge(OBJECTS[object_], kind, number + end)
    return ends[end] if abs(ends[end] - column) < _SAME * step else column


def _column_edge(name: str, kind: str, number: int) -> tuple[float, float]:
    """Return the lower edge of a bin in the columns of samples, and its width."""
    scale = SCALES[name]
    if kind == "ETA" and scale.eta:
        step, centred = scale.eta
        half = 1 << (OBJECT_BITS[name]["hw_eta"][1] - 1)
        signed = (number + half) % (2 * half) - half
        return (signed - 0.5 * centred) * step, step
    if kind == "PHI" and scale.phi:
        return number * 2 * math.pi / scale.phi, 2 * math.pi / scale.phi
    return scale.pt[0] + number * scale.pt[1], scale.pt[1]


def scale_warnings(menu: XMLMenu, objects: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each scale of these objects whose bins differ from the columns of samples."""
    for object_, kind in menu.scales:
        if object_ in objects and kind in ("ET", "COUNT", "ETA", "PHI"):
            bins = menu.scales[object_, kind]
            zero = next((i for i, (_, _, number) in enumerate(bins.edges) if number == 0), 0)
            lower, column = bins.edges[zero][0], edge_of(menu, object_, kind, zero, 0)
            if lower != column:
                yield (
                    f"the scale {object_} {kind} (line {bins.line}) has its bin 0 at {lower:g}, samples have "
                    f"it at {column:g}: thresholds and windows are written for the same integers"
                )


def integer_tables(menu: XMLMenu, needed: Iterable[Needed]) -> dict[str, dict[str, Any]]:
    """Return the tables [integer.NAME] of the objects and [integer.digits], for the pairs that have cuts."""
    pairs: dict[str, dict[str, int]] = {}
    types: dict[str, None] = {}
    for first, second, kinds in needed:
        types |= {first: None, second: None}
        for kind in sorted(kinds, key=list(_DIGITS).index):
            (a, b), digits = precision(menu, first, second, kind)
            pairs.setdefault(f"{OBJECTS[a]}-{OBJECTS[b]}", {})[_DIGITS[kind]] = digits
    if not pairs:
        return {}
    return {**{OBJECTS[name]: _scale(menu, name) for name in sorted(types)}, "digits": pairs}


def precision(menu: XMLMenu, first: str, second: str, kind: str) -> tuple[tuple[str, str], int]:
    """Return the objects of a pair in the order of the XML, and the decimal digits of a quantity of the
    pair."""
    for pair in ((first, second), (second, first)):
        if (digits := menu.digits.get(f"{'-'.join(pair)}-{kind}")) is not None:
            return pair, digits
    raise TrigemuError(f"PRECISION {first}-{second}-{kind} is missing among the scales")


def _scale(menu: XMLMenu, name: str) -> dict[str, Any]:
    table: dict[str, Any] = {"pt": _linear(menu.scales[name, "ET"])}
    if eta := menu.scales.get((name, "ETA")):
        zero = next((lower for lower, _, number in eta.edges if number == 0), 0.0)
        table["eta"] = {"step": eta.step} | ({"centred": True} if zero < 0 else {})
    if phi := menu.scales.get((name, "PHI")):
        table["phi"] = {"bins": len(phi.edges)}
    if upt := menu.scales.get((name, "UPT")):
        table["upt"] = _linear(upt)
    return table


def _linear(bins: Bins) -> dict[str, float | int]:
    return {"first": bins.minimum, "step": bins.step, "bins": len(bins.edges)}
