"""Conversion of the objects of CMS Level-1 algorithms into legs, with the scales and digits of their integer
arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trigemu.base.errors import TrigemuError, nearest

from .l1_grammar import OBJECTS, Object
from .l1_xml import Algorithm, Bins, Cut, XMLMenu
from .vector_words import ALL_WORDS

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
_OF_MASS = ("Mass", "MassPt", "Math")
#: The cuts on pairs in menus → the kinds of PRECISION that they need.
_NEEDED = {
    **dict.fromkeys(("deta", "dphi", "dr", "outside_deta", "outside_dphi", "outside_dr"), ("Delta",)),
    **dict.fromkeys(("mass", "transverse_mass", "mass_upt", "mass3"), _OF_MASS),
    "mass_over_dr": (*_OF_MASS, "InverseDeltaRMath"),
    "pair_pt": ("TwoBodyPt", "TwoBodyPtMath"),
}
#: Edges that differ by a smaller fraction of a bin belong to the same bin; centres are half a bin away.
_SAME = 0.25


def edge_of(menu: XMLMenu, object_: str, kind: str, bin_: int, end: int) -> float:
    """Return the lower (end 0) or upper (end 1) edge of a bin in the columns of samples: the double of the
    XML or, if the scale begins elsewhere, as in 2015, the edge of the same integer."""
    *ends, number = menu.scales[object_, kind].edges[bin_]
    if OBJECTS[object_] not in ALL_WORDS:
        return ends[end]
    column, step = _column_edge(OBJECTS[object_], kind, number + end)
    return ends[end] if abs(ends[end] - column) < _SAME * step else column


def _column_edge(name: str, kind: str, number: int) -> tuple[float, float]:
    """Return the lower edge of a bin in the columns of samples, and its width."""
    scale = ALL_WORDS[name]
    if kind == "ETA" and scale.eta:
        step, centred = scale.eta
        half = 1 << (scale.bits["hw_eta"][1] - 1)
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


def digits_of(menu: XMLMenu, table: Mapping[str, Any]) -> Iterator[tuple[str, str, str, int]]:
    """Yield what the cuts on pairs of a trigger need of [integer.digits]: two types of objects in the order
    of the XML, the key, and the digits. TrigemuError if the menu lacks them."""
    cuts = [(pair["legs"], pair) for pair in table.get("pairs", ())]
    cuts += [(legs, table) for legs in ((0, 1), (0, 2), (1, 2)) if "mass3" in table]
    types = {name: kind for kind, name in OBJECTS.items()}
    for legs, pair in cuts:
        types_of_pair = tuple(types[table["legs"][leg]["object"]] for leg in legs)
        needed = {kind for key in pair for kind in _NEEDED.get(key, ())}
        for kind in sorted(needed, key=list(_DIGITS).index):
            for first, second in (types_of_pair, types_of_pair[::-1]):
                if (digits := menu.digits.get(f"{first}-{second}-{kind}")) is not None:
                    yield first, second, _DIGITS[kind], digits
                    break
            else:
                name = "-".join((*types_of_pair, kind))
                raise TrigemuError(f"PRECISION {name} is missing among the scales")


def integer_tables(menu: XMLMenu, tables: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the tables [integer.NAME] of the objects and [integer.digits], for the cuts on pairs of some
    triggers."""
    pairs: dict[str, dict[str, int]] = {}
    types: set[str] = set()
    for first, second, key, digits in (part for table in tables for part in digits_of(menu, table)):
        types |= {first, second}
        pairs.setdefault(f"{OBJECTS[first]}-{OBJECTS[second]}", {})[key] = digits
    if not pairs:
        return {}
    return {**{OBJECTS[name]: _hardware_scale(menu, name) for name in sorted(types)}, "digits": pairs}


def _hardware_scale(menu: XMLMenu, name: str) -> dict[str, Any]:
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


#: Edges that differ by a smaller fraction of a bin are the same.
_SAME_EDGE = 1e-3
#: A threshold in GeV, or in counts, that no object reaches.
NEVER = 1e9
#: Cuts of objects that are lists of allowed values → the column.
_SETS = {"QLTY": "quality", "ISO": "isolation", "IP": "impact", "DISP": "displaced"}
_CHARGES = {"positive": 1, "negative": -1}


def cuts_of(algorithm: Algorithm, names: Sequence[str], kind: str, allowed: set[str]) -> Iterator[Cut]:
    for name in names:
        if name not in algorithm.cuts:
            hint = nearest(name, algorithm.cuts)
            raise TrigemuError(f"cut {name!r} of {kind} is not among the cuts of this algorithm{hint}")
        cut = algorithm.cuts[name]
        if cut.type not in allowed:
            hint = nearest(cut.type, allowed)
            raise TrigemuError(f"cut {name!r} of {kind} (line {cut.line}) has the type {cut.type!r}{hint}")
        yield cut


