"""Validation of emulated decisions, before prescales, against those recorded in a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from trigemu.counting import raw_decisions
from trigemu.decisions import Plan, decide, lacks, lacks_neighbours, make_plan
from trigemu.emulation import Chunk, Job, Progress, over_samples
from trigemu.menus import Menu, MenuLike, Trigger, menu_of
from trigemu.samples import Catalogue, Events, Need, SamplesLike, samples_of
from trigemu.support import IntArray, Named, Shown, TrigemuError
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
    events: Events = field(repr=False)


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


@dataclass(frozen=True, repr=False)
class DecisionCheck(Shown, Named[Checked]):
    """The validation of a menu; result["L1_SingleMu22"] is that of a trigger.

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

    def _named(self) -> tuple[str, Mapping[str, Checked]]:
        return "trigger", {trigger.name: trigger for trigger in self.triggers}

    @property
    def differ(self) -> int:
        """The number of differing decisions of all triggers."""
        return sum(trigger.differ for trigger in self.triggers)


def check_decisions(
    menu: MenuLike,
    catalogue: SamplesLike,
    *,
    inject: int = 0,
    executor: Any = None,
    progress: Progress | None = None,
) -> DecisionCheck:
    """Compare the emulated decisions of a menu with the stored ones, on all samples of a catalogue.

    Parameters
    ----------
    menu : path or Menu
        The menu; its enabled triggers are checked, before prescales.
    catalogue : path, Catalogue, Events, ak.Array, or list of paths
        Samples with stored decisions, as in `emulate`; of events in memory, any integer or boolean column is
        one.
    inject : int
        The number of stored decisions to flip, as a test that the check finds them.
    executor, progress
        As in `emulate`.

    Returns
    -------
    DecisionCheck

    Raises
    ------
    TrigemuError
        If no trigger can be checked, or there are fewer decisions than are to be flipped.
    """
    menu, catalogue = menu_of(menu), samples_of(catalogue, executor=executor)
    reasons = {trigger.name: _reason(menu, trigger, catalogue) for trigger in menu.enabled}
    checked = [trigger for trigger in menu.enabled if reasons[trigger.name] is None]
    if not checked:
        name, reason = next(iter(reasons.items()))
        raise TrigemuError(f"{menu.path}: no trigger can be checked; {name!r}: {reason}")
    part = menu.part(trigger.name for trigger in checked)
    plan = make_plan([part])
    for sample in catalogue.samples:
        plan.check(sample)
    crossings = sum(sample.entries for sample in catalogue.samples)
    task = _Count(part, tuple(checked), _slots(inject, crossings, len(checked)), _first_crossings(catalogue))
    job = Job((part,), plan, catalogue)
    tally = task.merge([*over_samples(catalogue.samples, job, task, executor, progress)])
    results = {t.name: _checked(part, t, tally.of(n), catalogue) for n, t in enumerate(checked)}
    triggers = (results.get(name) or Checked(name, skipped=reason) for name, reason in reasons.items())
    return DecisionCheck(menu, catalogue, crossings, tuple(triggers), inject, tally.found)


def stored_name(trigger: Trigger) -> str:
    """Return the name of the recorded decisions of a trigger in samples."""
    return trigger.name if trigger.stored is None else trigger.stored


def _reason(menu: Menu, trigger: Trigger, catalogue: Catalogue) -> str | None:
    """Return why a trigger cannot be checked, or None if it can."""
    of = menu.with_inputs([trigger.name])
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


def _compiled(menu: Menu, trigger: Trigger) -> tuple[set[Need], list[Compiled]]:
    """Return the columns that a trigger and those whose decisions it reads need, and the compiled
    triggers."""
    context = Context(menu.scope, menu.path.parent)
    descriptions = (part.description for part in menu.with_inputs([trigger.name]))
    compiled = [part.compile(context) for part in descriptions if isinstance(part, Kind)]
    return context.needs, compiled


def _first_crossings(catalogue: Catalogue) -> dict[tuple[int, int], int]:
    """Return the number of events before each file, by the numbers of its sample and of the file."""
    files = [(s.number, n, f.entries) for s in catalogue.samples for n, f in enumerate(s.sources)]
    before = accumulate((entries for *_, entries in files), initial=0)
    return {(sample, number): at for (sample, number, _), at in zip(files, before, strict=False)}


