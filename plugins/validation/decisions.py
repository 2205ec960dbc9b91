"""Validation of emulated decisions, before prescales, against the decisions recorded in a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from trigemu.api import (
    Catalogue,
    Compiled,
    Context,
    Events,
    Job,
    Kind,
    Menu,
    MenuLike,
    Named,
    Need,
    Progress,
    Random,
    SamplesLike,
    Shown,
    TrigemuError,
    Trigger,
    lacks,
    lacks_neighbours,
    make_plan,
    menu_of,
    not_consecutive,
    over_samples,
    samples_of,
)

from .decisions_task import Count, Range, Tally, positions_at_ends, positions_to_flip, ranges_of, stored_name


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
        The event with the columns that the trigger needs, and the neighbouring crossings that it uses.
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
    margin : int
        The number of crossings before and after an event that the trigger uses.
    not_compared : int
        The number of events that are not compared, because some of these crossings are beyond the ends of
        the file.
    """

    name: str
    agree: int = 0
    only_emulated: int = 0
    only_stored: int = 0
    first: tuple[Disagreement, ...] = ()
    skipped: str | None = None
    margin: int = 0
    not_compared: int = 0

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
    """The validation of a menu; result["L1_SingleMu22"] is the validation of a trigger.

    Attributes
    ----------
    menu : Menu
        The menu.
    catalogue : Catalogue
        The samples.
    crossings : int
        The number of events that were processed.
    triggers : tuple of Checked
        The enabled triggers of the menu, in its order.
    injected : int
        The number of stored decisions that were flipped on purpose.
    found : int
        The number of flipped decisions that changed the outcome of the comparison, as they should.
    """

    _view: ClassVar[str] = "trigemu_validation.decisions_view"

    menu: Menu
    catalogue: Catalogue
    crossings: int
    triggers: tuple[Checked, ...]
    injected: int = 0
    found: int = 0

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


def check_decisions(
    menu: MenuLike,
    catalogue: SamplesLike,
    *,
    inject: int = 0,
    consecutive: bool = True,
    executor: Any = None,
    progress: Progress | None = None,
) -> DecisionCheck:
    """Compare the emulated decisions of a menu with the stored ones, on all samples of a catalogue.

    Parameters
    ----------
    menu : path or Menu
        The menu; its enabled triggers are checked, before prescales.
    catalogue : path, Catalogue, Events, ak.Array, or list of paths
        Samples with stored decisions, as in `emulate`; for events in memory, any integer or boolean column
        can be a stored decision.
    inject : int
        The number of stored decisions to flip, to test that the check detects them.
    consecutive : bool
        Whether events with consecutive crossing numbers are consecutive crossings. If not, triggers that use
        neighbouring crossings cannot be checked.
    executor, progress
        As in `emulate`.

    Returns
    -------
    DecisionCheck

    Raises
    ------
    TrigemuError
        If no trigger can be checked, or `inject` exceeds the number of decisions.
    """
    menu, catalogue = menu_of(menu), samples_of(catalogue, executor=executor)
    if not consecutive:
        catalogue = not_consecutive(catalogue)
    ranges = ranges_of(catalogue)
    reasons = {trigger.name: _reason(menu, trigger, catalogue, ranges) for trigger in menu.enabled}
    checked = [trigger for trigger in menu.enabled if reasons[trigger.name] is None]
    if not checked:
        name, reason = next(iter(reasons.items()))
        raise TrigemuError(f"{menu.path}: no trigger can be checked; {name!r}: {reason}")
    part = menu.part(trigger.name for trigger in checked)
    plan = make_plan([part])
    for sample in catalogue.samples:
        plan.check(sample)
    crossings = sum(range_.stop - range_.start for range_ in ranges)
    at_ends = positions_at_ends(ranges, [_margin(_compiled(menu, trigger)[1]) for trigger in checked])
    flipped = positions_to_flip(inject, crossings * len(checked), at_ends)
    before = {(range_.sample, range_.source): range_.before - range_.start for range_ in ranges}
    task = Count(part, tuple(checked), flipped, at_ends, before)
    job = Job((part,), plan, catalogue)
    tally = task.merge([*over_samples(catalogue.samples, job, task, executor, progress)])
    not_compared = np.bincount(at_ends % len(checked), minlength=len(checked)).tolist()
    results = {
        t.name: _checked(part, t, tally.of(n), not_compared[n], catalogue) for n, t in enumerate(checked)
    }
    triggers = (results.get(name) or Checked(name, skipped=reason) for name, reason in reasons.items())
    return DecisionCheck(menu, catalogue, crossings, tuple(triggers), inject, tally.found)


def _reason(menu: Menu, trigger: Trigger, catalogue: Catalogue, ranges: Sequence[Range]) -> str | None:
    """Return why a trigger cannot be checked, or None if it can."""
    of = menu.with_inputs([trigger.name])
    if any(isinstance(part.description, Random) for part in of):
        return "it is random"
    if open_ := next((part for part in of if part.budget and not part.solution), None):
        return f"the threshold of {open_.name!r} is not known: run trigemu calibrate first"
    needs, compiled = _compiled(menu, trigger)
    for sample in catalogue.samples:
        if stored_name(trigger) not in sample.stored:
            return f"sample {sample.name!r} has no stored decision {stored_name(trigger)!r}"
        reasons = [lacks_neighbours(sample, part) for part in compiled]
        reasons += [lacks(sample, need) for need in sorted(needs)]
        if lacking := next(filter(None, reasons), None):
            return lacking
    margin = _margin(compiled)
    if not any(start < stop for start, stop in (range_.comparable(margin) for range_ in ranges)):
        return f"it uses crossings up to {margin} before and after, which no crossing in the samples has"
    return None


def _margin(compiled: Sequence[Compiled]) -> int:
    return max((part.margin for part in compiled), default=0)


def _compiled(menu: Menu, trigger: Trigger) -> tuple[set[Need], list[Compiled]]:
    """Return the columns that a trigger and the triggers in its expression need, and the compiled
    triggers."""
    context = Context(menu.scope, menu.path.parent)
    descriptions = (part.description for part in menu.with_inputs([trigger.name]))
    compiled = [part.compile(context) for part in descriptions if isinstance(part, Kind)]
    return context.needs, compiled


def _checked(menu: Menu, trigger: Trigger, tally: Tally, not_compared: int, catalogue: Catalogue) -> Checked:
    only_emulated, only_stored = int(tally.only_emulated[0]), int(tally.only_stored[0])
    needs, compiled = _compiled(menu, trigger)
    margin = _margin(compiled)
    first = (_difference(catalogue, needs, margin, *row) for row in tally.first[:, 1:].tolist())
    agree = tally.events - not_compared - only_emulated - only_stored
    return Checked(
        trigger.name,
        agree,
        only_emulated,
        only_stored,
        tuple(first),
        margin=margin,
        not_compared=not_compared,
    )


def _difference(
    catalogue: Catalogue, needs: set[Need], margin: int, sample: int, source: int, entry: int, emulated: int
) -> Disagreement:
    """Read a differing event, with the columns that the trigger needs and η and φ of its objects."""
    of = catalogue.samples[sample]
    columns_of = of.schema.collections
    needs = needs | {(name, c) for name, _ in needs if name for c in columns_of[name] & {"eta", "phi"}}
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
