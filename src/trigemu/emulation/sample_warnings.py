"""Warnings that need events: triggers that fire in none, limits that exclude nothing, and events unlike those
that models were fitted to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np

from trigemu.base import toml_text
from trigemu.base.arrays import FloatArray, Words
from trigemu.base.errors import TrigemuError, excerpt
from trigemu.emulation.engine import Chunk, Job, over_samples
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan, decide, lacking_objects, make_plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.warnings import unit_of_threshold
from trigemu.observables.expressions import Constant, Element, Number, Relation, unit_of
from trigemu.observables.language import parse_condition, parse_tree
from trigemu.observables.selections import ObjectSelection, Scope, selections_in
from trigemu.observables.windows import AnyOf, Column, Window, Windows, any_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Compiled
from trigemu.triggers.combination.kind import CompiledCombination
from trigemu.triggers.combination.leg_threshold import CompiledLegThreshold

#: The number of events that largest values are from, and means, the same of each sample: a pass over the
#: former takes seconds, one over the latter a tenth of a run over the embedded sample.
MOST, _MOST_COMPARED = 10_000_000, 200_000
#: The largest number of idle triggers that are explained, and of warnings of one sort.
_EXPLAINED, _NAMED = 200, 8
_MEV_PER_GEV = 1000.0
#: The lowest limit in GeV that is judged: no trigger cuts below.
_LEAST_GEV = 1.0
#: How much the smallest value exceeds a limit that excludes nothing, and one in a sample that may be in MeV.
_ABOVE, _IN_MEV = 1.1, 100.0
#: What a limit compares: the score of a slot; a number of the event in a relation; a column of objects.
Compared = int | Relation | tuple[ObjectSelection, Column, Window | AnyOf]


class Limit(NamedTuple):
    """A limit that a trigger sets."""

    compared: Compared
    text: str  # What passes it: "event with jet[0].pt above 30"
    name: str  # The name of the values that it compares
    unit: str  # Their unit; empty if they have none, or an unknown one
    least: float | None  # The lower limit, if there is one
    none: str = "there is none at all"  # What is said if there is no value


def limits_of(menu: Menu, trigger: Trigger, slot: int, compiled: Compiled) -> Iterator[Limit]:
    """Yield the known limits of a trigger: on the objects that it reads, in its legs and its `requires`, and
    last its threshold."""
    names = {selection: name for name, selection in menu.scope.objects}
    for selection in dict.fromkeys(selections_in(compiled)):
        yield from _of_selection(selection, names)
    combination = compiled.combination if isinstance(compiled, CompiledLegThreshold) else compiled
    for number, leg in enumerate(combination.legs if isinstance(combination, CompiledCombination) else ()):
        yield from _of_windows(leg.objects, leg.windows, names, f" (leg {number})")
    requires = getattr(trigger.description, "requires", None)
    with suppress(TrigemuError):  # a plugin may have a key of this name for something else
        yield from _of_condition(parse_tree(requires), menu.scope) if isinstance(requires, str) else ()
    if compiled.threshold is not None:
        text, unit = getattr(trigger.description, "observable", None), unit_of_threshold(menu, trigger)
        name = excerpt(text) if isinstance(text, str) else "score"
        if isinstance(compiled, CompiledLegThreshold):
            objects = compiled.combination.legs[compiled.leg].objects
            name = f"{_name(compiled.column)} of leg {compiled.leg}"
            unit = unit or unit_of(Element(objects, 0, compiled.column))
        text, none = f"event with {name} above {compiled.threshold:g}", f"has a value of {name}"
        if compiled.objects_needed:
            none = lacking_objects(compiled.objects_needed)
        none = f"none passes its preselection and {none}"
        yield Limit(slot, text, name, unit, compiled.threshold, none)


def _of_selection(selection: ObjectSelection, names: Mapping[ObjectSelection, str]) -> Iterator[Limit]:
    """Yield the windows that select objects, those of the selections that it is made from first."""
    if selection.source:
        yield from _of_selection(selection.source, names)
    yield from _of_windows(selection.source or ObjectSelection(selection.base), selection.windows, names)


def _of_windows(
    objects: ObjectSelection, windows: Windows, names: Mapping[ObjectSelection, str], where: str = ""
) -> Iterator[Limit]:
    for column, allowed in windows:
        tables = [msgspec.structs.asdict(window) for window in any_of(allowed)]
        keys = [{key: value for key, value in table.items() if value is not None} for table in tables]
        written = toml_text.entry(_name(column), keys[0] if isinstance(allowed, Window) else keys)
        text = f"{names.get(objects, objects.base)} with {excerpt(written)}{where}"
        least = allowed.lowest if isinstance(allowed, Window) else None
        unit = unit_of(Element(objects, 0, column))
        yield Limit((objects, column, allowed), text, _name(column), unit, least)


def _of_condition(tree: ast.expr, scope: Scope) -> Iterator[Limit]:
    """Yield the comparisons that a condition requires to be true."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for part in tree.values:
            yield from _of_condition(part, scope)
    elif isinstance(tree, ast.Compare):
        operands = [tree.left, *tree.comparators]
        for left, op, right in zip(operands, tree.ops, operands[1:], strict=False):
            text = ast.unparse(ast.Compare(left, [op], [right]))
            relation = parse_condition(text, scope)
            assert isinstance(relation, Relation)
            limit, number, lower = relation.right, left, (">", ">=", "==")
            if isinstance(relation.left, Constant):
                limit, number, lower = relation.left, right, ("<", "<=", "==")
            least = limit.value if isinstance(limit, Constant) and relation.operation in lower else None
            name, unit = excerpt(ast.unparse(number)), unit_of(_number(relation))
            yield Limit(relation, f"event with {excerpt(text)}", name, unit, least, f"none has {name}")