def leg_of(menu: XMLMenu, algorithm: Algorithm, object_: Object) -> dict[str, Any]:
    name = OBJECTS[object_.type]
    allowed = {"ETA", "PHI", "CHG", "SLICE", "INDEX", "UPT", *_SETS}
    cuts: dict[str, list[Cut]] = {}
    for cut in cuts_of(algorithm, object_.cuts, f"{object_.type}{object_.threshold}", allowed):
        cuts.setdefault(cut.type, []).append(cut)
    edge = NEVER
    if not never_fires(menu, object_):
        of_edge = _kind(menu, object_)
        threshold = f"the threshold of {object_.type}{object_.threshold}"
        bin_ = _edge(_scale(menu, object_.type, of_edge), object_.value, 0, threshold)
        edge = edge_of(menu, object_.type, of_edge, bin_, 0)
    leg: dict[str, Any] = {"object": name} | ({"crossing": object_.crossing} if object_.crossing else {})
    leg["pt"] = {"min": edge, "max": edge} if object_.exact else {"min": edge}
    for kind, of_kind in cuts.items():
        leg |= _window(menu, object_.type, kind, of_kind)
    return leg


def never_fires(menu: XMLMenu, object_: Object) -> bool:
    """Whether the threshold is the end of its scale, which means "never" in menus."""
    scale = _scale(menu, object_.type, _kind(menu, object_))
    return bool(scale.edges) and abs(scale.edges[-1][1] - object_.value) <= _SAME_EDGE * scale.step


def _kind(menu: XMLMenu, object_: Object) -> str:
    return "COUNT" if (object_.type, "COUNT") in menu.scales else "ET"


def _scale(menu: XMLMenu, object_: str, kind: str) -> Bins:
    if (object_, kind) not in menu.scales:
        raise TrigemuError(f"the scale {object_} {kind} is missing in this file")
    return menu.scales[object_, kind]


def _window(menu: XMLMenu, object_: str, kind: str, cuts: Sequence[Cut]) -> dict[str, Any]:
    """Return the column and the windows on it, one of which must hold."""
    if kind in _SETS:
        values = sorted({value for cut in cuts for value in _integers(cut)})
        return {_SETS[kind]: {"any_of": values}}
    if kind == "CHG":
        wrong = next((cut for cut in cuts if cut.data not in _CHARGES), None)
        if wrong:
            raise TrigemuError(
                f"cut {wrong.name!r} (line {wrong.line}): {wrong.data!r}{nearest(wrong.data, _CHARGES)}"
            )
        return {"charge": {"any_of": sorted({_CHARGES[cut.data] for cut in cuts})}}
    column = {"ETA": "eta", "PHI": "phi", "SLICE": "slot", "INDEX": "index", "UPT": "hw_upt"}[kind]
    of_cuts = [_ranges(menu, object_, kind, cut) for cut in cuts]
    if not all(of_cuts):
        return {}
    windows = [window for ranges in of_cuts for window in ranges]
    return {column: windows[0] if len(windows) == 1 else windows}


def _ranges(menu: XMLMenu, object_: str, kind: str, cut: Cut) -> list[dict[str, float | int]]:
    """Return the windows of a cut, one of which must hold; none if every object passes."""
    if kind == "SLICE" and cut.data:
        low, high = _integers(cut)
        return [_ascending(cut, low, high)]
    if kind in ("SLICE", "INDEX"):
        return [_ascending(cut, int(cut.minimum), int(cut.maximum))]
    scale = _scale(menu, object_, kind)
    of_cut = f"of cut {cut.name!r} (line {cut.line})"
    first = _edge(scale, cut.minimum, 0, f"the minimum {of_cut}")
    last = _edge(scale, cut.maximum, 1, f"the maximum {of_cut}")
    if kind == "UPT":
        return [_ascending(cut, scale.edges[first][2], scale.edges[last][2])]
    if kind == "PHI" and (last + 1 - first) % len(scale.edges) == 0:
        return []
    lower, upper = edge_of(menu, object_, kind, first, 0), edge_of(menu, object_, kind, last, 1)
    if kind == "PHI":
        return [{"min": _wrapped(lower), "max": _wrapped(upper)}]
    if first > last:  # the codes of η wrap around in the hardware
        return [] if first == last + 1 else [{"min": lower}, {"max": upper}]
    return [{"min": lower, "max": upper}]


def _ascending(cut: Cut, low: int, high: int) -> dict[str, float | int]:
    if low > high:
        raise TrigemuError(f"cut {cut.name!r} (line {cut.line}): minimum {low} is above maximum {high}")
    return {"min": low, "max": high}


def _edge(scale: Bins, value: float, end: int, name: str) -> int:
    """Return the bin whose lower (end 0) or upper (end 1) edge is at a value, which has this name."""
    for i, edges in enumerate(scale.edges):
        if abs(edges[end] - value) <= _SAME_EDGE * scale.step:
            return i
    raise TrigemuError(
        f"{name} is {value:g}, which is not the edge of a bin: expected {scale.minimum:g} … "
        f"{scale.maximum:g} in steps of {scale.step:g} (scale in line {scale.line})"
    )


def _wrapped(phi: float) -> float:
    """Map φ from 0 … 2π to −π … π. Windows end between bin centres, so rounding does not matter."""
    return phi - 2 * math.pi if phi > math.pi + 1e-9 else phi


def _integers(cut: Cut) -> list[int]:
    try:
        return [int(value) for value in cut.data.split(",")]
    except ValueError:
        message = f"{cut.data!r}, expected integers separated by commas"
        raise TrigemuError(f"cut {cut.name!r} (line {cut.line}): {message}") from None
