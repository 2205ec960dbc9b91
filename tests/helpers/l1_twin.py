"""The CMS global trigger, slow and obvious: expressions of the XML on the hardware's integers.

It shares the reader of the XML and the parser of its expressions with the importer, and nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from trigemu_cms.l1_grammar import ExternalSignal, Function, Junction, Object, Signal, Term
from trigemu_cms.l1_xml import Cut, XMLMenu

#: pT, η, φ, and what else an object has, as integers; and its place in the line.
Word = dict[str, int]
#: Of each crossing: the objects by type, and "EXT", the word of external bits.
Crossing = dict[str, list[Word] | int]


@dataclass
class Twin:
    """any_overlap_vetoes: of all objects of the last leg, not only of the chosen one."""

    menu: XMLMenu
    crossings: Sequence[Crossing]
    any_overlap_vetoes: bool = False

    def fires(self, term: Term, cuts: dict[str, Cut], at: int) -> bool:
        match term:
            case Junction("NOT", (operand,)):
                return not self.fires(operand, cuts, at)
            case Junction(operation, operands):
                values = [self.fires(operand, cuts, at) for operand in operands]
                joined = {"AND": all(values), "OR": any(values), "XOR": sum(values) % 2 == 1}
                return joined[operation]
            case ExternalSignal(name, crossing):
                return bool(int(self._at(at + crossing).get("EXT", 0)) >> self.menu.externals[name] & 1)
            case Object():
                return bool(self._selected(term, cuts, at))
            case Function(name, objects, names):
                return self._function(name, objects, [cuts[n] for n in names], cuts, at)
            case Signal():
                raise NotImplementedError
        raise AssertionError

    def _at(self, crossing: int) -> Crossing:
        """Nothing is beyond the ends."""
        return self.crossings[crossing] if 0 <= crossing < len(self.crossings) else {}

    def _selected(self, asked: Object, cuts: dict[str, Cut], at: int) -> list[Word]:
        objects = self._at(at + asked.crossing).get(asked.type, [])
        return [o for o in objects if self._passes(asked, [cuts[n] for n in asked.cuts], o)]

    def _passes(self, asked: Object, cuts: Sequence[Cut], o: Word) -> bool:
        edges = self.menu.scales[asked.type, "ET"].edges
        (threshold,) = (number for low, _, number in edges if low == asked.value)
        passed = o["pt"] == threshold if asked.exact else o["pt"] >= threshold
        for kind in {cut.type for cut in cuts}:
            passed &= any(self._cut(asked.type, cut, o) for cut in cuts if cut.type == kind)
        return passed

    def _cut(self, kind: str, cut: Cut, o: Word) -> bool:
        if cut.type in ("QLTY", "ISO"):
            return o[cut.type] in map(int, cut.data.split(","))
        if cut.type == "CHG":
            return o["charge"] == {"positive": 1, "negative": -1}[cut.data]
        if cut.type in ("SLICE", "INDEX"):
            return cut.minimum <= o[cut.type] <= cut.maximum
        inside = []
        bits = 9 if kind == "MU" else 8
        for low, high, number in self.menu.scales[kind, cut.type].edges:
            after, before = low > cut.minimum - 1e-6, high < cut.maximum + 1e-6
            wraps = cut.minimum > cut.maximum  # φ, and η whose codes wrap
            if (after or before) if wraps else (after and before):
                signed = number - 2**bits if number >= 2 ** (bits - 1) else number
                inside.append(signed if cut.type == "ETA" else number)
        return o[cut.type.lower()] in inside

    def _function(
        self, name: str, legs: Sequence[Object], own: Sequence[Cut], cuts: dict[str, Cut], at: int
    ) -> bool:
        every = [self._selected(leg, cuts, at) for leg in legs]
        for chosen in itertools.product(*every):
            places = {(leg.type, leg.crossing, o["SLICE"]) for leg, o in zip(legs, chosen, strict=True)}
            vetoing = every[-1] if self.any_overlap_vetoes else [chosen[-1]]
            if len(places) == len(legs) and all(
                self._together(name, legs, chosen, vetoing, cut) for cut in own
            ):
                return True
        return False

    def _together(
        self, name: str, legs: Sequence[Object], chosen: Sequence[Word], vetoing: Sequence[Word], cut: Cut
    ) -> bool:
        if cut.type == "CHGCOR":
            charges = [o["charge"] for o in chosen]
            return 0 not in charges and (len(set(charges)) == 1) == (cut.data == "ls")
        if cut.type.startswith("ORM"):
            last = Pair(self.menu, legs[0].type, legs[-1].type)
            near = (last.inside(cut.type[3:], cut, o, veto, name) for o in chosen[:-1] for veto in vetoing)
            return not any(near)
        if name == "mass_inv_3":
            pair = Pair(self.menu, legs[0].type, legs[1].type)
            return pair.in_mass(cut, sum(pair.half_mass2(a, b) for a, b in itertools.combinations(chosen, 2)))
        return Pair(self.menu, legs[0].type, legs[1].type).inside(cut.type, cut, chosen[0], chosen[1], name)


def fixed(value: float, digits: int) -> int:
    return math.floor(value * 10**digits + 0.5)


def lower(value: float, digits: int) -> int:
    return int(math.floor(value * 10.0**digits) / 10.0**digits * 10.0**digits)


def upper(value: float, digits: int) -> int:
    return int(math.ceil(value * 10.0**digits) / 10.0**digits * 10.0**digits)


@dataclass
class Pair:
    """The integer quantities of two objects of some types."""

    menu: XMLMenu
    one: str
    other: str

    def digits(self, kind: str) -> int:
        names = (f"{self.one}-{self.other}-{kind}", f"{self.other}-{self.one}-{kind}")
        return next(self.menu.digits[name] for name in names if name in self.menu.digits)

    def _fine(self, kind: str, o: Word, column: str) -> int:
        """A calorimeter's index in the muons' bins, which are four times as fine, if one is a muon."""
        coarse = kind != "MU" and "MU" in (self.one, self.other)
        return 4 * o[column] + 2 if coarse else o[column]

    def _deta(self, a: Word, b: Word) -> float:
        step = 0.010875 if "MU" in (self.one, self.other) else 0.0435
        return step * abs(self._fine(self.one, a, "eta") - self._fine(self.other, b, "eta"))

    def _dphi(self, a: Word, b: Word) -> float:
        turn = 576 if "MU" in (self.one, self.other) else 144
        bins = abs(self._fine(self.one, a, "phi") - self._fine(self.other, b, "phi"))
        return 2 * math.pi / turn * min(bins, turn - bins)

    def _pt(self, kind: str, o: Word, digits: str) -> int:
        low, high, _ = self.menu.scales[kind, "ET"].edges[o["pt"]]
        return fixed((low + high) / 2, self.digits(digits))

    def half_mass2(self, a: Word, b: Word, transverse: bool = False) -> int:
        q = self.digits("Math")
        cosh = 10**q if transverse else fixed(math.cosh(self._deta(a, b)), q)
        pt = self._pt(self.one, a, "MassPt") * self._pt(self.other, b, "MassPt")
        return pt * (cosh - fixed(math.cos(self._dphi(a, b)), q))

    def in_mass(self, cut: Cut, value: int) -> bool:
        p = self.digits("Mass")
        unit = 10 ** (2 * self.digits("MassPt") + self.digits("Math") - p)
        low, high = lower(cut.minimum**2 * 0.5, p), upper(cut.maximum**2 * 0.5, p)
        return value >= 0 and low * unit <= value <= high * unit

    def _pt2(self, a: Word, b: Word) -> int:
        q = self.digits("TwoBodyPtMath")
        turn = 576 if "MU" in (self.one, self.other) else 144
        angles = [2 * math.pi / turn * self._fine(k, o, "phi") for k, o in ((self.one, a), (self.other, b))]
        (c1, s1), (c2, s2) = ((fixed(math.cos(phi), q), fixed(math.sin(phi), q)) for phi in angles)
        p1, p2 = self._pt(self.one, a, "TwoBodyPt"), self._pt(self.other, b, "TwoBodyPt")
        return (p1 * p1 + p2 * p2) * 10 ** (2 * q) + 2 * p1 * p2 * (c1 * c2 + s1 * s2)

    def inside(self, kind: str, cut: Cut, a: Word, b: Word, function: str) -> bool:
        if kind == "MASS":
            return self.in_mass(cut, self.half_mass2(a, b, function.startswith("mass_trv")))
        if kind == "MASSDR":
            p, d = self.digits("Mass"), self.digits("InverseDeltaRMath")
            unit = 10 ** (2 * self.digits("MassPt") + self.digits("Math") - p)
            half, square = self.half_mass2(a, b), self._deta(a, b) ** 2 + self._dphi(a, b) ** 2
            ratio = half * fixed(1 / square, d) if half else 0
            return ratio >= lower(cut.minimum**2 * 0.5, p) * unit * 10**d
        if kind == "TBPT":
            p, q = self.digits("TwoBodyPt"), self.digits("TwoBodyPtMath")
            return self._pt2(a, b) >= lower(cut.minimum**2, p) * 10 ** (p + 2 * q)
        d = self.digits("Delta")
        if kind == "DR":
            square = fixed(self._deta(a, b), d) ** 2 + fixed(self._dphi(a, b), d) ** 2
            low, high = lower(cut.minimum * cut.minimum, d), upper(cut.maximum * cut.maximum, d)
            return low * 10**d <= square <= high * 10**d
        value = fixed(self._deta(a, b) if kind == "DETA" else self._dphi(a, b), d)
        return lower(cut.minimum, d) <= value <= upper(cut.maximum, d)
