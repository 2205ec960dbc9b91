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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec
import numpy as np

from trigemu.events import Array, BoolArray, FloatArray, IntArray
from trigemu.kernels import delta_phi, delta_r, kernel, pair_mass
from trigemu.objects import Derivation, Window, window_mistakes
from trigemu.tables import Key, Table
from trigemu.triggers.base import Context, Kind
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
_PAIR_COLUMNS = ("pt", "eta", "phi", "z0", "charge")


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
            legs.append(_Leg(derivation, tuple(sorted(leg.windows.items())), frozenset(read)))
        return CompiledCombination(tuple(legs), self.pairs)


#: Alternatives, each the windows of a leg.
Windows = tuple[tuple[tuple[str, Window], ...], ...]


@dataclass(frozen=True)
class _Leg:
    objects: Derivation
    windows: tuple[tuple[str, Window], ...]
    columns: frozenset[str]


@dataclass(frozen=True)
class CompiledCombination:
    legs: tuple[_Leg, ...]
    pairs: tuple[Pair, ...]
    cut: None = None

    def evaluate(self, work: Workspace) -> BoolArray:
        """Few events have enough objects for every leg: only those are looked at."""
        by_objects = self._by_objects()
        events = _enough(work, tuple((objects, len(legs)) for objects, legs in by_objects.items()))
        for objects, legs in by_objects.items():
            offsets = work.objects(objects).offsets
            for windows, needed in (*Counter(legs).items(), *_together(legs)):
                events = events[_reaches(events, offsets, _passing(work, objects, windows), needed)]
        fired = np.zeros(len(work.events), np.bool_)
        fired[events] = True if len(self.legs) == 1 else self._search(work, events)
        return fired

    def _search(self, work: Workspace, events: IntArray) -> BoolArray:
        """bool[s] of some events, in a table of their objects with the columns that the pairs ask for."""
        starts = np.empty((len(self.legs), len(events) + 1), np.int64)
        chosen = []
        total = 0
        for i, leg in enumerate(self.legs):
            offsets = work.objects(leg.objects).offsets
            starts[i], rows = _candidates(events, offsets, work.passing(leg.objects, leg.windows))
            starts[i] += total
            total += len(rows)
            chosen.append(rows)
        objects = np.empty((1 + len(_PAIR_COLUMNS), total))
        for i, (leg, rows) in enumerate(zip(self.legs, chosen, strict=True)):
            part = slice(starts[i, 0], starts[i, -1])
            _fill(objects[0, part], work.rows(leg.objects), rows)
            for k, column in enumerate(_PAIR_COLUMNS, start=1):
                if column in leg.columns:
                    _fill(objects[k, part], work.column(leg.objects, column), rows)
        bases = [leg.objects.base for leg in self.legs]
        base = np.array([bases.index(name) for name in bases])
        return _search(starts, objects, base, *self._cuts())

    def _by_objects(self) -> dict[Derivation, list[Windows]]:
        legs: dict[Derivation, list[Windows]] = {}
        for leg in self.legs:
            legs.setdefault(leg.objects, []).append((leg.windows,))
        return legs

    def _cuts(self) -> tuple[IntArray, FloatArray, IntArray]:
        """Of each pair: its legs, the smaller first; the bounds of its cuts; ±1 the sign of the
        product of its charges, 0 for any."""
        legs = np.array([sorted(pair.legs) for pair in self.pairs], np.int64).reshape(-1, 2)
        bounds = np.empty((len(self.pairs), len(_PAIR_CUTS), 2))
        bounds[:] = -math.inf, math.inf
        for i, pair in enumerate(self.pairs):
            for j, cut in enumerate(_PAIR_CUTS):
                window = getattr(pair, cut)
                if window and window.min is not None:
                    bounds[i, j, 0] = window.min
                if window and window.max is not None:
                    bounds[i, j, 1] = window.max
        signs = {None: 0, "same": 1, "opposite": -1}
        return legs, bounds, np.array([signs[pair.charge] for pair in self.pairs], np.int64)


def _together(legs: list[Windows]) -> Iterator[tuple[Windows, int]]:
    """Legs of one collection need, together, as many objects as they are."""
    if len(set(legs)) > 1:
        yield tuple(windows for (windows,) in dict.fromkeys(legs)), len(legs)


def _enough(work: Workspace, numbers: tuple[tuple[Derivation, int], ...]) -> IntArray:
    """The events with so many objects, whatever cuts."""

    def enough() -> IntArray:
        counts = (np.diff(work.objects(objects).offsets) >= number for objects, number in numbers)
        return np.flatnonzero(np.logical_and.reduce(list(counts)))

    return work.once(("enough", numbers), enough)


def _passing(work: Workspace, objects: Derivation, alternatives: Windows) -> BoolArray:
    """bool[m]: which objects lie in all windows of one of the alternatives."""
    passing = work.passing(objects, alternatives[0])
    for windows in alternatives[1:]:
        passing = passing | work.passing(objects, windows)
    return passing


@kernel
def _reaches(events: IntArray, offsets: IntArray, passing: BoolArray, needed: int) -> BoolArray:
    """bool[s]: of some events, whether so many of their objects pass."""
    reaches = np.empty(len(events), np.bool_)
    for s in range(len(events)):
        count = 0
        for i in range(offsets[events[s]], offsets[events[s] + 1]):
            count += passing[i]
        reaches[s] = count >= needed
    return reaches


@kernel
def _candidates(events: IntArray, offsets: IntArray, passing: BoolArray) -> tuple[IntArray, IntArray]:
    """Where the candidates of each of some events start, int64[s + 1], and which they are."""
    starts = np.empty(len(events) + 1, np.int64)
    starts[0] = 0
    count = 0
    for s in range(len(events)):
        for i in range(offsets[events[s]], offsets[events[s] + 1]):
            count += passing[i]
        starts[s + 1] = count
    chosen = np.empty(count, np.int64)
    count = 0
    for event in events:
        for i in range(offsets[event], offsets[event + 1]):
            if passing[i]:
                chosen[count] = i
                count += 1
    return starts, chosen


@kernel
def _fill(line: FloatArray, column: Array, rows: IntArray) -> None:
    for i in range(len(rows)):
        line[i] = column[rows[i]]


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
def _search(
    starts: IntArray,
    objects: FloatArray,
    base: IntArray,
    pairs: IntArray,
    bounds: FloatArray,
    signs: IntArray,
) -> BoolArray:
    """Depth first: choose a candidate for each leg in turn, step back where none is left.

    In one piece on purpose: with the test of a candidate in a kernel of its own it takes five times
    as long.
    """
    legs, n = starts.shape[0], starts.shape[1] - 1
    fired = np.zeros(n, np.bool_)
    chosen = np.zeros(legs, np.int64)
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
    return fired
