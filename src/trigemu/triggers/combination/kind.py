"""`combination`: up to twelve different objects, each within windows, with cuts on pairs and on all of them.

    legs = [ { object = "muon", pt = { min = 4.0 }, eta = { abs_max = 2.0 } },
             { object = "muon", pt = { min = 4.0 } } ]
    pairs = [ { legs = [0, 1], mass = { min = 7.0, max = 18.0 }, charge = "opposite" } ]

It fires if any choice of different objects satisfies all conditions. Δη, Δφ and Δz0 of a pair are absolute
values, and masses are those of massless objects. For objects listed under [integer] of the menu, pair
quantities are computed as in the hardware, by the plugin `cms`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import kernel
from trigemu.base.toml import Key
from trigemu.observables.hardware_scales import Integers
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Column, Range, Window, Windowed, Windows
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import objects_of
from trigemu.triggers.base import Compiled, Context, Kind
from trigemu.triggers.combination.pairs import (
    COLUMNS,
    INSIDE,
    NOT_ALL_SAME,
    OF_ALL,
    OUTSIDE,
    OUTSIDE_EVERY,
    QUANTITIES,
    SIGNS,
    SUM,
    Charge,
    Cut,
    LegSum,
    Pair,
    all_pass,
    numbers_of,
    passes,
    ranges_of,
)

MAX_LEGS = 12
#: The largest number of cuts on pairs: three times the number of pairs of twelve legs.
MAX_PAIRS = 200
#: The largest number of objects that are tried for the legs in one event, which takes some seconds.
MAX_STEPS = 10**8
#: After this number, objects are matched to legs, at a negligible cost.
MATCH_AFTER = 10**4
#: Columns of the array of cuts.
CUT = 5


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
        legs = []
        for leg, selection, read in zip(self.legs, selections, self._read(), strict=True):
            called = leg.columns | ({"summed": self.sum.column} if self.sum else {})
            if integers and integers.scale(selection.base):
                called |= {name: f"hw_{name}" for name in ("pt", "eta", "phi", "upt")}
            named = [(line, called.get(name, name)) for line, name in enumerate(COLUMNS, 1) if name in read]
            context.objects(leg.object, *leg.windows, *(name for _, name in named))
            lines = tuple((line, selection.column(name)) for line, name in named)
            key = bases.index(selection.base) << 40
            legs.append(CompiledLeg(selection, selection.named(leg.windows), leg.crossing, key, lines))
        return CompiledCombination(tuple(legs), tuple(self._cuts(bases, integers)), tuple(self._twins()))

    def _read(self) -> list[set[str]]:
        """Return the `COLUMNS` that cuts read of each leg, the same of equal legs."""
        of_all = {*(["charge"] if self.charge else ()), *(QUANTITIES["mass3"][1] if self.mass3 else ())}
        sets = [of_all.copy() for _ in self.legs]
        read = [sets[self.legs.index(leg)] for leg in self.legs]
        for pair in self.pairs:
            needed = {column for _, name, _ in ranges_of(pair) for column in QUANTITIES[name][1]}
            for leg in pair.legs:
                read[leg].update(needed, ["charge"] if pair.charge else ())
        for leg in self.sum.legs if self.sum else ():
            read[leg].add("summed")
        return read

    def _cuts(self, bases: Sequence[str], integers: Integers | None) -> Iterator[Cut]:
        """Yield the cuts; raise TrigemuError if a pair cannot be computed in integers but should be."""
        for number, pair in enumerate(self.pairs):
            legs = min(pair.legs), max(pair.legs)
            if pair.charge:
                yield Cut(legs, SIGNS[pair.charge])
            for key, name, window in ranges_of(pair):
                mode = INSIDE if key == name else OUTSIDE_EVERY if pair.every else OUTSIDE
                of_pair, where = [bases[leg] for leg in legs], f"pairs[{number}].{key}"
                yield Cut(legs, *numbers_of(name, of_pair, integers, window, where), mode)
        last = len(self.legs) - 1
        if self.charge == "opposite" and last > 1:
            yield Cut((0, last), NOT_ALL_SAME)
        elif self.charge:
            yield from (Cut((0, leg), SIGNS[self.charge]) for leg in range(1, last + 1))
        if self.mass3:
            yield Cut((0, last), *numbers_of("mass3", bases, integers, self.mass3, "mass3"))
        if self.sum:
            yield Cut((0, max(self.sum.legs)), SUM, (*self.sum.span(), len(self.sum.legs), *self.sum.legs))

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


@dataclass(frozen=True)
class CompiledLeg:
    """A compiled leg."""

    objects: ObjectSelection
    windows: Windows
    crossing: int  # Relative to that of the event
    key: int  # Added to the row of an object: the sum identifies it, whatever its collection
    read: tuple[tuple[int, Column], ...]  # Columns that cuts read, each after its line in a table of objects

    @cached_property
    def floor(self) -> tuple[float, Windows]:
        """The pT threshold in GeV and all other windows; −inf and all windows if pT has any other limit."""
        lowest = dict(self.windows).get("pt")
        if not isinstance(lowest, Window) or lowest != Window(min=lowest.min, above=lowest.above):
            return -math.inf, self.windows
        return lowest.span()[0], tuple(item for item in self.windows if item[0] != "pt")


@dataclass(frozen=True)
class CompiledCombination(Compiled):
    """A compiled combination."""

    legs: tuple[CompiledLeg, ...]
    cuts: tuple[Cut, ...]  # On pairs of legs and on all of them
    twins: tuple[int, ...]  # For each leg, the earlier leg with the same requirements, or −1
    threshold: None = None  # It gives decisions

    @property
    def margin(self) -> int:
        return max(abs(leg.crossing) for leg in self.legs)

    @property
    def leg_objects(self) -> tuple[ObjectSelection, ...]:
        """Those in the crossing of the event: objects of other crossings are not near its own."""
        legs = (leg for leg in self.legs if not leg.crossing)
        return tuple(ObjectSelection(leg.objects.base, leg.objects, leg.windows) for leg in legs)

    def evaluate(self, work: Workspace) -> BoolArray:
        """Search only events with enough objects for every leg, which are few."""
        fired = self._fillable(work)
        # Legs with the same collection and crossing that differ only in pT thresholds then have a choice.
        places = {(objects.base, crossing) for objects, _, crossing in self._floors}
        if self.cuts or len(places) < len(self._floors):
            events = np.flatnonzero(fired)
            starts, _, objects = candidates(work, self.legs, events)
            fired[events] = self.search(work, events, starts, objects)
        return fired

    def _fillable(self, work: Workspace) -> BoolArray:
        """Return the events with objects for each leg, bool[n]: of legs that differ only in their pT
        thresholds, the k-th leading object that passes all other windows must pass the k-th highest one."""
        fired = np.ones(len(work.events), np.bool_)
        for (objects, rest, crossing), floors in self._floors.items():
            number = len(floors)
            if floors[0] == -math.inf:  # the objects need not have a pT
                events = np.flatnonzero(np.diff(work.within(objects, rest).offsets) >= number)
            else:
                key = "leading pT", objects, rest, number  # of all triggers with these objects
                events, leading = work.once(key, _leading_pt, work, objects, rest, number)
                events = events[np.all(leading >= np.array(floors)[:, np.newaxis], axis=0)]
            events = events - crossing
            filled = np.zeros_like(fired)
            filled[events[(events >= 0) & (events < len(fired))]] = True
            fired &= filled
        return fired

    @cached_property
    def _floors(self) -> dict[tuple[ObjectSelection, Windows, int], list[float]]:
        """The pT thresholds of legs that differ only in these, descending, by what they have in common."""
        floors: dict[tuple[ObjectSelection, Windows, int], list[float]] = {}
        for leg in sorted(self.legs, key=lambda leg: -leg.floor[0]):
            floors.setdefault((leg.objects, leg.floor[1], leg.crossing), []).append(leg.floor[0])
        return floors

    def search(self, work: Workspace, events: IntArray, starts: IntArray, objects: FloatArray) -> BoolArray:
        """Search s events for a choice among their candidates; return whether there is one, bool[s]. Where it
        takes long, match objects to legs before it goes on. events: int64[s]; starts: int64[legs, s + 1];
        objects: float64[1 + columns, candidates]."""
        fired = np.zeros(len(events), np.bool_)
        chosen = np.empty(len(self.legs), np.int64)
        (twins, _), cuts, numbers = self.arrays
        s = -1
        while (s := search(starts, objects, twins, cuts, numbers, chosen, fired, s + 1, MATCH_AFTER)) >= 0:
            fired[s] = _matched(starts[:, s : s + 2].tolist(), objects[0])
            if fired[s] and self.cuts:
                alone, fired_alone = starts[:, s : s + 2].copy(), np.zeros(1, np.bool_)
                if search(alone, objects, twins, cuts, numbers, chosen, fired_alone, 0, MAX_STEPS) >= 0:
                    objects_of = ", ".join(map(str, starts[:, s + 1] - starts[:, s]))
                    raise TrigemuError(
                        f"sample {work.events.sample!r}, event {work.events.id[events[s]]}: {objects_of} "
                        f"objects for its legs need more than {MAX_STEPS} trials: give tighter windows, or "
                        f"fewer legs"
                    )
                fired[s] = fired_alone[0]
        return fired

    @cached_property
    def arrays(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The trigger as arrays, for compiled loops: the twins of legs and the keys of their objects,
        int64[2, legs]; cuts int64[c, CUT]; numbers float64[k]."""
        cuts, numbers = [], list[float]()
        for cut in self.cuts:
            cuts.append((*cut.legs, cut.quantity, cut.mode, len(numbers)))
            numbers += cut.numbers
        return (
            np.array([self.twins, [leg.key for leg in self.legs]]),
            np.array(cuts, np.int64).reshape(-1, CUT),
            np.array(numbers, np.float64),
        )