def _slots(inject: int, crossings: int, triggers: int) -> IntArray:
    """Return the positions of the decisions to flip, counted event by event."""
    if inject > crossings * triggers:
        raise TrigemuError(f"{inject} decisions to flip: only {crossings * triggers} decisions are checked")
    chosen = np.random.default_rng(_SEED).choice(crossings * triggers, inject, replace=False)
    return np.sort(chosen)


@dataclass(frozen=True)
class _Tally:
    """Numbers of differing decisions of t triggers.

    only_emulated, only_stored: int64[t]. first: int64[k, 5], the first events that differ: the number of the
    trigger, those of sample and file, the entry, and whether the emulated decision is positive. found: how
    many of the flipped decisions were noticed.
    """

    only_emulated: IntArray
    only_stored: IntArray
    first: IntArray
    found: int
    events: int

    def of(self, trigger: int) -> _Tally:
        """Return the numbers of one trigger."""
        rows = self.first[self.first[:, 0] == trigger]
        one = slice(trigger, trigger + 1)
        return _Tally(self.only_emulated[one], self.only_stored[one], rows, self.found, self.events)


@dataclass(frozen=True)
class _Count:
    """The task that compares the decisions of a chunk. slots: int64[k], the positions of the decisions to
    flip. first: the number of events before each file."""

    menu: Menu
    triggers: tuple[Trigger, ...]
    slots: IntArray
    first: Mapping[tuple[int, int], int]
    classes: ClassVar[tuple[type, ...]] = (_Tally,)

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> _Tally:
        raw = raw_decisions(decide(events, plan)[events.core], self.menu, plan.bits[0])
        names = [stored_name(trigger) for trigger in self.triggers]
        read = chunk.file.read_stored(chunk.start, chunk.stop, names)
        emulated = np.column_stack([raw[trigger.name] for trigger in self.triggers])
        stored = np.column_stack([read[name] for name in names])
        start = (self.first[chunk.sample, chunk.source] + chunk.start) * len(names)
        begin, end = np.searchsorted(self.slots, [start, start + chunk.size * len(names)])
        rows, columns = np.divmod(self.slots[begin:end] - start, len(names))
        before = emulated[rows, columns] != stored[rows, columns]
        stored[rows, columns] ^= True
        differ = emulated != stored
        first = [
            [number, chunk.sample, chunk.source, chunk.start + row, emulated[row, number]]
            for number in np.flatnonzero(differ.any(axis=0))
            for row in np.flatnonzero(differ[:, number])[:SHOWN]
        ]
        return _Tally(
            (differ & emulated).sum(axis=0),
            (differ & stored).sum(axis=0),
            np.array(first, np.int64).reshape(-1, 5),
            int((differ[rows, columns] != before).sum()),
            len(stored),
        )

    def merge(self, parts: Sequence[_Tally]) -> _Tally:
        first = np.concatenate([part.first for part in parts])
        kept = [np.flatnonzero(first[:, 0] == number)[:SHOWN] for number in range(len(self.triggers))]
        return _Tally(
            np.sum([part.only_emulated for part in parts], axis=0),
            np.sum([part.only_stored for part in parts], axis=0),
            first[np.sort(np.concatenate(kept))],
            sum(part.found for part in parts),
            sum(part.events for part in parts),
        )


def _checked(menu: Menu, trigger: Trigger, tally: _Tally, catalogue: Catalogue) -> Checked:
    only_emulated, only_stored = int(tally.only_emulated[0]), int(tally.only_stored[0])
    needs, compiled = _compiled(menu, trigger)
    margin = max((part.margin for part in compiled), default=0)
    first = (_difference(catalogue, needs, margin, *row) for row in tally.first[:, 1:].tolist())
    agree = tally.events - only_emulated - only_stored
    return Checked(trigger.name, agree, only_emulated, only_stored, tuple(first))


def _difference(
    catalogue: Catalogue, needs: set[Need], margin: int, sample: int, source: int, entry: int, emulated: int
) -> Disagreement:
    """Read a differing event, with the columns that the trigger needs and η and φ of its objects."""
    of = catalogue.samples[sample]
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
    return Disagreement(of.name, path, entry, bool(emulated), replace(events, collections=collections))
