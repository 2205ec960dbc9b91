"""Validation of emulated decisions, before prescales, against the decisions recorded in a sample, where both
can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Named, Shown
from trigemu.emulation.engine import Job, over_samples
from trigemu.emulation.plan import NEIGHBOURS, lacks, make_plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.catalogue import Catalogue, not_consecutive
from trigemu.samples.events import Need
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.triggers.base import Compiled, Context, Kind
from trigemu.triggers.logic import Random

from .decisions_task import (
    Count,
    Disagreement,
    Range,
    Tally,
    bits_in,
    lacking,
    positions_at_ends,
    positions_to_flip,
    ranges_of,
    read_difference,
    renumbered,
    stored_name,
)


def why_not(menu: Menu, trigger: Trigger, catalogue: Catalogue, ranges: Sequence[Range]) -> str | None:
    """Return why a trigger cannot be checked, or None if it can."""
    needed = menu.with_inputs([trigger.name])
    if any(isinstance(part.description, Random) for part in needed):
        return "it is random"
    if open_ := next((part for part in needed if part.budget and not part.solution), None):
        return f"the threshold of {open_.name!r} is not known: run trigemu calibrate first"
    needs, compiled = compiled_of(menu, trigger)
    for sample in catalogue.samples:
        if stored_name(trigger) not in sample.stored:
            return f"sample {sample.name!r} has no stored decision {stored_name(trigger)!r}"
        reads = [NEIGHBOURS] * (margin_of(compiled) > 0) + sorted(needs)
        if lacking := next(filter(None, (lacks(sample, need) for need in reads)), None):
            return lacking
    margin = margin_of(compiled)
    if not any(start < stop for start, stop in (range_.comparable(margin) for range_ in ranges)):
        return f"it uses crossings up to {margin} before and after, which no crossing in the samples has"
    return None


def margin_of(compiled: Sequence[Compiled]) -> int:
    return max((part.margin for part in compiled), default=0)


def compiled_of(menu: Menu, trigger: Trigger) -> tuple[set[Need], list[Compiled]]:
    """Return what a trigger and those in its expression need, and the compiled triggers."""
    context = Context(menu.scope, menu.path.parent)
    descriptions = (part.description for part in menu.with_inputs([trigger.name]))
    compiled = [part.compile(context) for part in descriptions if isinstance(part, Kind)]
    return context.needs, compiled


def words_of(catalogue: Catalogue, *needs: set[Need]) -> tuple[Need, ...]:
    """Return the needed columns without numbers of objects that are no column of the samples."""
    scalars = frozenset.intersection(*(sample.schema.scalars for sample in catalogue.samples))
    return tuple(sorted(need for need in set().union(*needs) if need[0] or need[1] in scalars))


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
    injected: int = 0  #: The number of stored decisions that were flipped on purpose
    #: The number of flipped decisions that changed the outcome of the comparison, as they should.
    found: int = 0
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
    inject: int = 0,
    consecutive: bool = True,
    match_bits: bool = False,
    executor: Any = None,
) -> DecisionCheck:
    """Compare the emulated decisions of a menu with the stored ones, on all samples of a catalogue.

    The enabled triggers are checked, before prescales; for events in memory, any integer or boolean column
    can be a stored decision. inject: the number of stored decisions to flip, to test that the check detects
    them. consecutive: whether events with consecutive crossing numbers are consecutive crossings; if not,
    triggers that use neighbouring crossings cannot be checked. match_bits: whether triggers whose decisions
    are those of another stored bit are compared with that one (`Checked.equals`). executor: as in
    `emulate`. TrigemuError if no trigger can be checked, `inject` exceeds the number of decisions, or there
    are both `inject` and `match_bits`.
    """
    if inject and match_bits:
        raise TrigemuError("decisions that are flipped are compared with their own bits, without match_bits")
    engine = engine_of(executor)
    menu, catalogue = menu_of(menu), samples_of(catalogue, executor=engine)
    all_events = tuple(replace(sample, weighting=None, counted=None) for sample in catalogue.samples)
    catalogue = replace(catalogue, samples=all_events)
    if not consecutive:
        catalogue = not_consecutive(catalogue)
    ranges = ranges_of(catalogue)
    reasons = {trigger.name: why_not(menu, trigger, catalogue, ranges) for trigger in menu.enabled}
    checked = [trigger for trigger in menu.enabled if reasons[trigger.name] is None]
    if not checked:
        name, reason = next(iter(reasons.items()))
        raise TrigemuError(f"{menu.path}: no trigger can be checked; {name!r}: {reason}")
    part = menu.part(trigger.name for trigger in checked)
    plan = make_plan([part])
    for sample in catalogue.samples:
        plan.check(sample)
    crossings = sum(range_.entries for range_ in ranges)
    reads = [compiled_of(menu, trigger) for trigger in checked]
    at_ends = positions_at_ends(ranges, [margin_of(compiled) for _, compiled in reads])
    flipped = positions_to_flip(inject, crossings * len(checked), at_ends)
    before = {(range_.sample, range_.source): range_.before for range_ in ranges}
    bits = () if inject else bits_in(sample.stored for sample in catalogue.samples)
    bits = bits if {*bits} & {*map(stored_name, checked)} else ()
    columns = words_of(catalogue, *(needs for needs, _ in reads))
    task = Count(part, tuple(checked), flipped, at_ends, before, bits, columns)
    job = Job((part,), plan, catalogue)
    tally = task.merge([*over_samples(catalogue.samples, job, task, engine)])
    results = dict(_results(task, tally, reads, catalogue, match_bits))
    triggers = (results.get(name) or Checked(name, skipped=reason) for name, reason in reasons.items())
    return DecisionCheck(menu, catalogue, crossings, tuple(triggers), inject, tally.found, match_bits)


def _results(
    task: Count,
    tally: Tally,
    reads: Sequence[tuple[set[Need], list[Compiled]]],
    catalogue: Catalogue,
    match_bits: bool,
) -> Iterator[tuple[str, Checked]]:
    """Yield each trigger of a task by its name. reads: as `compiled_of` returns."""
    names = [stored_name(trigger) for trigger in task.triggers]
    not_compared = np.bincount(task.left_out % len(names), minlength=len(names))
    other: dict[int, str] = {}
    missing: dict[int, str] = {}
    if not len(task.flipped):  # decisions that are flipped would hide what the samples lack
        other = renumbered(names, task.bits, tally.equal, tally.accepted, tally.events - not_compared)
        columns = [words_of(catalogue, needs) for needs, _ in reads]
        filled = dict(zip(task.columns, tally.filled.tolist(), strict=True))
        missing = lacking(tally.only_emulated, tally.only_stored, tally.accepted, columns, filled, other)
    for n, trigger in enumerate(task.triggers):
        needs, compiled = reads[n]
        if reason := missing.get(n):
            yield trigger.name, Checked(trigger.name, skipped=reason, stored=names[n])
            continue
        agreeing = Checked(
            trigger.name,
            agree=tally.events - int(not_compared[n]),
            margin=margin_of(compiled),
            not_compared=int(not_compared[n]),
            stored=names[n],
            equals=other.get(n),
        )
        if match_bits and n in other:
            yield trigger.name, agreeing
            continue
        only_emulated, only_stored = int(tally.only_emulated[n]), int(tally.only_stored[n])
        rows = tally.first[tally.first[:, 0] == n, 1:].tolist()
        first = tuple(read_difference(catalogue, needs, agreeing.margin, *row) for row in rows)
        agree = agreeing.agree - only_emulated - only_stored
        checked = replace(agreeing, agree=agree, only_emulated=only_emulated, only_stored=only_stored)
        yield trigger.name, replace(checked, first=first)