def _leading_pt(
    work: Workspace, objects: ObjectSelection, windows: Windows, number: int
) -> tuple[IntArray, FloatArray]:
    """Return the s events with a number of objects within windows, and the leading pT, float64[number, s]."""
    within = work.within(objects, windows)
    events = np.flatnonzero(np.diff(within.offsets) >= number)
    leading = within.offsets[events] + np.arange(number)[:, np.newaxis]
    if within.rows is not None:
        leading = within.rows[leading]
    return events, work.column(objects, "pt")[leading].astype(np.float64)


def candidates(
    work: Workspace, legs: Sequence[CompiledLeg], events: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the objects that may fill the legs in s events: starts int64[legs, s + 1], the first object of
    each event in a table; int64[m], the positions of the objects in the collection of the leg; and the table
    float64[1 + columns, m], which holds their keys and the `COLUMNS` that are read. Equal legs share objects.
    """
    starts = np.empty((len(legs), len(events) + 1), np.int64)
    first = [legs.index(leg) for leg in legs]  # Of the legs that are equal to each
    chosen, tables, total = list[IntArray](), list[FloatArray](), 0
    for number in dict.fromkeys(first):
        leg = legs[number]
        floor, rest = leg.floor
        within = work.within(leg.objects, rest)
        begin, rows = objects_of(within.offsets, events + leg.crossing)
        rows = rows if within.rows is None else within.rows[rows]
        if floor > -math.inf:
            hard = work.column(leg.objects, "pt")[rows] >= np.float64(floor)
            begin, rows = np.append(0, np.cumsum(hard))[begin], rows[hard]
        starts[np.equal(first, number)] = begin + total
        table = np.empty((1 + len(COLUMNS), len(rows)))
        np.add(work.rows(leg.objects)[rows], leg.key, out=table[0], casting="unsafe")
        for line, column in leg.read:
            table[line] = work.column(leg.objects, column)[rows]
        chosen.append(rows)
        tables.append(table)
        total += len(rows)
    return starts, np.concatenate(chosen), np.concatenate(tables, axis=1)


def _matched(ranges: list[list[int]], keys: FloatArray) -> bool:
    """Whether all legs can have different objects, without the cuts. ranges: the first candidate of each leg,
    and the one after the last. keys: of the objects."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    of_legs = [keys[slice(*ends)] for ends in ranges]
    objects = np.unique(np.concatenate(of_legs))
    graph = csr_array([np.isin(objects, of_leg) for of_leg in of_legs], dtype=np.int8)
    return bool((maximum_bipartite_matching(graph, "column") >= 0).all())


@kernel
def search(
    starts: IntArray,
    objects: FloatArray,
    twins: IntArray,
    cuts: IntArray,
    numbers: FloatArray,
    chosen: IntArray,
    fired: BoolArray,
    first_event: int,
    most: int,
) -> int:
    """Search events depth first: choose a candidate for each leg in turn, and step back when none remains.
    Return the first event that needs more than `most` trials, or −1. starts: int64[legs, s + 1]; objects:
    float64[1 + columns, candidates]; twins, chosen: int64[legs]; fired: bool[s]."""
    legs = len(twins)
    for s in range(first_event, len(fired)):
        leg, trials = 0, 0
        chosen[0] = starts[0, s]
        while leg >= 0:
            i = chosen[leg]
            trials += 1
            if trials > most:
                return s
            if i == starts[leg, s + 1]:
                leg -= 1
                if leg >= 0:
                    chosen[leg] += 1
                continue
            fits = True
            for other in range(leg):
                fits &= objects[0, chosen[other]] != objects[0, i]
            for p in range(len(cuts)):
                if fits and cuts[p, 1] == leg:
                    other, quantity, mode, start = chosen[cuts[p, 0]], cuts[p, 2], cuts[p, 3], cuts[p, 4]
                    if quantity & OF_ALL:
                        fits = all_pass(quantity, objects, chosen, legs, numbers, start)
                        continue
                    first, last = i, i + 1
                    if mode == OUTSIDE_EVERY:
                        first, last = starts[leg, s], starts[leg, s + 1]
                    for k in range(first, last):
                        if fits and objects[0, k] != objects[0, other]:
                            fits = passes(quantity, mode, objects, other, k, numbers, start)
            if not fits:
                chosen[leg] += 1
            elif leg == legs - 1:
                fired[s] = True
                break
            else:
                leg += 1
                chosen[leg] = starts[leg, s]
                twin = twins[leg]
                if twin >= 0:
                    chosen[leg] += chosen[twin] + 1 - starts[twin, s]
    return -1
