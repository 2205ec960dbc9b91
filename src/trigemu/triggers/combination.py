"""`combination`: up to six different objects, each within windows, and cuts on pairs of them.

    legs = [ { object = "muon", pt = { min = 4.0 }, eta = { abs_max = 2.0 } },
             { object = "muon", pt = { min = 4.0 } } ]
    pairs = [ { legs = [0, 1], mass = { min = 7.0, max = 18.0 }, charge = "opposite" } ]

It fires if there is any choice of different objects that satisfies everything. Δη, Δφ and Δz0 of a pair
are absolute values, its mass that of massless objects.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import msgspec
import numpy as np

from trigemu.events import BoolArray, FloatArray, IntArray
from trigemu.kernels import delta_phi, delta_r, kernel, pair_mass
from trigemu.lean import Use, raised
from trigemu.objects import Derivation, Window, window_mistakes
from trigemu.tables import Key, Table
from trigemu.triggers.base import Context, Kind
from trigemu.triggers.legs import CompiledLeg, candidates, fillable
from trigemu.workspace import Workspace

MAX_LEGS = 6
#: The cuts of a pair, in the order of the kernel, and the columns that each reads.
_PAIR_CUTS = {
    "mass": ("pt", "eta", "phi"),
    "dr": ("eta", "phi"),
    "deta": ("eta",),
    "dphi": ("phi",),
    "dz0": ("z0",),
}
#: In place of a sign: the second object comes after the first.
_ORDERED = 2
PAIR_COLUMNS = ("pt", "eta", "phi", "z0", "charge")


class Leg(Table, frozen=True):
    """An object, and windows on any of its columns."""

    further: ClassVar[str | None] = "windows"

    object: str
    windows: dict[str, Window] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        yield from window_mistakes(self.windows)


class Range(Table, frozen=True):
    """min ≤ v ≤ max."""

    min: float | None = None
    max: float | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.min is None and self.max is None:
            yield "", "an empty range: give min, max or both"
        if self.min is not None and self.max is not None and self.min > self.max:
            yield "min", f"min = {self.min} is above max = {self.max}"


class Pair(Table, frozen=True):
    """Cuts on two legs: mass in GeV; ΔR, |Δη|, |Δφ| in radians; |Δz0| in the unit of the column."""

    legs: tuple[int, int]
    mass: Range | None = None
    dr: Range | None = None
    deta: Range | None = None
    dphi: Range | None = None
    dz0: Range | None = None
    charge: Literal["opposite", "same"] | None = None


class Combination(Kind, frozen=True):
    """Different objects, one a leg, with cuts on pairs."""

    legs: tuple[Leg, ...]
    pairs: tuple[Pair, ...] = ()

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not 1 <= len(self.legs) <= MAX_LEGS:
            yield "legs", f"{len(self.legs)} legs: expected 1 to {MAX_LEGS}"
        for i, pair in enumerate(self.pairs):
            first, second = pair.legs
            if first == second or not all(0 <= leg < len(self.legs) for leg in pair.legs):
                allowed = f"two different ones of 0 … {len(self.legs) - 1}"
                yield ("pairs", i, "legs"), f"pairs[{i}].legs = [{first}, {second}]: expected {allowed}"

    def compile(self, context: Context) -> CompiledCombination:
        columns: list[set[str]] = [set() for _ in self.legs]
        for pair in self.pairs:
            read = {c for cut, cs in _PAIR_CUTS.items() if getattr(pair, cut) for c in cs}
            read |= {"charge"} if pair.charge else set()
            for number in pair.legs:
                columns[number] |= read
        legs = []
        for leg, read in zip(self.legs, columns, strict=True):
            derivation = context.objects(leg.object, *leg.windows, *read)
            legs.append(CompiledLeg(derivation, tuple(sorted(leg.windows.items())), frozenset(read)))
        return CompiledCombination(tuple(legs), self.pairs)


@dataclass(frozen=True)
class CompiledCombination:
    legs: tuple[CompiledLeg, ...]
    pairs: tuple[Pair, ...]
    cut: None = None

    def evaluate(self, work: Workspace) -> BoolArray:
        """Few events have enough objects for every leg: only those are looked at."""
        events = fillable(work, self.legs)
        fired = np.zeros(len(work.events), np.bool_)
        fired[events] = True if len(self.legs) == 1 else self._search(work, events)
        return fired

    def single(self) -> CompiledCombination:
        """The search is the same in one event as in many."""
        return self

    def uses(self) -> Iterator[Use]:
        for leg in self.legs:
            floors = [w.min for name, w in leg.windows if name == "pt" and w.min is not None]
            yield leg.objects, max(floors, default=-math.inf)

    def raised(self, lowest: Mapping[Derivation, float]) -> CompiledCombination:
        legs = (replace(leg, objects=raised(leg.objects, lowest)) for leg in self.legs)
        return replace(self, legs=tuple(legs))

    def _search(self, work: Workspace, events: IntArray) -> BoolArray:
        """bool[s] of some events, in a table of their objects with the columns that the pairs ask for."""
        starts, objects = candidates(work, self.legs, events, PAIR_COLUMNS)
        bases = [leg.objects.base for leg in self.legs]
        base = np.array([bases.index(name) for name in bases])
        fired = np.zeros(len(events), np.bool_)
        search(starts, objects, base, *self._arrays, np.empty(len(self.legs), np.int64), fired)
        return fired

    @cached_property
    def _arrays(self) -> tuple[IntArray, FloatArray, IntArray]:
        return self.cuts()

    def cuts(self) -> tuple[IntArray, FloatArray, IntArray]:
        """Of each pair: its legs, the smaller first; the bounds of its cuts; ±1 the sign of the product of
        its charges, 0 for any. First come pairs of legs that may be exchanged: their objects are chosen in
        one order only, which halves the search."""
        twins = list(self._twins())
        legs = np.array([*twins, *(sorted(pair.legs) for pair in self.pairs)], np.int64).reshape(-1, 2)
        bounds = np.empty((len(legs), len(_PAIR_CUTS), 2))
        bounds[:] = -math.inf, math.inf
        for i, pair in enumerate(self.pairs, start=len(twins)):
            for j, cut in enumerate(_PAIR_CUTS):
                window = getattr(pair, cut)
                if window and window.min is not None:
                    bounds[i, j, 0] = window.min
                if window and window.max is not None:
                    bounds[i, j, 1] = window.max
        of_charges = {None: 0, "same": 1, "opposite": -1}
        signs = [_ORDERED] * len(twins) + [of_charges[pair.charge] for pair in self.pairs]
        return legs, bounds, np.array(signs, np.int64)

    def _twins(self) -> Iterator[tuple[int, int]]:
        """Legs that ask the same of their objects and of every other leg, each with the one before it."""

        def asked(exchanged: dict[int, int]) -> Counter[tuple[tuple[int, ...], Pair]]:
            legs = ((sorted(exchanged.get(leg, leg) for leg in pair.legs), pair) for pair in self.pairs)
            return Counter((tuple(pair), msgspec.structs.replace(cuts, legs=(0, 1))) for pair, cuts in legs)

        for second, leg in enumerate(self.legs):
            for first in range(second - 1, -1, -1):
                if leg == self.legs[first] and asked({first: second, second: first}) == asked({}):
                    yield first, second
                    break


@kernel
def _cut(bounds: FloatArray, pair: int, quantity: int) -> bool:
    """Whether there is a cut; without one a column may be missing."""
    return bool(bounds[pair, quantity, 0] > -math.inf or bounds[pair, quantity, 1] < math.inf)


@kernel
def _in(value: float, bounds: FloatArray, pair: int, quantity: int) -> bool:
    return bool(bounds[pair, quantity, 0] <= value <= bounds[pair, quantity, 1])


@kernel
def _pair_passes(o: FloatArray, i: int, j: int, bounds: FloatArray, pair: int, sign: int) -> bool:
    """Candidates i and j of o, whose lines are row, pt, eta, phi, z0, charge."""
    if sign == _ORDERED:
        return bool(o[0, i] < o[0, j])
    if sign != 0 and o[5, i] * o[5, j] * sign <= 0:
        return False
    if _cut(bounds, pair, 2) and not _in(abs(o[2, i] - o[2, j]), bounds, pair, 2):
        return False
    if _cut(bounds, pair, 3) and not _in(abs(delta_phi(o[3, i], o[3, j])), bounds, pair, 3):
        return False
    if _cut(bounds, pair, 4) and not _in(abs(o[4, i] - o[4, j]), bounds, pair, 4):
        return False
    if _cut(bounds, pair, 1) and not _in(delta_r(o[2, i], o[3, i], o[2, j], o[3, j]), bounds, pair, 1):
        return False
    return not _cut(bounds, pair, 0) or _in(
        pair_mass(o[1, i], o[2, i], o[3, i], o[1, j], o[2, j], o[3, j]), bounds, pair, 0
    )


@kernel
def search(
    starts: IntArray,
    objects: FloatArray,
    base: IntArray,
    pairs: IntArray,
    bounds: FloatArray,
    signs: IntArray,
    chosen: IntArray,
    fired: BoolArray,
) -> None:
    """Depth first: choose a candidate for each leg in turn, step back where none is left. `chosen` is memory
    to work in, int64[legs]; `fired`, bool[n] and false, is what is found.

    In one piece on purpose: with the test of a candidate in a kernel of its own it takes five times
    as long.
    """
    legs, n = starts.shape[0], starts.shape[1] - 1
    for s in range(n):
        leg = 0
        chosen[0] = starts[0, s]
        while leg >= 0:
            i = chosen[leg]
            if i == starts[leg, s + 1]:
                leg -= 1
                if leg >= 0:
                    chosen[leg] += 1
                continue
            fits = True
            for other in range(leg):
                if base[other] == base[leg] and objects[0, chosen[other]] == objects[0, i]:
                    fits = False
            for p in range(len(signs)):
                if fits and pairs[p, 1] == leg:
                    fits = _pair_passes(objects, chosen[pairs[p, 0]], i, bounds, p, signs[p])
            if not fits:
                chosen[leg] += 1
            elif leg == legs - 1:
                fired[s] = True
                break
            else:
                leg += 1
                chosen[leg] = starts[leg, s]
