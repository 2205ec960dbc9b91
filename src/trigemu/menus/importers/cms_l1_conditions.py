"""Conversion of the conditions of CMS Level-1 algorithms into trigger tables: thresholds, windows, cuts on
pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trigemu.menus.importers.cms_l1_grammar import (
    OBJECTS,
    SIGNALS,
    Condition,
    ExternalSignal,
    Function,
    Object,
    Signal,
)
from trigemu.menus.importers.cms_l1_scales import edge_of
from trigemu.menus.importers.cms_l1_xml import Algorithm, Bins, Cut, XMLMenu
from trigemu.support import TrigemuError, nearest

#: Edges that differ by a smaller fraction of a bin are the same.
_SAME_EDGE = 1e-3
#: M in GeV whose M²/2 is 10⁶ GeV² in doubles: the emulator of 2016 does not fire above.
MASS_CAP_2016 = 1414.2135623730949

#: The cuts of functions, and, for each function: the least and largest number of objects, and its cuts.
_RANGES = {"DETA": "deta", "DPHI": "dphi", "DR": "dr"}
_OVERLAPS = {"ORMDETA": "outside_deta", "ORMDPHI": "outside_dphi", "ORMDR": "outside_dr"}
_PAIR = {*_RANGES, "CHGCOR", "TBPT"}
_FUNCTIONS: dict[str, tuple[int, int, set[str]]] = {
    "comb": (2, 12, {"CHGCOR", "TBPT"}),
    "dist": (2, 2, _PAIR),
    "mass": (2, 2, _PAIR | {"MASS"}),
    "mass_inv": (2, 2, _PAIR | {"MASS"}),
    "mass_trv": (2, 2, _PAIR | {"MASS"}),
    "mass_inv_upt": (2, 2, _PAIR | {"MASS", "MASSUPT"}),
    "mass_inv_3": (3, 3, {"MASS", "CHGCOR"}),
    "comb_orm": (2, 5, {"CHGCOR", "TBPT", *_OVERLAPS}),
    "dist_orm": (2, 3, _PAIR | {*_OVERLAPS}),
    "mass_inv_orm": (2, 3, _PAIR | {"MASS", *_OVERLAPS}),
    "mass_trv_orm": (2, 3, _PAIR | {"MASS", *_OVERLAPS}),
}
#: Cuts of objects that are lists of allowed values → the column.
_SETS = {"QLTY": "quality", "ISO": "isolation", "IP": "impact", "DISP": "displaced"}
_CHARGES = {"positive": 1, "negative": -1}
_CORRELATIONS = {"os": "opposite", "ls": "same", "1": "opposite", "0": "same"}


class InexpressibleError(Exception):
    """The reason why an algorithm cannot be expressed with the available objects and is left out."""


@dataclass(frozen=True)
class Made:
    """A converted condition or algorithm. table: the keys of a trigger. pairs: types of objects whose pairs
    have cuts, and the kinds of PRECISION that these need. note: a remark for the reader."""

    table: Mapping[str, Any]
    pairs: tuple[tuple[str, str, frozenset[str]], ...] = ()
    note: str = ""


def condition_table(menu: XMLMenu, algorithm: Algorithm, condition: Condition) -> Made:
    """Convert a condition. TrigemuError if it has a mistake, InexpressibleError if it cannot be emulated."""
    if isinstance(condition, ExternalSignal):
        if condition.name not in menu.externals:
            hint = nearest(condition.name, menu.externals)
            raise TrigemuError(f"unknown external signal {'EXT_' + condition.name!r}{hint}")
        return Made(_external(None, menu.externals[condition.name], condition.crossing))
    if isinstance(condition, Signal):
        place = SIGNALS[condition.name]
        if place is None:
            raise InexpressibleError(
                f"{condition.name} is computed from inputs that test vectors do not contain"
            )
        return Made(_external(*place, condition.crossing))
    if isinstance(condition, Object):
        legs = [_leg(menu, algorithm, condition)]
        return Made({"kind": "combination", "legs": legs})
    return _Combination(menu, algorithm, condition).made()


def _external(word: str | None, bit: int, crossing: int) -> dict[str, Any]:
    table: dict[str, Any] = {"kind": "external"} | ({"word": word} if word else {}) | {"bit": bit}
    return table | ({"crossing": crossing} if crossing else {})


def _cuts_of(algorithm: Algorithm, names: Sequence[str], of: str, known: set[str]) -> Iterator[Cut]:
    for name in names:
        if name not in algorithm.cuts:
            hint = nearest(name, algorithm.cuts)
            raise TrigemuError(f"cut {name!r} of {of} is not among the cuts of this algorithm{hint}")
        cut = algorithm.cuts[name]
        if cut.type not in known:
            hint = nearest(cut.type, known)
            raise TrigemuError(f"cut {name!r} of {of} (line {cut.line}) has the type {cut.type!r}{hint}")
        yield cut


# ------------------------------------------------------------------------------------------ objects


def _leg(menu: XMLMenu, algorithm: Algorithm, asked: Object) -> dict[str, Any]:
    name = OBJECTS[asked.type]
    if name is None:
        raise InexpressibleError(f"{asked.type} is not in test vectors")
    known = {"ETA", "PHI", "CHG", "SLICE", "INDEX", "UPT", *_SETS}
    cuts: dict[str, list[Cut]] = {}
    for cut in _cuts_of(algorithm, asked.cuts, f"{asked.type}{asked.threshold}", known):
        cuts.setdefault(cut.type, []).append(cut)
    edge = _threshold(menu, asked)
    leg: dict[str, Any] = {"object": name} | ({"crossing": asked.crossing} if asked.crossing else {})
    leg["pt"] = {"min": edge, "max": edge} if asked.exact else {"min": edge}
    for kind, of_kind in cuts.items():
        leg |= _window(menu, asked.type, kind, of_kind)
    return leg


def _threshold(menu: XMLMenu, asked: Object) -> float:
    kind = "COUNT" if (asked.type, "COUNT") in menu.scales else "ET"
    scale = _scale(menu, asked.type, kind)
    for i, (lower, _, _) in enumerate(scale.edges):
        if abs(lower - asked.value) <= _SAME_EDGE * scale.step:
            return edge_of(menu, asked.type, kind, i, 0)
    raise TrigemuError(_no_edge(f"the threshold of {asked.type}{asked.threshold}", asked.value, scale))


def _scale(menu: XMLMenu, object_: str, kind: str) -> Bins:
    if (object_, kind) not in menu.scales:
        raise TrigemuError(f"the scale {object_} {kind} is missing in this file")
    return menu.scales[object_, kind]


def _no_edge(what: str, value: float, scale: Bins) -> str:
    return (
        f"{what} is {value:g}, which is not the edge of a bin: expected {scale.minimum:g} … "
        f"{scale.maximum:g} in steps of {scale.step:g} (scale in line {scale.line})"
    )


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
    windows = [window for cut in cuts if (window := _range(menu, object_, kind, cut))]
    if len(windows) < len(cuts):
        return {}
    return {column: windows[0] if len(windows) == 1 else windows}


def _range(menu: XMLMenu, object_: str, kind: str, cut: Cut) -> dict[str, float | int] | None:
    """Return the window of a cut, or None if everything passes it."""
    if kind == "SLICE" and cut.data:
        low, high = _integers(cut)
        return {"min": low, "max": high}
    if kind in ("SLICE", "INDEX"):
        return {"min": int(cut.minimum), "max": int(cut.maximum)}
    scale = _scale(menu, object_, kind)
    first = _edge(cut, scale, cut.minimum, 0)
    last = _edge(cut, scale, cut.maximum, 1)
    if kind == "UPT":
        return {"min": scale.edges[first][2], "max": scale.edges[last][2]}
    if kind == "PHI" and (last + 1 - first) % len(scale.edges) == 0:
        return None
    lower, upper = edge_of(menu, object_, kind, first, 0), edge_of(menu, object_, kind, last, 1)
    return {"min": _wrapped(lower), "max": _wrapped(upper)} if kind == "PHI" else {"min": lower, "max": upper}


def _edge(cut: Cut, scale: Bins, value: float, side: int) -> int:
    """Return the bin that begins (side 0) or ends (side 1) at a value."""
    for i, edges in enumerate(scale.edges):
        if abs(edges[side] - value) <= _SAME_EDGE * scale.step:
            return i
    end = ("minimum", "maximum")[side]
    raise TrigemuError(_no_edge(f"the {end} of cut {cut.name!r} (line {cut.line})", value, scale))


def _wrapped(phi: float) -> float:
    """Map φ from 0 … 2π to −π … π. Windows end between bin centres, so rounding does not matter."""
    return phi - 2 * math.pi if phi > math.pi + 1e-9 else phi


def _integers(cut: Cut) -> list[int]:
    try:
        return [int(value) for value in cut.data.split(",")]
    except ValueError:
        message = f"{cut.data!r}, expected integers separated by commas"
        raise TrigemuError(f"cut {cut.name!r} (line {cut.line}): {message}") from None


# ------------------------------------------------------------------------------------------ functions


class _Combination:
    """The conversion of a function of objects."""

    def __init__(self, menu: XMLMenu, algorithm: Algorithm, function: Function) -> None:
        self.menu, self.function, self.objects = menu, function, function.objects
        if function.name not in _FUNCTIONS:
            raise InexpressibleError(f"the arithmetic of {function.name} is not known")
        least, most, known = _FUNCTIONS[function.name]
        if not least <= len(self.objects) <= most:
            expected = str(least) if least == most else f"{least} to {most}"
            raise TrigemuError(f"{function.name} of {len(self.objects)} objects: expected {expected}")
        if function.name == "comb" and len({(o.type, o.crossing) for o in self.objects}) > 1:
            raise TrigemuError("comb of different types or crossings: join them by AND")
        self.cuts = list(_cuts_of(algorithm, function.cuts, function.name, known))
        self.legs = [_leg(menu, algorithm, asked) for asked in self.objects]
        self.pairs: dict[tuple[int, int], dict[str, Any]] = {}
        self.needed: dict[tuple[str, str], set[str]] = {}
        self.note = ""

    def made(self) -> Made:
        table: dict[str, Any] = {"kind": "combination", "legs": self.legs}
        for cut in self.cuts:
            if cut.type == "CHGCOR":
                if cut.data not in _CORRELATIONS:
                    hint = nearest(cut.data, _CORRELATIONS)
                    raise TrigemuError(f"cut {cut.name!r} (line {cut.line}): {cut.data!r}{hint}")
                table["charge"] = _CORRELATIONS[cut.data]
            elif self.function.name == "mass_inv_3":
                table["mass3"] = self._mass(cut, ((0, 1), (0, 2), (1, 2)))
            else:
                self._pair_cut(cut)
        if self.pairs:
            table["pairs"] = [{"legs": list(legs)} | cuts for legs, cuts in sorted(self.pairs.items())]
        needed = tuple((*types, frozenset(kinds)) for types, kinds in self.needed.items())
        return Made(table, needed, self.note)

    def _pair_cut(self, cut: Cut) -> None:
        first = self.pairs.setdefault((0, 1), {}) if cut.type not in _OVERLAPS else {}
        if cut.type in _RANGES:
            first[_RANGES[cut.type]] = _limits(cut)
            self._need((0, 1), "Delta")
        elif cut.type == "TBPT":
            first["pair_pt"] = {"min": cut.minimum}
            self._need((0, 1), "TwoBodyPt", "TwoBodyPtMath")
        elif cut.type in _OVERLAPS:
            last = len(self.objects) - 1
            for leg in range(last):
                self.pairs.setdefault((leg, last), {})[_OVERLAPS[cut.type]] = _limits(cut)
                self._need((leg, last), "Delta")
        else:
            transverse = self.function.name.startswith("mass_trv")
            unconstrained = self.function.name == "mass_inv_upt"
            name = "transverse_mass" if transverse else "mass_upt" if unconstrained else "mass"
            first[name] = self._mass(cut, ((0, 1),))

    def _mass(self, cut: Cut, pairs: Sequence[tuple[int, int]]) -> dict[str, float]:
        for pair in pairs:
            self._need(pair, "Mass", "MassPt", "Math")
        limits = _limits(cut)
        if self.function.name == "mass" and cut.maximum > MASS_CAP_2016:
            self.note = (
                f"The XML's maximum of the mass is {cut.maximum!r} GeV. The emulator of these years never "
                f"fires above M²/2 = 10⁶ GeV², the limit used here; the hardware does."
            )
            limits["max"] = MASS_CAP_2016
        return limits

    def _need(self, legs: tuple[int, int], *kinds: str) -> None:
        types = (self.objects[legs[0]].type, self.objects[legs[1]].type)
        self.needed.setdefault(types, set()).update(kinds)


def _limits(cut: Cut) -> dict[str, float]:
    """Return the limits as the exact doubles of the XML: the integer arithmetic depends on their last
    bits."""
    if cut.minimum > cut.maximum:
        raise TrigemuError(
            f"cut {cut.name!r} (line {cut.line}): minimum {cut.minimum} is above maximum {cut.maximum}"
        )
    return ({"min": cut.minimum} if cut.minimum else {}) | {"max": cut.maximum}
