"""Validation of emulated decisions, before prescales, against the decisions recorded in a sample, where both
can be compared, also in files that number their bits otherwise, or lack some."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Named, Shown
from trigemu.counting.decisions import Decisions
from trigemu.emulation.engine import Chunk, Job, Task, over_samples
from trigemu.emulation.plan import NEIGHBOURS, Plan, decide, lacks, make_plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.catalogue import Catalogue, not_consecutive
from trigemu.samples.events import Events, Need
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.triggers.logic import Random

#: The number of differing events that are reported for each trigger.
SHOWN = 3
#: Accepted and rejected events of a trigger that establishes a distance between its bit and an equal one, and
#: the number of such triggers.
CLEAR, SHIFTED = 3, 3
#: Bits that are never set are missing if they are as many, and this share of the triggers that accept events
#: (but not all of them, which would be a file without decisions).
EMPTY, EMPTY_SHARE = 10, 0.1
_NUMBER = re.compile("0|[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Disagreement:
    """An event on which the emulated and the stored decision of a trigger differ."""

    sample: str  #: The name of the sample
    path: str  #: The file
    entry: int  #: The position of the event in the file
    emulated: bool  #: The emulated decision
    #: The event with the columns that the trigger needs, and the neighbouring crossings that it uses.
    events: Events = field(repr=False)


@dataclass(frozen=True)
class Checked:
    """The validation of one trigger."""

    name: str  #: The name of the trigger
    agree: int = 0  #: The number of events on which the emulated and the stored decision agree
    only_emulated: int = 0  #: The number of events on which only the emulated decision is positive
    only_stored: int = 0  #: The number of events on which only the stored decision is positive
    first: tuple[Disagreement, ...] = ()  #: The first events that differ
    skipped: str | None = None  #: Why the trigger was not compared; None if it was
    margin: int = 0  #: The number of crossings before and after an event that the trigger uses
    #: The number of events that are not compared, because some of these crossings are beyond the ends of the
    #: file.
    not_compared: int = 0
    stored: str = ""  #: The name of its stored decisions
    #: The name of other stored decisions, which the trigger equals on all compared events while it differs
    #: from its own, if the samples seem to number their bits otherwise. With `match_bits` the trigger was
    #: compared with these.
    equals: str | None = None

    @property
    def differ(self) -> int:
        """The number of events on which the two decisions differ."""
        return self.only_emulated + self.only_stored

    @property
    def compared(self) -> int:
        """The number of events on which the two decisions were compared."""
        return self.agree + self.differ


@dataclass(frozen=True, repr=False)
class DecisionCheck(Shown, Named[Checked]):
    """The validation of a menu; result["L1_SingleMu22"] is the validation of a trigger."""

    _view: ClassVar[str] = "trigemu_validation.decisions_view:DecisionCheckView"

    menu: Menu  #: The menu
    catalogue: Catalogue  #: The samples
    crossings: int  #: The number of events that were processed
    triggers: tuple[Checked, ...]  #: The enabled triggers of the menu, in its order
    match_bits: bool = False  #: Whether triggers whose `equals` is not None were compared with that

    def _named(self) -> tuple[str, Mapping[str, Checked]]:
        return "trigger", {trigger.name: trigger for trigger in self.triggers}

    @property
    def compared(self) -> tuple[Checked, ...]:
        """The triggers that were compared."""
        return tuple(trigger for trigger in self.triggers if trigger.skipped is None)

    @property
    def skipped(self) -> tuple[Checked, ...]:
        """The triggers that could not be compared."""
        return tuple(trigger for trigger in self.triggers if trigger.skipped is not None)

    @property
    def differing(self) -> tuple[Checked, ...]:
        """The triggers that differ on at least one event."""
        return tuple(trigger for trigger in self.triggers if trigger.differ)

    @property
    def differ(self) -> int:
        """The number of differing decisions of all triggers."""
        return sum(trigger.differ for trigger in self.triggers)

    @property
    def elsewhere(self) -> tuple[Checked, ...]:
        """The triggers whose decisions are those of another stored bit."""
        return tuple(trigger for trigger in self.triggers if trigger.equals is not None)


def check_decisions(
    menu: MenuLike,
    catalogue: SamplesLike,
    *,
    consecutive: bool = True,
    match_bits: bool = False,
    executor: Any = None,
) -> DecisionCheck:
    """Compare the emulated decisions of a menu with the stored ones, on all samples of a catalogue.

    The enabled triggers are checked, before prescales; for events in memory, any integer or boolean column
    can be a stored decision.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    catalogue : path, Catalogue, Events, ak.Array, or list of paths
        The samples.
    consecutive : bool
        Whether events with consecutive crossing numbers are consecutive crossings; if not, triggers that use
        neighbouring crossings cannot be checked.
    match_bits : bool
        Whether triggers whose decisions are those of another stored bit are compared with that one
        (`Checked.equals`).
    executor
        As in `emulate`.

    Returns
    -------
    DecisionCheck

    Raises
    ------
    TrigemuError
        If no trigger can be checked.
    """
    engine = engine_of(executor)
    menu, catalogue = menu_of(menu), samples_of(catalogue, executor=engine)
    all_events = tuple(replace(sample, weighting=None, counted=None) for sample in catalogue.samples)
    catalogue = replace(catalogue, samples=all_events)
    if not consecutive:
        catalogue = not_consecutive(catalogue)
    results, compared = _comparable(menu, catalogue)
    if not compared:
        first = next(iter(results.values()))
        raise TrigemuError(f"{menu.path}: no trigger can be checked; {first.name!r}: {first.skipped}")

    own = [one.checked.stored for one in compared]
    numbers = {*filter(_NUMBER.fullmatch, frozenset.intersection(*(s.stored for s in catalogue.samples)))}
    bits = [] if numbers.isdisjoint(own) else sorted(numbers, key=int)
    columns = _in_samples(catalogue, {need for one in compared for need in one.needs})
    part = menu.part([one.checked.name for one in compared])
    plan, task = make_plan([part]), _Collect(tuple(dict.fromkeys((*own, *bits))), tuple(columns))
    words, stored, filled = task.merge(
        [*over_samples(catalogue.samples, Job((part,), plan, catalogue), task, engine)]
    )
    recorded = {name: partial(_column, stored, place) for place, name in enumerate(task.stored)}
    contents = dict[int, dict[bytes, list[str]]]()  # Bits with the same decisions, by the margin
    for one in compared:
        fired = Decisions(words, part, plan.bits[0])[one.checked.name]  # one at a time: there may be hundreds
        one.count(fired, recorded[one.checked.stored]())
        if bits and one.differing:
            if one.checked.margin not in contents:
                content = contents[one.checked.margin] = {}
                for bit in bits:
                    content.setdefault(np.packbits(recorded[bit]()[one.rows]).tobytes(), []).append(bit)
            one.same = contents[one.checked.margin].get(np.packbits(fired[one.rows]).tobytes(), ())
    empty = {need for place, need in enumerate(columns) if not filled[:, place].any()}
    other = _renumbered(compared)
    missing = _lacking(compared, empty, other)
    for one in compared:
        checked = replace(one.checked, equals=other.get(one.checked.name))
        if checked.name in missing:
            checked = Checked(checked.name, skipped=missing[checked.name], stored=checked.stored)
        elif checked.equals and match_bits:
            checked = replace(checked, agree=checked.compared, only_emulated=0, only_stored=0)
        else:
            checked = replace(checked, first=tuple(_read(catalogue, one)))
        results[checked.name] = checked
    ordered = tuple(results[trigger.name] for trigger in menu.enabled)
    return DecisionCheck(menu, catalogue, len(words), ordered, match_bits)


def stored_name(trigger: Trigger) -> str:
    """Return the name of the stored decisions of a trigger in samples."""
    return trigger.name if trigger.stored is None else trigger.stored


@dataclass
class _Compared:
    """A trigger that is compared, and the result so far."""

    checked: Checked
    needs: set[Need]  # The columns that it and the triggers in its expression read
    rows: BoolArray  # bool[n]: the events that are compared
    accepted: int = 0  # The number of these that the emulation accepts
    differing: Sequence[tuple[int, bool]] = ()  # The first events that differ, and their emulated decisions
    same: Sequence[str] = ()  # The other bits with its decisions, if it differs

    @property
    def changing(self) -> int:
        """The number of events with the rarer of its two emulated decisions."""
        return min(self.accepted, self.checked.compared - self.accepted)

    def count(self, emulated: BoolArray, stored: BoolArray) -> None:
        """Compare decisions, bool[n]."""
        differ = (emulated != stored) & self.rows
        self.accepted = int((emulated & self.rows).sum())
        self.differing = [(row, bool(emulated[row])) for row in np.flatnonzero(differ)[:SHOWN].tolist()]
        only_emulated, only_stored = int((differ & emulated).sum()), int((differ & stored).sum())
        agree = int(self.rows.sum()) - only_emulated - only_stored
        self.checked = replace(
            self.checked, agree=agree, only_emulated=only_emulated, only_stored=only_stored
        )


def _comparable(menu: Menu, catalogue: Catalogue) -> tuple[dict[str, Checked], list[_Compared]]:
    """Return the triggers that are skipped, with the reasons, and those that are compared."""
    plan, known = make_plan([menu]), dict[int, BoolArray]()
    reading = {need: {trigger.name for trigger in triggers} for need, triggers in plan.needs.items()}
    results, compared = dict[str, Checked](), list[_Compared]()
    for trigger in menu.enabled:
        parts = {part.name: part for part in menu.with_inputs([trigger.name])}
        slots = (plan.slots[plan.bits[0][name]] for name in parts if name in plan.bits[0])
        margin = max((slot.compiled.margin for slot in slots), default=0)
        if margin not in known:
            known[margin] = _with_neighbours(catalogue, margin)
        needs = {need for need, names in reading.items() if not names.isdisjoint(parts)}
        not_compared = int((~known[margin]).sum())
        checked = Checked(trigger.name, margin=margin, not_compared=not_compared, stored=stored_name(trigger))
        if reason := _why_not(checked, parts.values(), needs, catalogue, known[margin]):
            results[trigger.name] = Checked(trigger.name, skipped=reason)
        else:
            compared.append(_Compared(checked, needs, known[margin]))
    return results, compared


def _why_not(
    checked: Checked, parts: Iterable[Trigger], needs: set[Need], catalogue: Catalogue, rows: BoolArray
) -> str | None:
    """Return why a trigger cannot be compared, or None if it can. parts: with those in its expression."""
    if any(isinstance(part.description, Random) for part in parts):
        return "it is random"
    if open_ := next((part for part in parts if part.budget and not part.solution), None):
        return f"the threshold of {open_.name!r} is not known: run trigemu calibrate first"
    for sample in catalogue.samples:
        if checked.stored not in sample.stored:
            return f"sample {sample.name!r} has no stored decision {checked.stored!r}"
        reads = [NEIGHBOURS] * (checked.margin > 0) + sorted(needs)
        if lacking := next(filter(None, (lacks(sample, need) for need in reads)), None):
            return lacking
    if rows.any():
        return None
    return f"it uses crossings up to {checked.margin} before and after, which no crossing in the samples has"


def _with_neighbours(catalogue: Catalogue, margin: int) -> BoolArray:
    """Return which events have `margin` known crossings before and after them, bool[n]."""
    rows = []
    for source in (source for sample in catalogue.samples for source in sample.sources):
        place = np.arange(source.entries)
        inside = (place >= margin) & (place < source.entries - margin)
        rows.append(inside | (source.neighbours != "line"))
    return np.concatenate(rows)


def _in_samples(catalogue: Catalogue, needs: Iterable[Need]) -> list[Need]:
    """Return columns, without the numbers of objects that are no column of the samples."""
    scalars = frozenset.intersection(*(sample.schema.scalars for sample in catalogue.samples))
    return sorted(need for need in needs if need[0] or need[1] in scalars)


#: Decisions of n events, eight in a byte: uint8[n, bytes].
Packed = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class _Collect(Task[tuple[Words, Packed, BoolArray]]):
    """The task that collects the emulated and the stored decisions of a chunk, and whether each of c columns
    is not 0 in all of its events, bool[1, c]."""

    stored: tuple[str, ...]
    columns: tuple[Need, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[Words, Packed, BoolArray]:
        read = chunk.file.read_stored(chunk.start, chunk.stop, self.stored)
        stored = np.packbits(np.array([read[name] for name in self.stored], np.bool_), axis=0).T
        values = (
            (events.collections[collection].columns if collection else events.scalars).get(name, True)
            for collection, name in self.columns
        )
        return decide(events, plan)[events.core], stored, np.array([[*map(np.any, values)]], np.bool_)


def _column(packed: Packed, place: int) -> BoolArray:
    return np.asarray(packed[:, place // 8] >> (7 - place % 8) & 1 != 0)


def _renumbered(compared: Sequence[_Compared]) -> dict[str, str]:
    """Return the bits that triggers seem to have in a file that numbers its bits otherwise."""
    differing = [one for one in compared if one.differing and _NUMBER.fullmatch(one.checked.stored)]
    numbered = sorted((int(one.checked.stored), place) for place, one in enumerate(differing))
    shifts = [{int(bit) - int(one.checked.stored): bit for bit in one.same} for one in differing]
    votes = Counter(
        next(iter(of_one))
        for one, of_one in zip(differing, shifts, strict=True)
        if len(of_one) == 1 and one.changing >= CLEAR
    )
    established = [shift for shift, count in votes.most_common() if count >= SHIFTED]
    moved: dict[int, int] = {}
    for place, one in enumerate(differing):
        shift = next(filter(shifts[place].__contains__, established), None)
        if one.changing and shift is not None:
            moved[place] = shift
    around = [(number, moved[place]) for number, place in numbered if place in moved]
    for place, one in enumerate(
        differing
    ):  # that accept all events or none: between two that are moved alike
        above = bisect(around, (int(one.checked.stored), 0))
        beside = {shift for _, shift in around[max(above - 1, 0) : above + 1]}
        if not one.changing and 0 < above < len(around) and len(beside) == 1 and beside <= {*shifts[place]}:
            moved[place] = beside.pop()
    return {differing[place].checked.name: shifts[place][shift] for place, shift in moved.items()}


def _lacking(
    compared: Sequence[_Compared], empty: Collection[Need], elsewhere: Collection[str]
) -> dict[str, str]:
    """Return why differing triggers cannot be compared: their bits, or a word they read, are never set.
    empty: the columns that are 0 in all events."""
    reasons, never_set = dict[str, str](), list[str]()
    for one in compared:
        checked, word = one.checked, next((word for word in sorted(one.needs) if word in empty), None)
        if word and checked.only_stored and not one.accepted:
            reasons[checked.name] = (
                f"its {'.'.join(filter(None, word))} is 0 in every event, but its stored decision is not: "
                f"the samples seem to lack it"
            )
        is_never_set = checked.only_emulated == one.accepted > 0 and not checked.only_stored
        if is_never_set and checked.name not in elsewhere:
            never_set.append(checked.name)
    accepting = sum(one.accepted > 0 for one in compared)
    if max(EMPTY, EMPTY_SHARE * accepting) <= len(never_set) < accepting:
        reason = (
            f"its stored decision is never positive, like those of {len(never_set)} of the {accepting} "
            f"triggers that accept events: the samples seem to lack them, as a vector made for one "
            f"module does"
        )
        reasons |= dict.fromkeys(never_set, reason)
    return reasons


def _read(catalogue: Catalogue, one: _Compared) -> Iterator[Disagreement]:
    """Read the first events that differ: the columns that the trigger needs, and η and φ of its objects."""
    files = [(sample, source) for sample in catalogue.samples for source in sample.sources]
    starts = np.cumsum([0, *(source.entries for _, source in files)]).tolist()
    for row, emulated in one.differing:
        place = bisect(starts, row) - 1
        (sample, source), entry = files[place], row - starts[place]
        in_file = sample.schema.collections
        needs = one.needs | {
            (name, c) for name, _ in one.needs if name for c in in_file[name] & {"eta", "phi"}
        }
        events = sample.read_file(source, entry, entry + 1, needs, one.checked.margin)
        collections = {}
        for name, collection in sorted(events.collections.items()):
            columns = {c: column for c, column in collection.columns.items() if (name, c) in needs}
            collections[name] = replace(collection, columns=columns)
        events = replace(events, collections=collections)
        yield Disagreement(sample.name, source.path, entry, emulated, events)
