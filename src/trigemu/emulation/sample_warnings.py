"""Warnings about triggers that fire in no event, with the limit that no event passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
import numpy as np

from trigemu.base import toml_text
from trigemu.base.arrays import FloatArray, Words
from trigemu.base.errors import excerpt
from trigemu.emulation.engine import Chunk, Job, Task, over_samples
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan, decide, lacking_objects
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.expressions import (
    Condition,
    Constant,
    Element,
    Junction,
    Number,
    Relation,
    unit_of,
)
from trigemu.observables.selections import AnyOf, Column, ObjectSelection, Window, any_of, selections_in
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Compiled
from trigemu.triggers.combination import CompiledCombination, CompiledLegThreshold

#: The number of events that largest values are from, the same of each sample: a pass takes seconds.
MOST = 10_000_000
#: The largest number of idle triggers that are explained, and of warnings of one sort.
_EXPLAINED, NAMED = 200, 8
_MEV_PER_GEV = 1000.0
#: The lowest limit in GeV that is judged: no trigger cuts below.
LEAST_GEV = 1.0
#: What a limit compares: the score of a slot, a column of objects, or numbers in a preselection.
Compared = int | Relation | tuple[ObjectSelection, Column, Window | AnyOf]


class Limit(NamedTuple):
    """A limit that a trigger sets."""

    compared: Compared
    text: str  # What passes it: "event with jet[0].pt above 30"
    name: str  # The name of the values that it compares
    unit: str  # Their unit; empty if they have none, or an unknown one
    least: float | None  # The lower limit, if there is one
    none: str = "there is none at all"  # What is said if there is no value


class ValueRange(NamedTuple):
    """The values that a limit compares: whether any passes, the smallest and the largest."""

    passes: bool
    low: float
    high: float


Limits = Sequence[tuple[Trigger, tuple[Limit, ...]]]
Ranges = Mapping[Compared, ValueRange]


def limits_of(menu: Menu, plan: Plan, bits: Mapping[str, int], fired: Words | None = None) -> Limits:
    """Return the limits of the triggers that read events, or of the first ones that fire in none; those with
    a budget have no threshold of their own."""
    slots = [(t, bits[t.name]) for t in menu.used if t.name in bits and not t.budget]
    if fired is not None:
        mask = np.unpackbits(fired.view(np.uint8), bitorder="little")
        slots = [(trigger, slot) for trigger, slot in slots if not mask[slot]][:_EXPLAINED]
    return [(t, tuple(_limits(menu, t, slot, plan.slots[slot].compiled))) for t, slot in slots]


def _limits(menu: Menu, trigger: Trigger, slot: int, compiled: Compiled) -> Iterator[Limit]:
    """Yield the known limits of a trigger: on the objects that it reads, after those on the objects that they
    are selected from; in its legs; in its preselection, on numbers in GeV; and last its threshold."""
    names = {selection: name for name, selection in menu.scope.objects}
    of_windows = []
    for selection in dict.fromkeys(selections_in(compiled)):
        selections = [selection]
        while source := selections[0].source:
            selections.insert(0, source)
        of_windows += [(s.source or s.all_objects, s.windows, "") for s in selections]
    combination = compiled.combination if isinstance(compiled, CompiledLegThreshold) else compiled
    legs = combination.legs if isinstance(combination, CompiledCombination) else ()
    for leg in sorted(legs, key=lambda leg: leg.number):
        of_windows.append((leg.objects, leg.windows, f" (leg {leg.number})"))
    for objects, windows, where in of_windows:
        for column, allowed in windows:
            tables = [msgspec.structs.asdict(window) for window in any_of(allowed)]
            keys = [{key: value for key, value in table.items() if value is not None} for table in tables]
            written = toml_text.entry(_name(column), keys[0] if isinstance(allowed, Window) else keys)
            text = f"{names.get(objects, objects.base)} with {excerpt(written)}{where}"
            least = None
            if isinstance(allowed, Window):
                least = allowed.above if allowed.min is None else allowed.min
            unit = unit_of(Element(objects, 0, column))
            yield Limit((objects, column, allowed), text, _name(column), unit, least)
    if compiled.threshold is None:
        return
    for relation in _relations(compiled.preselection):
        larger, smaller = _sides(relation)
        if isinstance(smaller, Constant) and unit_of(larger) == "GeV":
            yield Limit(relation, "", "", "GeV", smaller.value)
    observable, unit = getattr(trigger.description, "observable", None), unit_of_threshold(menu, trigger)
    name = excerpt(observable) if isinstance(observable, str) else "score"
    if isinstance(compiled, CompiledLegThreshold):
        leg = compiled.combination.legs[0]
        name = f"{_name(compiled.column)} of leg {leg.number}"
        unit = unit or unit_of(Element(leg.objects, 0, compiled.column))
    requires, needed = getattr(trigger.description, "requires", None), compiled.objects_needed
    condition = f" ({excerpt(requires)})" if isinstance(requires, str) else ""
    lacking = lacking_objects(needed) if needed else f"has a value of {name}"
    none = f"none passes its preselection{condition} and {lacking}"
    text = f"event with {name} above {compiled.threshold:g}"
    yield Limit(slot, text, name, unit, compiled.threshold, none)


def _relations(condition: Condition | None) -> Iterator[Relation]:
    """Yield the relations "greater" or "less" that have to hold for a condition."""
    if isinstance(condition, Relation) and condition.operation not in ("==", "!="):
        yield condition
    elif isinstance(condition, Junction) and condition.operation == "and":
        for operand in condition.operands:
            yield from _relations(operand)


def _sides(relation: Relation) -> tuple[Number, Number]:
    """Return the number that has to be larger, and the other one."""
    sides = relation.left, relation.right
    return sides if relation.operation in (">", ">=") else sides[::-1]


def _name(column: Column) -> str:
    return column if isinstance(column, str) else column.name


@dataclass(frozen=True)
class _Measure(Task[tuple[Words, FloatArray]]):
    """The task that decides events, and compares values with q limits: uint64[1, words], the slots that fire;
    float64[1, 3, q], 1 or 0 whether any passes, the largest value and minus the smallest, −∞ without any."""

    compared: tuple[Compared, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[Words, FloatArray]:
        work, extremes = Workspace(events), np.full((3, len(self.compared)), -np.inf)
        for number, compared in enumerate(self.compared):
            passes = False
            if isinstance(compared, int):
                score = np.asarray(plan.slots[compared].compiled.evaluate(work), np.float64)[events.core]
                values = score[score > -np.inf]  # only idle triggers are explained
            elif isinstance(compared, Relation):
                passes = bool(compared.evaluate(work).any())
                values = _sides(compared)[0].evaluate(work)
            else:
                objects, column, window = compared
                values = work.column(objects, column).astype(np.float64)
                passes = bool(work.passing(objects, ((column, window),)).any())
            largest = (np.fmax.reduce(signed, initial=-np.inf) for signed in (values, -values))
            extremes[:, number] = passes, *largest
        fired = np.bitwise_or.reduce(decide(events, plan, work)[events.core], axis=0)
        return fired[None], extremes[None]


def measured(
    job: Job, limits: Iterable[Limits], samples: Sequence[Sample], most: int, executor: Any = None
) -> tuple[Words, Ranges]:
    """Return the slots that fire in the first events of samples, and the values that limits compare there."""
    of_triggers = (of_trigger for of_menu in limits for _, of_trigger in of_menu)
    compared = tuple(dict.fromkeys(limit.compared for limits in of_triggers for limit in limits))
    parts = [*over_samples(samples, job, _Measure(compared), executor, most=most)] if compared else []
    if not parts:  # of samples without events nothing is said
        return np.zeros(job.plan.words, np.uint64), dict.fromkeys(compared, ValueRange(True, np.inf, -np.inf))
    fired = np.bitwise_or.reduce(np.concatenate([words for words, _ in parts]), axis=0)
    passes, high, low = np.max(np.concatenate([extremes for _, extremes in parts]), axis=0)
    ranges = map(ValueRange, (passes > 0).tolist(), (-low).tolist(), high.tolist())
    return fired, dict(zip(compared, ranges, strict=True))


def with_warnings(emulation: Emulation, executor: Any = None) -> Emulation:
    """Return an emulation whose rates warn of triggers that fire in no event, and of a background unlike the
    events that models were fitted to. This reads events only for such triggers and models."""
    plan, samples = emulation.plan, emulation.catalogue.background
    fired = np.bitwise_or.reduce(emulation.table.words, axis=0, initial=0)
    menus = [*zip(emulation.menus, plan.bits, strict=True)]
    idle = [limits_of(menu, plan, bits, fired) for menu, bits in menus]
    most = max(1, MOST // len(samples))
    _, ranges = measured(Job(emulation.menus, plan, emulation.catalogue), idle, samples, most, executor)
    part = f" (values: the first {most} of each sample)" if most < max(s.entries for s in samples) else ""
    warnings = [[*idle_warnings(limits, ranges, f"no event of the background{part}")] for limits in idle]
    for of_menu, (menu, bits) in zip(warnings, menus, strict=True):
        for t in (t for t in menu.enabled if t.name in bits):
            compiled = plan.slots[bits[t.name]].compiled
            texts = compiled.sample_warnings(menu, t.name, emulation.catalogue, executor)
            of_menu += (f"{t.name!r} ({t.place}): {text}" for text in texts)
    return replace(emulation, warnings=tuple(map(tuple, warnings)))


def idle_warnings(idle: Limits, ranges: Ranges, where: str) -> Iterator[str]:
    """Yield a warning for each idle trigger with a limit that nothing passes."""
    reasons = [(t.name, t.place, reason) for t, limits in idle if (reason := _reason(limits, ranges))]
    for name, place, reason in reasons[:NAMED]:
        yield f"{name!r} ({place}) fires in {where}: {reason}"
    if further := [repr(name) for name, *_ in reasons[NAMED:]]:
        more = " and more" if len(further) > NAMED else ""
        yield f"for similar reasons, these fire in {where}: {', '.join(further[:NAMED])}{more}"


def _reason(limits: Sequence[Limit], ranges: Ranges) -> str:
    """Return why a trigger is idle: its threshold, if any event has a score, or another limit that nothing
    passes. It ends with a question if the lower limit would be among the values as a number of MeV."""
    unmet = [limit for limit in limits if not ranges[limit.compared].passes]
    if not unmet:
        return ""
    is_score = isinstance(unmet[-1].compared, int) and ranges[unmet[-1].compared].high > -np.inf
    limit = unmet[-1 if is_score else 0]
    (_, low, high), unit = ranges[limit.compared], f" {limit.unit}" if limit.unit else ""
    least = limit.least or 0.0
    if is_score:
        reason = f"its threshold is {least:.10g}{unit}, the largest {limit.name} is {high:.4g}{unit}"
    elif isinstance(limit.compared, Relation):
        reason = limits[-1].none
    elif high == -np.inf:
        return limit.none if isinstance(limit.compared, int) else f"no {limit.text}; {limit.none}"
    else:
        span = f"{low:.4g} to {high:.4g}" if low < high else f"always {high:.4g}"
        reason = f"no {limit.text}; {limit.name} is {span}{unit}"
    if limit.unit == "GeV" and max(low, LEAST_GEV) <= least / _MEV_PER_GEV <= high < least:
        return f"{reason}. MeV? trigemu reads GeV: {least / _MEV_PER_GEV:g}"
    return reason
