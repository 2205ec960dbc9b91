"""Validation of emulated decisions, before prescales, against those recorded in a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trigemu.counting import raw_decisions
from trigemu.decisions import Plan, decide, lacks, lacks_neighbours, make_plan
from trigemu.emulation import CHUNK_EVENTS, Chunk, Job, over_samples
from trigemu.menus import Menu, Trigger
from trigemu.samples import Catalogue, Events, Need
from trigemu.support import BoolArray, IntArray, TrigemuError, Words
from trigemu.triggers import Compiled, Context, Kind, Random

#: The number of differing events that are kept for each trigger.
SHOWN = 3
#: The seed of `inject`, so that every run flips the same decisions.
_SEED = 20161026


@dataclass(frozen=True)
class Disagreement:
    """An event on which the emulated and the stored decision of a trigger differ.

    Attributes
    ----------
    sample : str
        The name of the sample.
    path : str
        The file.
    entry : int
        The position of the event in the file.
    emulated : bool
        The emulated decision.
    events : Events
        The event with the columns that the trigger needs, and the neighbouring crossings that it looks at.
    """

    sample: str
    path: str
    entry: int
    emulated: bool
    events: Events


@dataclass(frozen=True)
class Checked:
    """The validation of one trigger.

    Attributes
    ----------
    name : str
        The name of the trigger.
    agree : int
        The number of events on which the emulated and the stored decision agree.
    only_emulated : int
        The number of events on which only the emulated decision is positive.
    only_stored : int
        The number of events on which only the stored decision is positive.
    first : tuple of Disagreement
        The first events that differ.
    skipped : str or None
        Why the trigger was not checked; None if it was.
    """

    name: str
    agree: int = 0
    only_emulated: int = 0
    only_stored: int = 0
    first: tuple[Disagreement, ...] = ()
    skipped: str | None = None

    @property
    def differ(self) -> int:
        """The number of events on which the two decisions differ."""
        return self.only_emulated + self.only_stored


@dataclass(frozen=True)
class DecisionCheck:
    """The validation of a menu.

    Attributes
    ----------
    menu : Menu
        The menu.
    catalogue : Catalogue
        The samples.
    crossings : int
        The number of events.
    triggers : tuple of Checked
        The enabled triggers of the menu, in its order.
    injected : int
        The number of stored decisions that were flipped on purpose.
    found : int
        The number of these whose flip changed the outcome of the comparison, as it should.
    """

    menu: Menu
    catalogue: Catalogue
    crossings: int
    triggers: tuple[Checked, ...]
    injected: int = 0
    found: int = 0

    @property
    def differ(self) -> int:
        """The number of differing decisions of all triggers."""
        return sum(trigger.differ for trigger in self.triggers)


def check_decisions(
    menu: Menu,
    catalogue: Catalogue,
    *,
    inject: int = 0,
    chunk_events: int = CHUNK_EVENTS,
    progress: Callable[[int], None] | None = None,
) -> DecisionCheck:
    """Compare the emulated decisions of a menu with the stored ones, on all samples of a catalogue.

    Parameters
    ----------
    menu : Menu
        The menu; its enabled triggers are checked, before prescales.
    catalogue : Catalogue
        Samples with stored decisions.
    inject : int
        The number of stored decisions to flip, as a test that the check finds them.
    chunk_events : int
        The largest number of events that are processed at a time.
    progress : callable, optional
        Called after each chunk with the number of its events.

    Returns
    -------
    DecisionCheck

    Raises
    ------
    TrigemuError
        If no trigger can be checked, or there are fewer decisions than are to be flipped.
    """
    reasons = {trigger.name: _reason(menu, trigger, catalogue) for trigger in menu.enabled}
    checked = [trigger for trigger in menu.enabled if reasons[trigger.name] is None]
    if not checked:
        name, reason = next(iter(reasons.items()))
        raise TrigemuError(f"{menu.path}: no trigger can be checked; {name!r}: {reason}")
    part = _with_inputs(menu, checked)
    plan = make_plan([part])
    for sample in catalogue.samples:
        plan.check(sample)
    crossings = sum(sample.entries for sample in catalogue.samples)
    tally = _Tally(catalogue, checked, _slots(inject, crossings, len(checked)))
    job = Job((part,), plan, catalogue)
    for chunk, words in over_samples(catalogue.samples, job, _decided, chunk_events=chunk_events):
        tally.add(chunk, raw_decisions(words, part, plan.bits[0]))
        if progress:
            progress(chunk.stop - chunk.start)
    results = {trigger.name: tally.result(number, part) for number, trigger in enumerate(checked)}
    triggers = (results.get(name) or Checked(name, skipped=reason) for name, reason in reasons.items())
    return DecisionCheck(menu, catalogue, crossings, tuple(triggers), inject, tally.found)


def stored_name(trigger: Trigger) -> str:
    """Return the name of the recorded decisions of a trigger in samples."""
    return trigger.name if trigger.stored is None else trigger.stored


def _reason(menu: Menu, trigger: Trigger, catalogue: Catalogue) -> str | None:
    """Return why a trigger cannot be checked, or None if it can."""
    of = [menu.trigger(name) for name in _closure(menu, [trigger])]
    if any(isinstance(part.description, Random) for part in of):
        return "it is random"
    if open_ := next((part for part in of if part.budget and not part.solution), None):
        return f"the threshold of {open_.name!r} is not known: run trigemu calibrate first"
    for sample in catalogue.samples:
        if any(stored_name(trigger) not in source.stored for source in sample.sources):
            return f"sample {sample.name!r} has no stored decision {stored_name(trigger)!r}"
        needs, compiled = _compiled(menu, trigger)
        reasons = [lacks_neighbours(sample, part) for part in compiled]
        reasons += [lacks(sample, need) for need in sorted(needs)]
        if lacking := next(filter(None, reasons), None):
            return lacking
    return None


def _closure(menu: Menu, triggers: Iterable[Trigger]) -> set[str]:
    """Return the names of some triggers and of all triggers whose decisions they read."""
    names: set[str] = set()
    waiting = [trigger.name for trigger in triggers]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += menu.trigger(name).inputs()
    return names


def _with_inputs(menu: Menu, triggers: Sequence[Trigger]) -> Menu:
    """Return the menu with only these triggers and those whose decisions they read."""
    names = _closure(menu, triggers)
    kept = tuple(trigger for trigger in menu.triggers if trigger.name in names)
    return replace(menu, triggers=kept, order=tuple(name for name in menu.order if name in names))


def _compiled(menu: Menu, trigger: Trigger) -> tuple[set[Need], list[Compiled]]:
    """Return the columns that a trigger and those whose decisions it reads need, and the compiled
    triggers."""
    context = Context(menu.scope, menu.path.parent)
    descriptions = (menu.trigger(name).description for name in _closure(menu, [trigger]))
    compiled = [part.compile(context) for part in descriptions if isinstance(part, Kind)]
    return context.needs, compiled


def _decided(plan: Plan, sample: int, events: Events) -> Words:
    return decide(events, plan)[events.core]


def _slots(inject: int, crossings: int, triggers: int) -> IntArray:
    """Return the positions of the decisions to flip, counted event by event."""
    if inject > crossings * triggers:
        raise TrigemuError(f"{inject} decisions to flip: only {crossings * triggers} decisions are checked")
    chosen = np.random.default_rng(_SEED).choice(crossings * triggers, inject, replace=False)
    return np.sort(chosen)


class _Tally:
    """Running counts of agreeing and differing decisions."""

    def __init__(self, catalogue: Catalogue, triggers: Sequence[Trigger], slots: IntArray) -> None:
        self.catalogue, self.triggers, self.slots = catalogue, triggers, slots
        self.only_emulated = np.zeros(len(triggers), np.int64)
        self.only_stored = np.zeros(len(triggers), np.int64)
        self.first: list[list[tuple[int, int, int, bool]]] = [[] for _ in triggers]
        self.events = self.found = 0

    def add(self, chunk: Chunk, raw: Mapping[str, BoolArray]) -> None:
        """Compare the decisions of a chunk."""
        source = self.catalogue.samples[chunk.sample].sources[chunk.source]
        names = [stored_name(trigger) for trigger in self.triggers]
        read = source.read_stored(chunk.start, chunk.stop, names)
        emulated = np.column_stack([raw[trigger.name] for trigger in self.triggers])
        stored = np.column_stack([read[name] for name in names])
        begin, end = (
            np.searchsorted(self.slots, at * len(names)) for at in (self.events, self.events + len(stored))
        )
        rows, columns = np.divmod(self.slots[begin:end] - self.events * len(names), len(names))
        before = emulated[rows, columns] != stored[rows, columns]
        stored[rows, columns] ^= True
        differ = emulated != stored
        self.found += int((differ[rows, columns] != before).sum())
        self.only_emulated += (differ & emulated).sum(axis=0)
        self.only_stored += (differ & stored).sum(axis=0)
        for number in np.flatnonzero(differ.any(axis=0)):
            wanted = SHOWN - len(self.first[number])
            for row in np.flatnonzero(differ[:, number])[:wanted]:
                place = chunk.sample, chunk.source, chunk.start + int(row)
                self.first[number].append((*place, bool(emulated[row, number])))
        self.events += len(stored)

    def result(self, number: int, menu: Menu) -> Checked:
        trigger = self.triggers[number]
        only_emulated, only_stored = int(self.only_emulated[number]), int(self.only_stored[number])
        needs, compiled = _compiled(menu, trigger)
        margin = max((part.margin for part in compiled), default=0)
        first = (self._difference(needs, margin, *place) for place in self.first[number])
        agree = self.events - only_emulated - only_stored
        return Checked(trigger.name, agree, only_emulated, only_stored, tuple(first))

    def _difference(
        self, needs: set[Need], margin: int, sample: int, source: int, entry: int, emulated: bool
    ) -> Disagreement:
        """Read a differing event, with the columns that the trigger needs and η and φ of its objects."""
        of = self.catalogue.samples[sample]
        offered = of.schema.collections
        needs = needs | {(name, c) for name, _ in needs if name for c in offered[name] & {"eta", "phi"}}
        events = of.read(source, entry, entry + 1, needs, margin)
        collections = {
            name: replace(
                collection,
                columns={c: column for c, column in collection.columns.items() if (name, c) in needs},
            )
            for name, collection in events.collections.items()
        }
        path = of.sources[source].path
        return Disagreement(of.name, path, entry, emulated, replace(events, collections=collections))
