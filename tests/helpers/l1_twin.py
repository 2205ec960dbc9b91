"""The CMS global trigger, slow and obvious: expressions of the XML on the hardware's integers.

It shares the reader of the XML and the parser of its expressions with the importer, and nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trigemu_cms.l1_grammar import Function, Junction, Object, Signal, Term
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
            case Signal(name, crossing):
                bit = self.menu.externals[name.removeprefix("EXT_")]
                return bool(int(self._at(at + crossing).get("EXT", 0)) >> bit & 1)
            case Object():
                return bool(self._selected(term, cuts, at))
            case Function(name, objects, names):
                return self._function(name, objects, [cuts[n] for n in names], cuts, at)
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
        high = math.inf if cut.type in ("MASSDR", "TBPT") else cut.maximum
        if cut.type.startswith("ORM"):
            last = self._pair(legs[0].type, legs[-1].type)
            return not any(
                last.inside(cut.type[3:], o, veto, cut.minimum, high) for o in chosen[:-1] for veto in vetoing
            )
        pair = self._pair(legs[0].type, legs[1].type)
        if name == "mass_inv_3":
            return pair.in_mass(three_bodies(pair, chosen), cut.minimum, high)
        quantity = "TRANSVERSE" if name.startswith("mass_trv") and cut.type == "MASS" else cut.type
        return pair.inside(quantity, chosen[0], chosen[1], cut.minimum, high)

    def _pair(self, one: str, other: str) -> Pair:
        names = {f"{one}-{other}-", f"{other}-{one}-"}
        digits = {key[len(n) :]: d for key, d in self.menu.digits.items() for n in names if key.startswith(n)}

        def middle(kind: str, column: str, number: int) -> float:
            low, high, _ = self.menu.scales[kind, "ET"].edges[number]
            return (low + high) / 2

        return Pair((one, other), digits, middle)


def fixed(value: float, digits: int) -> int:
    return math.floor(value * 10**digits + 0.5)


def limits(low: float, high: float, digits: int) -> tuple[float, float]:
    """Limits rounded outwards to some digits, as whole numbers, by doubles as compilers of menus do."""
    unit = 10.0**digits
    upper = int(math.ceil(high * unit) / unit * unit) if math.isfinite(high) else math.inf
    return int(math.floor(low * unit) / unit * unit), upper


def three_bodies(pair: Pair, chosen: Sequence[Word]) -> int:
    """M²/2 of three objects of one type."""
    return sum(pair.half_mass2(a, b) for a, b in itertools.combinations(chosen, 2))


@dataclass
class Pair:
    """The integer quantities of two objects of some types, "MU" for muons; positions are in bins of muons as
    soon as there is one. digits: by names of the XML; middle: of a type's pt or upt and a bin, in GeV."""

    types: tuple[str, str]
    digits: Mapping[str, int]
    middle: Callable[[str, str, int], float]

    def __post_init__(self) -> None:
        self.fine = "MU" in self.types
        self.eta_step, self.turn = (0.010875, 576) if self.fine else (0.0435, 144)

    def _bins(self, o: Word, which: int, column: str) -> int:
        """A calorimeter's index in the muons' bins is four times as large."""
        return 4 * o[column] + 2 if self.fine and self.types[which] != "MU" else o[column]

    def deta(self, a: Word, b: Word) -> float:
        return self.eta_step * abs(self._bins(a, 0, "eta") - self._bins(b, 1, "eta"))

    def dphi(self, a: Word, b: Word) -> float:
        bins = abs(self._bins(a, 0, "phi") - self._bins(b, 1, "phi"))
        return 2 * math.pi / self.turn * min(bins, self.turn - bins)

    def dr2(self, a: Word, b: Word) -> int:
        return sum(fixed(value, self.digits["Delta"]) ** 2 for value in (self.deta(a, b), self.dphi(a, b)))

    def _pt(self, o: Word, which: int, digits: str, column: str = "pt") -> int:
        return fixed(self.middle(self.types[which], column, o[column]), self.digits[digits])

    def half_mass2(self, a: Word, b: Word, transverse: bool = False, column: str = "pt") -> int:
        q = self.digits["Math"]
        cosh = 10**q if transverse else fixed(math.cosh(self.deta(a, b)), q)
        pt = self._pt(a, 0, "MassPt", column) * self._pt(b, 1, "MassPt", column)
        return pt * (cosh - fixed(math.cos(self.dphi(a, b)), q))

    def in_mass(self, value: int, low: float, high: float) -> bool:
        p = self.digits["Mass"]
        unit = 10 ** (2 * self.digits["MassPt"] + self.digits["Math"] - p)
        lower, upper = limits(low**2 * 0.5, high**2 * 0.5, p)
        return value >= 0 and lower * unit <= value <= upper * unit

    def _pt2(self, a: Word, b: Word) -> int:
        q = self.digits["TwoBodyPtMath"]
        angles = [2 * math.pi / self.turn * self._bins(o, which, "phi") for which, o in enumerate((a, b))]
        (c1, s1), (c2, s2) = ((fixed(math.cos(phi), q), fixed(math.sin(phi), q)) for phi in angles)
        p1, p2 = self._pt(a, 0, "TwoBodyPt"), self._pt(b, 1, "TwoBodyPt")
        return (p1 * p1 + p2 * p2) * 10 ** (2 * q) + 2 * p1 * p2 * (c1 * c2 + s1 * s2)

    def inside(self, quantity: str, a: Word, b: Word, low: float, high: float) -> bool:
        if quantity in ("MASS", "TRANSVERSE", "MASSUPT"):
            column = "upt" if quantity == "MASSUPT" else "pt"
            return self.in_mass(self.half_mass2(a, b, quantity == "TRANSVERSE", column), low, high)
        if quantity == "MASSDR":
            d, square = self.digits["InverseDeltaRMath"], self.deta(a, b) ** 2 + self.dphi(a, b) ** 2
            ratio = self.half_mass2(a, b) * fixed(1 / square, d) // 10**d if square else None
            return ratio is None or self.in_mass(ratio, low, high)  # at the same place the emulator says yes
        if quantity == "TBPT":
            p, q = self.digits["TwoBodyPt"], self.digits["TwoBodyPtMath"]
            lower, upper = limits(low**2, high**2, p)
            return lower * 10 ** (p + 2 * q) <= self._pt2(a, b) <= upper * 10 ** (p + 2 * q)
        d = self.digits["Delta"]
        if quantity == "DR":
            lower, upper = limits(low * low, high * high, d)
            return lower * 10**d <= self.dr2(a, b) <= upper * 10**d
        lower, upper = limits(low, high, d)
        return lower <= fixed(self.deta(a, b) if quantity == "DETA" else self.dphi(a, b), d) <= upper
