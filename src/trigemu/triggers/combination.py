"""`combination`: up to twelve different objects, each within windows, with cuts on pairs and on all of them.

    legs = [ { object = "muon", pt = { min = 4.0 }, eta = { abs_max = 2.0 } },
             { object = "muon", pt = { min = 4.0 } } ]
    pairs = [ { legs = [0, 1], mass = { min = 7.0, max = 18.0 }, charge = "opposite" } ]

It fires if any choice of different objects satisfies all conditions. Δη, Δφ and Δz0 of a pair are absolute
values, and masses are those of massless objects. For objects listed under [integer] of the menu, pair
quantities are computed as in the hardware, by the plugin `cms`.

`leg_threshold`: the same with a threshold on one leg, which may come from a rate budget.

    legs = [ { object = "muon" }, { object = "muon", pt = { min = 3.0 } } ]
    leg = 0                                   # the leg with the threshold, the first by default
    above = 8.0                               # or total_rate_hz = 2000, or unique_rate_hz

The score of an event is the largest pT of an object that can fill the leg while other objects fill the other
legs. It is above the threshold if the combination fires whose leg has `pt = { above = 8.0 }`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.toml import Key
from trigemu.observables.selections import Column, ObjectSelection, Range, Window, Windowed, Windows
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import objects_of
from trigemu.triggers.base import Compiled, Context, Kind, ScoreKind
from trigemu.triggers.pairs import (
    COLUMNS,
    CUT,
    INSIDE,
    NOT_ALL_SAME,
    OUTSIDE,
    OUTSIDE_EVERY,
    QUANTITIES,
    SIGNS,
    SUM,
    Charge,
    Cut,
    LegSum,
    Pair,
    cut_on,
    ranges_of,
    search,
)

MAX_LEGS = 12
#: The largest number of cuts on pairs: three times the number of pairs of twelve legs.
MAX_PAIRS = 200
#: The largest number of objects that are tried for the legs in one event, which takes some seconds.
MAX_STEPS = 10**8
#: After this number, objects are matched to legs, at a negligible cost.
MATCH_AFTER = 10**4


class Leg(Windowed, frozen=True, kw_only=True):
    """An object of the event, or of a neighbouring crossing, with windows on its columns."""

    object: str  #: The collection of the object: an object of the menu, or else a collection of the sample.
    #: Its crossing, relative to that of the event: −2 to 2.
    crossing: Annotated[int, msgspec.Meta(ge=-2, le=2)] = 0
    #: The columns that cuts on several legs read as `z0` and `charge`, if they have other names.
    columns: dict[str, str] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        yield from super().mistakes()
        for name in self.columns.keys() - {"z0", "charge"}:
            yield "columns", f"columns: {name!r}: expected z0 or charge, which may have other names"


class Combination(Kind, frozen=True):
    """The trigger kind `combination`: different objects, one per leg, with cuts on pairs."""

    legs: tuple[Leg, ...]  #: The objects, at most twelve.
    pairs: tuple[Pair, ...] = ()  #: Cuts on two legs.
    charge: Charge | None = None  #: Whether all legs have the same sign, or not all of them.
    mass3: Range | None = None  #: A range of the mass of three legs, in GeV.
    sum: LegSum | None = None  #: A range of the sum of a column over several legs.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not 1 <= len(self.legs) <= MAX_LEGS:
            yield "legs", f"{len(self.legs)} legs: expected 1 to {MAX_LEGS}"
        if len(self.pairs) > MAX_PAIRS:
            yield "pairs", f"{len(self.pairs)} pairs: at most {MAX_PAIRS} are allowed"
            return
        legs, allowed = {*range(len(self.legs))}, f"different ones of 0 … {len(self.legs) - 1}"
        for i, pair in enumerate(self.pairs):
            if len({*pair.legs} & legs) < 2:
                yield ("pairs", i, "legs"), f"pairs[{i}].legs = {[*pair.legs]}: expected two {allowed}"
            if pair.every and all(key == name for key, name, _ in ranges_of(pair)):
                message = "expected outside_dr, outside_deta or outside_dphi beside it"
                yield ("pairs", i, "every"), f"pairs[{i}].every: {message}"
        if self.charge and len(self.legs) == 1:
            yield "charge", "charge: expected two legs or more"
        if self.mass3 and len(self.legs) != 3:
            yield "mass3", f"mass3: of {len(self.legs)} legs, expected three"
        if self.sum and not 1 < len({*self.sum.legs} & legs) == len(self.sum.legs):
            yield ("sum", "legs"), f"sum.legs = {[*self.sum.legs]}: expected {allowed}, two or more"

    def compile(self, context: Context) -> CompiledCombination:
        selections = [context.objects(leg.object) for leg in self.legs]
        bases, integers = tuple(selection.base for selection in selections), context.scope.integers
        sets = [set[str]() for _ in self.legs]
        read = [sets[self.legs.index(leg)] for leg in self.legs]  # The `COLUMNS` that cuts read of equal legs
        cuts, numbers = list[tuple[int, ...]](), list[float]()

        def add(legs: Iterable[int], columns: Iterable[str], cut: Cut, mode: int = INSIDE) -> None:
            quantity, limits = cut
            cuts.append((min(legs), max(legs), quantity, mode, len(numbers)))
            numbers.extend(limits)
            for number in legs:
                read[number].update(columns)

        for number, pair in enumerate(self.pairs):
            if pair.charge:
                add(pair.legs, ["charge"], (SIGNS[pair.charge], ()))
            for key, name, window in ranges_of(pair):
                mode = INSIDE if key == name else OUTSIDE_EVERY if pair.every else OUTSIDE
                of_pair, where = [bases[leg] for leg in sorted(pair.legs)], f"pairs[{number}].{key}"
                cut = cut_on(name, of_pair, integers, window, where)
                add(pair.legs, QUANTITIES[name][1], cut, mode)
        every = range(len(self.legs))
        if self.charge == "opposite" and len(self.legs) > 2:
            add(every, ["charge"], (NOT_ALL_SAME, ()))
        elif self.charge:
            for other in every[1:]:
                add((0, other), ["charge"], (SIGNS[self.charge], ()))
        if self.mass3:
            cut = cut_on("mass3", bases, integers, self.mass3, "mass3")
            add(every, QUANTITIES["mass3"][1], cut)
        if self.sum:
            limits = *self.sum.span(), len(self.sum.legs), *self.sum.legs
            add(self.sum.legs, ["summed"], (SUM, limits))
        legs = []
        for number, (leg, selection) in enumerate(zip(self.legs, selections, strict=True)):
            called = leg.columns | ({"summed": self.sum.column} if self.sum else {})
            if integers and integers.scale(selection.base):
                called |= {name: f"hw_{name}" for name in ("pt", "eta", "phi", "upt")}
            named = {line: called.get(n, n) for line, n in enumerate(COLUMNS, 1) if n in read[number]}
            context.objects(leg.object, *leg.windows, *named.values())
            lines = tuple((line, selection.column(name)) for line, name in named.items())
            windows, row_key = selection.named(leg.windows), bases.index(selection.base) << 40
            legs.append(CompiledLeg(selection, windows, leg.crossing, row_key, lines, number))
        return CompiledCombination(tuple(legs), tuple(cuts), tuple(numbers), tuple(self._twins()))

    def _twins(self) -> Iterator[int]:
        """Yield, for each leg, the last earlier leg with the same requirements, including those on pairs with
        all other legs, or −1. Their objects are tried in one order only, which halves the search."""

        def requirements(exchanged: dict[int, int]) -> Counter[Pair | LegSum]:
            counts = Counter[Pair | LegSum]()
            for cut in (*self.pairs, *([self.sum] if self.sum else ())):
                legs = [exchanged.get(leg, leg) for leg in sorted(cut.legs)]
                is_ordered = isinstance(cut, Pair) and cut.every
                counts[msgspec.structs.replace(cut, legs=tuple(legs if is_ordered else sorted(legs)))] += 1
            return counts

        for second, leg in enumerate(self.legs):
            before = (first for first in range(second - 1, -1, -1) if self.legs[first] == leg)
            yield next((f for f in before if requirements({f: second, second: f}) == requirements({})), -1)


class LegThreshold(ScoreKind, frozen=True):
    """The trigger kind `leg_threshold`: a combination whose score is the largest pT of an object that can
    fill one of its legs."""

    legs: tuple[Leg, ...]  #: The objects, at most twelve.
    pairs: tuple[Pair, ...] = ()  #: Cuts on two legs.
    charge: Charge | None = None  #: Whether all legs have the same sign, or not all of them.
    mass3: Range | None = None  #: A range of the mass of three legs, in GeV.
    sum: LegSum | None = None  #: A range of the sum of a column over several legs.
    leg: Annotated[int, msgspec.Meta(ge=0)] = 0  #: The number of the leg with the threshold, from 0.
    column: str = "pt"  #: The column with the threshold.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        yield from Combination.mistakes(self)  # type: ignore[arg-type]  # it has the same fields
        if self.leg >= len(self.legs):
            yield "leg", f"leg = {self.leg}: expected one of 0 … {len(self.legs) - 1}"
        elif self.column in self.legs[self.leg].windows:
            message = f"the threshold of this leg is `above`, give it no window on {self.column}"
            yield ("legs", self.leg, self.column), f"legs[{self.leg}].{self.column}: {message}"
        for i, pair in enumerate(self.pairs):
            if pair.every and self.leg == max(pair.legs):
                message = f"leg {self.leg} has the threshold: objects below it cannot veto"
                yield ("pairs", i, "every"), f"pairs[{i}].every: {message}"

    def compile(self, context: Context) -> CompiledLegThreshold:
        """The leg with the threshold comes first, and has no twin: its objects are then tried in the order of
        their values, and the first one for which there are others is the score."""
        order = sorted(range(len(self.legs)), key=lambda leg: leg != self.leg)
        new = {old: number for number, old in enumerate(order)}

        def renumbered(cut: Any) -> Any:
            return cut and msgspec.structs.replace(cut, legs=tuple(new[leg] for leg in cut.legs))

        legs, pairs = tuple(self.legs[old] for old in order), tuple(map(renumbered, self.pairs))
        compiled = Combination(legs, pairs, self.charge, self.mass3, renumbered(self.sum)).compile(context)
        numbered = (replace(leg, number=old) for leg, old in zip(compiled.legs, order, strict=True))
        twins = (-1 if twin == 0 else twin for twin in compiled.twins)
        combination = replace(compiled, legs=tuple(numbered), twins=tuple(twins))
        column = context.objects(legs[0].object, self.column).column(self.column)
        return CompiledLegThreshold(combination, column, self.threshold)


@dataclass(frozen=True)
class CompiledLeg:
    """A compiled leg."""

    objects: ObjectSelection
    windows: Windows
    crossing: int  # Relative to that of the event
    key: int  # Added to the row of an object: the sum identifies it, whatever its collection
    read: tuple[tuple[int, Column], ...]  # Columns that cuts read, each after its line in a table of objects
    number: int = field(compare=False)  # In the menu

    @property
    def selection(self) -> ObjectSelection:
        """The objects that may fill it."""
        return self.objects.within(*self.windows)

    @cached_property
    def floor(self) -> tuple[float, ObjectSelection]:
        """The pT threshold in GeV, and the objects within all other windows; −inf and those within all
        windows if pT has any other limit."""
        lowest = dict(self.windows).get("pt")
        if not isinstance(lowest, Window) or lowest != Window(min=lowest.min, above=lowest.above):
            return -math.inf, self.selection
        others = (item for item in self.windows if item[0] != "pt")
        return lowest.span()[0], self.objects.within(*others)


@dataclass(frozen=True)
class CompiledCombination(Compiled):
    """A compiled combination."""

    legs: tuple[CompiledLeg, ...]
    cuts: tuple[tuple[int, ...], ...]  # Of `CUT` numbers each
    numbers: tuple[float, ...]  # Of all cuts
    twins: tuple[int, ...]  # For each leg, the earlier leg with the same requirements, or −1
    threshold: None = None  # It gives decisions

    @property
    def margin(self) -> int:
        return max(abs(leg.crossing) for leg in self.legs)

    @property
    def leg_objects(self) -> tuple[ObjectSelection, ...]:
        """Those in the crossing of the event: objects of other crossings are not near its own."""
        return tuple(leg.selection for leg in self.legs if not leg.crossing)

    def evaluate(self, work: Workspace) -> BoolArray:
        fired = self.fillable(work)
        # Legs with the same collection and crossing that differ only in pT thresholds then have a choice.
        places = {(objects.base, crossing) for objects, crossing in self._floors}
        if self.cuts or len(places) < len(self._floors):
            events = np.flatnonzero(fired)
            fired[events] = self.first_choices(work, events, *self.candidates(work, events)[:2]) >= 0
        return fired

    def fillable(self, work: Workspace) -> BoolArray:
        """Return the events with objects for each leg, which are few, bool[n]: of legs that differ only in
        their pT thresholds, the k-th leading object that passes all other windows must pass the k-th highest
        one."""
        fired = np.ones(len(work.events), np.bool_)
        for (objects, crossing), floors in self._floors.items():
            number = len(floors)
            if floors[0] == -math.inf:  # the objects need not have a pT
                events = np.flatnonzero(np.diff(work.objects(objects).offsets) >= number)
            else:
                key = "leading pT", objects, number  # of all triggers with these objects
                events, leading = work.once(key, _leading_pt, work, objects, number)
                events = events[np.all(leading >= np.array(floors)[:, np.newaxis], axis=0)]
            events = events - crossing
            filled = np.zeros_like(fired)
            filled[events[(events >= 0) & (events < len(fired))]] = True
            fired &= filled
        return fired

    @cached_property
    def _floors(self) -> dict[tuple[ObjectSelection, int], list[float]]:
        """The pT thresholds of legs that differ only in these, descending, by what they have in common."""
        floors: dict[tuple[ObjectSelection, int], list[float]] = {}
        for leg in sorted(self.legs, key=lambda leg: -leg.floor[0]):
            floors.setdefault((leg.floor[1], leg.crossing), []).append(leg.floor[0])
        return floors

    def candidates(self, work: Workspace, events: IntArray) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the objects that may fill the legs in s events: starts int64[legs, s + 1], the first object
        of each event in a table; the table float64[1 + columns, m], which holds their keys and the `COLUMNS`
        that are read; and int64[m], their rows in the sample's collection. Equal legs share objects."""
        starts = np.empty((len(self.legs), len(events) + 1), np.int64)
        first = [self.legs.index(leg) for leg in self.legs]  # Of the legs that are equal to each
        chosen, tables, total = list[IntArray](), list[FloatArray](), 0
        for number in dict.fromkeys(first):
            leg = self.legs[number]
            floor, objects = leg.floor
            begin, places = objects_of(work.objects(objects).offsets, events + leg.crossing)
            if floor > -math.inf:
                hard = work.column(objects, "pt")[places] >= np.float64(floor)
                begin, places = np.append(0, np.cumsum(hard))[begin], places[hard]
            starts[np.equal(first, number)] = begin + total
            table = np.empty((1 + len(COLUMNS), len(places)))
            rows = work.rows(objects)[places]
            np.add(rows, leg.key, out=table[0], casting="unsafe")
            for line, column in leg.read:
                table[line] = work.column(objects.all_objects, column)[rows]
            chosen.append(rows)
            tables.append(table)
            total += len(rows)
        return starts, np.concatenate(tables, axis=1), np.concatenate(chosen)

    def first_choices(
        self, work: Workspace, events: IntArray, starts: IntArray, objects: FloatArray
    ) -> IntArray:
        """Search s events for a choice among their candidates; return the first candidate of the first leg
        for which there is one, int64[s], or −1. Where it takes long, match objects to legs before it goes on.
        """
        found = np.full(len(events), -1)
        (twins, _), cuts, numbers = self.arrays
        arrays = objects, twins, cuts, numbers, np.empty(len(self.legs), np.int64)
        s = -1
        while (s := search(starts, *arrays, found, s + 1, MATCH_AFTER)) >= 0:
            alone, one = starts[:, s : s + 2].copy(), np.full(1, -1)
            if not _matched(alone.tolist(), objects[0]):
                continue
            if not self.cuts:
                others = alone[1:].tolist()
                one[0] = next(i for i in range(*alone[0]) if _matched([[i, i + 1], *others], objects[0]))
            elif search(alone, *arrays, one, 0, MAX_STEPS) >= 0:
                raise TrigemuError(
                    f"sample {work.events.sample!r}, event {work.events.id[events[s]]}: "
                    f"{', '.join(map(str, np.diff(alone)[:, 0]))} objects for its legs need more than "
                    f"{MAX_STEPS} trials: give tighter windows, or fewer legs"
                )
            found[s] = one[0]
        return found

    @cached_property
    def arrays(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The trigger as arrays, for compiled loops: the twins of legs and the keys of their objects,
        int64[2, legs]; cuts int64[c, CUT]; numbers float64[k]."""
        return (
            np.array([self.twins, [leg.key for leg in self.legs]]),
            np.array(self.cuts, np.int64).reshape(-1, CUT),
            np.array(self.numbers, np.float64),
        )


@dataclass(frozen=True)
class CompiledLegThreshold(Compiled):
    """A compiled leg threshold: the score is the largest threshold on a leg at which a combination fires."""

    combination: CompiledCombination  # Without the threshold, which is on its first leg
    column: Column  # Of the leg's objects, with the threshold
    threshold: float

    @property
    def margin(self) -> int:
        return self.combination.margin

    @property
    def leg_objects(self) -> tuple[ObjectSelection, ...]:
        return self.fired_above(self.threshold).leg_objects

    def evaluate(self, work: Workspace) -> FloatArray:
        return self.score_above(work, -math.inf)

    def score_above(self, work: Workspace, threshold: float) -> FloatArray:
        above = self.fired_above(threshold)
        events = np.flatnonzero(above.fillable(work))
        starts, objects, rows = above.candidates(work, events)
        first = slice(starts[0, -1])  # The candidates of the leg, which it tries from the largest value on
        values: Any = work.column(above.legs[0].objects.all_objects, self.column)[rows[first]]
        event = np.repeat(np.arange(len(events)), np.diff(starts[0]))
        falling = np.lexsort((-values, event))
        objects[:, first], values = objects[:, falling], values[falling]
        found = above.first_choices(work, events, starts, objects)
        score = np.full(len(work.events), -np.inf)
        score[events[found >= 0]] = values[found[found >= 0]]
        return score

    def fired_above(self, threshold: float) -> CompiledCombination:
        """Return the combination that fires if the score is above a `threshold`."""
        leg, *others = self.combination.legs
        leg = replace(leg, windows=(*leg.windows, (self.column, Window(above=threshold))))
        return replace(self.combination, legs=(leg, *others))


def _leading_pt(work: Workspace, objects: ObjectSelection, number: int) -> tuple[IntArray, FloatArray]:
    """Return the s events with a number of objects, and the leading pT, float64[number, s]."""
    offsets = work.objects(objects).offsets
    events = np.flatnonzero(np.diff(offsets) >= number)
    leading = offsets[events] + np.arange(number)[:, np.newaxis]
    return events, work.column(objects, "pt")[leading].astype(np.float64)


def _matched(ranges: list[list[int]], keys: FloatArray) -> bool:
    """Whether all legs can have different objects, without the cuts. ranges: the first candidate of each leg,
    and the one after the last. keys: of the objects."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    of_legs = [keys[slice(*ends)] for ends in ranges]
    objects = np.unique(np.concatenate(of_legs))
    graph = csr_array([np.isin(objects, of_leg) for of_leg in of_legs], dtype=np.int8)
    return bool((maximum_bipartite_matching(graph, "column") >= 0).all())