def _number(relation: Relation) -> Number:
    """Return the number of a relation that is no constant."""
    return relation.right if isinstance(relation.left, Constant) else relation.left


def _name(column: Column) -> str:
    return column if isinstance(column, str) else column.name


class _Range(NamedTuple):
    """The values that a limit compares: whether any passes, the smallest and the largest."""

    passes: bool
    low: float
    high: float


@dataclass(frozen=True)
class _Measure:
    """The task that decides events, and compares values with q limits: uint64[words], the slots that fire;
    float64[3, q], 1 or 0 whether any passes, the largest value and minus the smallest, −∞ without any."""

    compared: tuple[Compared, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[Words, FloatArray]:
        work, extremes = Workspace(events), np.full((3, len(self.compared)), -np.inf)
        for number, compared in enumerate(self.compared):
            passes: bool | np.bool_ = False  # only triggers that never fire are explained
            if isinstance(compared, int):
                score = np.asarray(plan.slots[compared].compiled.evaluate(work), np.float64)[events.core]
                values = score[score > -np.inf]
            elif isinstance(compared, Relation):
                values, passes = _number(compared).evaluate(work), compared.evaluate(work).any()
            else:
                objects, column, window = compared
                values = work.column(objects, column).astype(np.float64)
                passes = work.passing(objects, ((column, window),)).any()
            largest = (np.fmax.reduce(signed, initial=-np.inf) for signed in (values, -values))
            extremes[:, number] = passes, *largest
        return np.bitwise_or.reduce(decide(events, plan, work)[events.core], axis=0), extremes

    def merge(self, parts: Sequence[tuple[Words, FloatArray]]) -> tuple[Words, FloatArray]:
        fired, extremes = zip(*parts, strict=True)
        return np.bitwise_or.reduce(fired, axis=0), np.max(extremes, axis=0)


_Limits = Sequence[tuple[Trigger, tuple[Limit, ...]]]
_Ranges = Mapping[Compared, _Range]


def _measured(
    job: Job, limits: Iterable[_Limits], samples: Sequence[Sample], most: int, executor: Any = None
) -> tuple[Words, _Ranges]:
    """Return the slots that fire in the first events of samples, and the values that limits compare there."""
    of_triggers = (of_trigger for of_menu in limits for _, of_trigger in of_menu)
    compared = tuple(dict.fromkeys(limit.compared for limits in of_triggers for limit in limits))
    task = _Measure(compared)
    parts = [*over_samples(samples, job, task, executor, most=most)] if compared else []
    if not parts:  # of samples without events nothing is said
        return np.zeros(job.plan.words, np.uint64), dict.fromkeys(compared, _Range(True, np.inf, -np.inf))
    fired, (passes, high, low) = task.merge(parts)
    ranges = zip((passes > 0).tolist(), (-low).tolist(), high.tolist(), strict=True)
    return fired, dict(zip(compared, (_Range(*values) for values in ranges), strict=True))


def _limits(menu: Menu, plan: Plan, bits: Mapping[str, int], fired: Words | None = None) -> _Limits:
    """Return the limits of the triggers that read events, or of the first ones that fire in none; those with
    a budget have no threshold of their own."""
    slots = [(t, bits[t.name]) for t in menu.used if t.name in bits and not t.budget]
    if fired is not None:
        mask = np.unpackbits(fired.view(np.uint8), bitorder="little")
        slots = [(trigger, slot) for trigger, slot in slots if not mask[slot]][:_EXPLAINED]
    return [(t, tuple(limits_of(menu, t, slot, plan.slots[slot].compiled))) for t, slot in slots]


def with_warnings(emulation: Emulation, executor: Any = None) -> Emulation:
    """Return an emulation whose rates warn of triggers that fire in no event, and of a background unlike the
    events that models were fitted to. This reads events only for such triggers and models."""
    plan, samples = emulation.plan, emulation.catalogue.background
    fired = np.bitwise_or.reduce(emulation.table.words, axis=0, initial=0)
    menus = zip(emulation.menus, plan.bits, strict=True)
    idle = [_limits(menu, plan, bits, fired) for menu, bits in menus]
    most = max(1, MOST // len(samples))
    _, ranges = _measured(Job(emulation.menus, plan, emulation.catalogue), idle, samples, most, executor)
    part = f" (values: the first {most} of each sample)" if most < max(s.entries for s in samples) else ""
    warnings_of_idle = [[*_of_idle(limits, ranges, f"no event of the background{part}")] for limits in idle]
    unlike = (_unlike(emulation, number, executor) for number in range(len(warnings_of_idle)))
    return replace(emulation, warnings=tuple((*a, *b) for a, b in zip(warnings_of_idle, unlike, strict=True)))


def warnings_of_first(menu: Menu, catalogue: Catalogue, most: int) -> Iterator[str]:
    """Explain which triggers fire in none of the first events of each sample, also of signals, and which
    limits exclude nothing there."""
    plan = make_plan([menu])
    limits = _limits(menu, plan, plan.bits[0])
    fired, ranges = _measured(Job((menu,), plan, catalogue), [limits], catalogue.samples, most)
    where = f"the first {most} events of each sample"
    is_part = most < max((sample.entries for sample in catalogue.samples), default=0)
    idle = _limits(menu, plan, plan.bits[0], fired)
    yield from _of_idle(idle, ranges, f"none of {where}" if is_part else "no event of the samples")
    yield from islice(_of_loose(limits, ranges, where), _NAMED)


def _of_idle(idle: _Limits, ranges: _Ranges, where: str) -> Iterator[str]:
    """Yield a warning for each idle trigger with a limit that nothing passes."""
    reasons = [(t.name, t.place, reason) for t, limits in idle if (reason := _reason(limits, ranges))]
    for name, place, reason in reasons[:_NAMED]:
        yield f"{name!r} ({place}) fires in {where}: {reason}"
    if further := [repr(name) for name, *_ in reasons[_NAMED:]]:
        more = " and more" if len(further) > _NAMED else ""
        yield f"for similar reasons, these fire in {where}: {', '.join(further[:_NAMED])}{more}"


def _reason(limits: Sequence[Limit], ranges: _Ranges) -> str:
    """Return why a trigger is idle: its threshold, if any event has a score, or another limit that nothing
    passes. It ends with a question if the lower limit would be among the values as a number of MeV."""
    unmet = [limit for limit in limits if not ranges[limit.compared].passes]
    scores = [limit for limit in unmet if isinstance(limit.compared, int)]
    if not unmet:
        return ""
    limit = next((score for score in scores if ranges[score.compared].high > -np.inf), unmet[0])
    (_, low, high), unit = ranges[limit.compared], f" {limit.unit}" if limit.unit else ""
    if high == -np.inf:
        return limit.none if limit in scores else f"no {limit.text}; {limit.none}"
    least = limit.least or 0.0
    if limit in scores:
        reason = f"its threshold is {least:.10g}{unit}, the largest {limit.name} is {high:.4g}{unit}"
    else:
        span = f"{low:.4g} to {high:.4g}" if low < high else f"always {high:.4g}"
        reason = f"no {limit.text}; {limit.name} is {span}{unit}"
    if limit.unit == "GeV" and max(low, _LEAST_GEV) <= least / _MEV_PER_GEV <= high < least:
        return f"{reason}. MeV? trigemu reads GeV: {least / _MEV_PER_GEV:g}"
    return reason


def _of_loose(limits: _Limits, ranges: _Ranges, where: str) -> Iterator[str]:
    """Yield a warning for each limit in GeV that no value is below, once for equal ones. Masses of pairs are
    bounded by the limits on their objects."""
    first: dict[Compared, tuple[Trigger, Limit]] = {}
    for trigger, of_trigger in limits:
        for limit in of_trigger:
            first.setdefault(limit.compared, (trigger, limit))
    for trigger, limit in first.values():
        least, low = limit.least or 0.0, ranges[limit.compared].low
        if limit.unit != "GeV" or least < _LEAST_GEV or limit.name.startswith("m("):
            continue
        if _ABOVE * least < low < np.inf:
            lacking = "the rate lacks what the samples do not have below it"
            yield (
                f"{trigger.name!r} ({trigger.place}): {limit.text!r} excludes nothing, the smallest "
                f"{limit.name} in {where} is {low:.4g} {limit.unit}: "
                f"{lacking if low < _IN_MEV * least else 'MeV? trigemu reads GeV: convert the sample'}"
            )


@dataclass(frozen=True)
class _Sum:
    """The task that sums what the check of a slot compares: Σw, Σw², and Σwv of each value."""

    slot: int
    scales: tuple[float, ...]  # The factor on the weights of each sample

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> FloatArray:
        check, counted = plan.slots[self.slot].compiled.sample_check(), np.zeros(len(events), np.bool_)
        assert check
        counted[events.core] = True
        rows, values = check.values(Workspace(events))
        weight = np.where(counted, events.weight, 0.0)[rows] * self.scales[chunk.sample]
        return np.array([weight.sum(), weight @ weight, *(weight @ values)])

    def merge(self, parts: Sequence[FloatArray]) -> FloatArray:
        total: FloatArray = np.sum(parts, axis=0)
        return total


def _unlike(emulation: Emulation, number: int, executor: Any) -> Iterator[str]:
    """Explain how the background differs from the events that the models of a menu were fitted to. The sums
    over the first events of each sample are scaled to all."""
    menu, bits, samples = emulation.menus[number], emulation.plan.bits[number], emulation.catalogue.background
    most = max(1, _MOST_COMPARED // len(samples))
    for trigger in (trigger for trigger in menu.enabled if trigger.name in bits):
        check = emulation.plan.slots[bits[trigger.name]].compiled.sample_check()
        if check is None:
            continue
        sums = np.zeros(2 + check.width)
        if check.width:
            plan = make_plan([part := menu.part([trigger.name])])
            scales = tuple(max(1.0, sample.entries / most) for sample in emulation.catalogue.samples)
            job, task = Job((part,), plan, emulation.catalogue), _Sum(plan.bits[0][trigger.name], scales)
            sums = task.merge([sums, *over_samples(samples, job, task, executor, most=most)])
        total, squares = sums[:2].tolist()
        mean = sums[2:] / total if total > 0 else np.full(check.width, np.nan)
        threshold = (trigger.solution.threshold, trigger.solution.error) if trigger.solution else None
        for warning in check.warnings(mean, total**2 / squares if squares else 0.0, threshold):
            yield f"{trigger.name!r} ({trigger.place}): {warning}"
