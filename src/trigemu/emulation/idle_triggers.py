"""Triggers that fire in no event, and why: a threshold above every score, a cut that nothing passes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
import numpy as np

from trigemu.base import toml_text
from trigemu.base.arrays import Array, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError, excerpt
from trigemu.emulation.engine import Chunk, Job, over_samples
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.warnings import unit_of_threshold
from trigemu.observables.expressions import Constant, Element, Number, Relation
from trigemu.observables.language import parse_condition, parse_tree
from trigemu.observables.pruning import all_uses
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.signed import unit_of
from trigemu.observables.windows import AnyOf, Column, Window, any_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Compiled
from trigemu.triggers.combination.kind import CompiledCombination
from trigemu.triggers.combination.leg_threshold import CompiledLegThreshold
from trigemu.triggers.questions import lacking, objects_needed
from trigemu.triggers.threshold import CompiledThreshold


@dataclass(frozen=True)
class Scored:
    """The scores of a slot. No event is above the threshold."""

    slot: int

    def __call__(self, plan: Plan, work: Workspace) -> tuple[Array, int]:
        """Return the values, and how many of them pass."""
        values = np.asarray(plan.slots[self.slot].compiled.evaluate(work), np.float64)[work.events.core]
        return values[values > -np.inf], 0


@dataclass(frozen=True)
class Cut:
    """A window on a column of the objects of a selection."""

    objects: ObjectSelection
    column: Column
    window: Window | AnyOf

    def __call__(self, plan: Plan, work: Workspace) -> tuple[Array, int]:
        passing = work.passing(self.objects, ((self.column, self.window),))
        return work.column(self.objects, self.column), int(np.count_nonzero(passing))


@dataclass(frozen=True)
class Compared:
    """A comparison of two numbers; the values are those of the one that is no constant."""

    relation: Relation

    @property
    def number(self) -> Number:
        """The number whose values are returned."""
        left, right = self.relation.left, self.relation.right
        return right if isinstance(left, Constant) else left

    def __call__(self, plan: Plan, work: Workspace) -> tuple[Array, int]:
        values = self.number.evaluate(work)
        return values[~np.isnan(values)], int(np.count_nonzero(self.relation.evaluate(work)))


class Requirement(NamedTuple):
    """A requirement of a trigger."""

    values: Scored | Cut | Compared  # What it compares
    text: str  # What passes it: "event with jet[0].pt above 30"
    quantity: str  # The name of what it compares
    unit: str  # Its unit; "" if it has none or an unknown one
    least: float | None  # The lower limit, if there is one
    key: str  # How the menu gives this limit, with {} in its place: "above = {}"
    objects: tuple[str, ...] = ()  # The objects without which it has no value


class Part(NamedTuple):
    """A part of a trigger, which each accepted event passes. whole: its requirement; None for a leg. cuts:
    the requirements of the objects that it needs."""

    whole: Requirement | None
    cuts: tuple[Requirement, ...]


def parts_of(menu: Menu, trigger: Trigger, slot: int, compiled: Compiled) -> Iterator[Part]:
    """Yield the parts of a trigger that are known: legs, comparisons of its preselection, its threshold."""
    names = {selection: name for name, selection in menu.scope.objects}
    combination = compiled.combination if isinstance(compiled, CompiledLegThreshold) else compiled
    for number, leg in enumerate(combination.legs if isinstance(combination, CompiledCombination) else ()):
        selected = ObjectSelection(leg.objects.base, leg.objects, leg.windows)
        yield Part(None, tuple(_cuts(selected, names, f" (leg {number})")))
    requires = getattr(trigger.description, "requires", None)
    with suppress(TrigemuError):  # a plugin may have a key of this name for something else
        for text in _comparisons(parse_tree(requires)) if isinstance(requires, str) else ():
            relation = parse_condition(text, menu.scope)
            if isinstance(relation, Relation):
                yield Part(_compared(relation, text), tuple(_all_cuts(relation, names)))
    if compiled.threshold is not None:
        cuts = _all_cuts(compiled.observable, names) if isinstance(compiled, CompiledThreshold) else ()
        yield Part(_scored(menu, trigger, slot, compiled), tuple(cuts))


def _scored(menu: Menu, trigger: Trigger, slot: int, compiled: Compiled) -> Requirement:
    text = getattr(trigger.description, "observable", None)
    quantity, unit = excerpt(text) if isinstance(text, str) else "score", unit_of_threshold(menu, trigger)
    if isinstance(compiled, CompiledLegThreshold):
        column, objects = compiled.column, compiled.combination.legs[compiled.leg].objects
        quantity = f"{_name(column)} of leg {compiled.leg}"
        unit = unit or unit_of(Element(objects, 0, column))
    threshold = compiled.threshold
    assert threshold is not None
    what = f"event with {quantity} above {threshold:g}"
    return Requirement(Scored(slot), what, quantity, unit, threshold, "above = {}", objects_needed(compiled))


def _compared(relation: Relation, text: str) -> Requirement:
    compared = Compared(relation)
    least = None
    match relation:
        case Relation(operation=">" | ">=" | "==", left=_, right=Constant(value=value)):
            least = value
        case Relation(operation="<" | "<=" | "==", left=Constant(value=value)):
            least = value
    tree = parse_tree(text)
    assert isinstance(tree, ast.Compare)
    sides = tree.comparators[0], tree.left
    number = sides[0] if isinstance(relation.left, Constant) else sides[1]
    quantity = excerpt(ast.unparse(number))
    return Requirement(
        compared,
        f"event with {excerpt(text)}",
        quantity,
        unit_of(compared.number),
        least,
        f"{quantity} > {{}}",
    )


def _comparisons(tree: ast.expr) -> Iterator[str]:
    """Yield the comparisons of two numbers that a condition requires to be true."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for part in tree.values:
            yield from _comparisons(part)
    elif isinstance(tree, ast.Compare):
        operands = [tree.left, *tree.comparators]
        for left, op, right in zip(operands, tree.ops, operands[1:], strict=False):
            yield ast.unparse(ast.Compare(left, [op], [right]))


def _all_cuts(content: object, names: Mapping[ObjectSelection, str]) -> Iterator[Requirement]:
    for selection, _ in all_uses(content):
        yield from _cuts(selection, names)


def _cuts(
    selection: ObjectSelection, names: Mapping[ObjectSelection, str], where: str = ""
) -> Iterator[Requirement]:
    """Yield the windows that select objects, those of the selections that it is made from first."""
    if selection.source:
        yield from _cuts(selection.source, names)
    objects = selection.source or ObjectSelection(selection.base)
    for column, allowed in selection.windows:
        name = _name(column)
        limits = [
            {k: v for k, v in msgspec.structs.asdict(w).items() if v is not None} for w in any_of(allowed)
        ]
        written = toml_text.entry(name, limits[0] if isinstance(allowed, Window) else limits)
        key = "min" if isinstance(allowed, Window) and allowed.min is not None else "above"
        yield Requirement(
            Cut(objects, column, allowed),
            f"{names.get(objects, objects.base)} with {excerpt(written)}{where}",
            name,
            unit_of(Element(objects, 0, column)),
            allowed.lowest if isinstance(allowed, Window) else None,
            f"{name} = {{ {key} = {{}} }}",
        )


def _name(column: Column) -> str:
    return column if isinstance(column, str) else column.name


#: The number of events that ranges are from, the same of each sample; a pass over them takes seconds.
MOST = 10_000_000
#: The largest number of triggers that are explained, and of those with a warning of their own.
EXPLAINED, NAMED = 200, 8
_MEV_PER_GEV = 1000.0
#: The lowest limit in GeV that may have been written in MeV: no trigger cuts below.
LEAST_GEV = 1.0
_Idle = tuple[Trigger, tuple[Part, ...]]


@dataclass(frozen=True)
class Ranges:
    """How many objects or events pass each of q requirements, int64[q], and the lowest and the highest value
    that it compares, float64[q]; ∞ and −∞ where there is no value."""

    passing: IntArray
    lowest: FloatArray
    highest: FloatArray


@dataclass(frozen=True)
class Measure:
    """The task that finds the ranges of a chunk."""

    compared: tuple[Any, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Ranges:
        work, n = Workspace(events), len(self.compared)
        ranges = Ranges(np.zeros(n, np.int64), np.full(n, np.inf), np.full(n, -np.inf))
        for number, values_of in enumerate(self.compared):
            compared, ranges.passing[number] = values_of(plan, work)
            values = compared.astype(np.float64, copy=False)  # of integers, too
            ranges.lowest[number] = np.fmin.reduce(values, initial=np.inf)
            ranges.highest[number] = np.fmax.reduce(values, initial=-np.inf)
        return ranges

    def merge(self, parts: Sequence[Ranges]) -> Ranges:
        return Ranges(
            np.sum([part.passing for part in parts], axis=0),
            np.min([part.lowest for part in parts], axis=0),
            np.max([part.highest for part in parts], axis=0),
        )


@dataclass(frozen=True)
class _Fired:
    """The task that finds the slots that fire in a chunk, uint64[words]."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Words:
        fired: Words = np.bitwise_or.reduce(decide(events, plan)[events.core], axis=0)
        return fired

    def merge(self, parts: Sequence[Words]) -> Words:
        fired: Words = np.bitwise_or.reduce(parts, axis=0)
        return fired


def explain_idle(emulation: Emulation, executor: Any = None) -> Emulation:
    """Explain why triggers fire in no event, as warnings of the rates; this reads events only for such
    triggers."""
    job = Job(emulation.menus, emulation.plan, emulation.catalogue)
    fired = np.bitwise_or.reduce(emulation.table.words, axis=0, initial=0)
    return replace(emulation, unreached=unreached(job, fired, job.catalogue.background, executor))


def unreached_in_first(menu: Menu, catalogue: Catalogue, most: int) -> tuple[str, ...]:
    """Explain why triggers of a menu fire in none of the first events of each sample, also of signals."""
    plan = make_plan([menu])
    job, task, bits = Job((menu,), plan, catalogue), _Fired(), plan.bits[0]
    fired, slots = np.zeros(plan.words, np.uint64), [bits[trigger.name] for trigger in judged(menu, bits)]
    # In rare samples most triggers fire: usually these are the only ones that are read.
    for sample in sorted(catalogue.samples, key=lambda sample: np.nan_to_num(sample.rate_hz)):
        fired = task.merge([fired, *over_samples([sample], job, task, most=most)])
        if all(_fires(fired, slot) for slot in slots):
            return ()
    (warnings,) = unreached(job, fired, catalogue.samples, most=most)
    return warnings


def unreached(
    job: Job, fired: Words, samples: Sequence[Sample], executor: Any = None, most: int | None = None
) -> tuple[tuple[str, ...], ...]:
    """Explain why triggers fire in no event of some samples. fired: uint64[words]."""
    parts = [_of_idle(m, bits, job.plan, fired) for m, bits in zip(job.menus, job.plan.bits, strict=True)]
    requirements = [
        r
        for trigger_parts in parts
        for _, leg_parts in trigger_parts
        for part in leg_parts
        for r in (part.whole, *part.cuts)
    ]
    compared = tuple(dict.fromkeys(r.values for r in requirements if r))
    if not compared or not any(sample.entries for sample in samples):
        return tuple(() for _ in job.menus)
    task, read = Measure(compared), most or max(1, MOST // len(samples))
    ranges = task.merge([*over_samples(samples, job, task, executor, most=read)])
    explained = _Explained(
        {trigger_parts: i for i, trigger_parts in enumerate(compared)}, ranges, *_where(samples, most, read)
    )
    return tuple(tuple(explained.warnings(trigger_parts)) for trigger_parts in parts)


def judged(menu: Menu, bits: Mapping[str, int]) -> list[Trigger]:
    """Return the triggers of a menu that read events; those with a budget have no threshold of their own."""
    return [trigger for trigger in menu.used if trigger.name in bits and not trigger.budget]


def _fires(fired: Words, slot: int) -> bool:
    return bool((fired[slot // 64] >> np.uint64(slot % 64)) & np.uint64(1))


def _of_idle(menu: Menu, bits: Mapping[str, int], plan: Plan, fired: Words) -> list[_Idle]:
    """Return the first triggers of a menu that never fire, with their parts."""
    idle = [(t, bits[t.name]) for t in judged(menu, bits) if not _fires(fired, bits[t.name])][:EXPLAINED]
    return [(t, tuple(parts_of(menu, t, slot, plan.slots[slot].compiled))) for t, slot in idle]


def _where(samples: Sequence[Sample], most: int | None, read: int) -> tuple[str, str]:
    """Return the events in which triggers do not fire, the first `most` of each sample, and those of the
    ranges, the first `read`, if these are others."""
    longest = max(sample.entries for sample in samples)
    if most is not None and most < longest:
        return f"none of the first {most} events of each sample", ""
    of_values = f" of the first {read} events of each sample" if longest > read else ""
    return f"no event of the {'samples' if most is not None else 'background'}", of_values


@dataclass(frozen=True)
class _Explained:
    """Warnings. number: the position of what requirements compare in the ranges. where: the events without
    decisions. of_values: the events of the ranges, if these are others."""

    number: Mapping[Any, int]
    ranges: Ranges
    where: str
    of_values: str

    def warnings(self, triggers: Sequence[_Idle]) -> Iterator[str]:
        """Yield a warning for each trigger, those with a limit that may be in MeV first."""
        reasons = [(t, reason) for t, parts in triggers if (reason := self._reason(parts))]
        texts = [(trigger, self._text(reason), self._in_gev(reason)) for trigger, reason in reasons]
        texts.sort(key=lambda item: not item[2])
        for trigger, text, in_gev in texts[:NAMED]:
            yield f"{trigger.name!r} ({trigger.place}) fires in {self.where}: {text}{in_gev}"
        if further := [repr(trigger.name) for trigger, *_ in texts[NAMED:]]:
            more = " and more" if len(further) > NAMED else ""
            yield f"for similar reasons, these fire in {self.where}: {', '.join(further[:NAMED])}{more}"

    def _reason(self, parts: Sequence[Part]) -> Requirement | None:
        """Return a requirement that nothing passes: the threshold, if any event has a score."""
        score = parts[-1].whole if parts else None
        if score and isinstance(score.values, Scored) and self._has_values(score):
            return score
        for part in parts:
            if part.whole and self._passing(part.whole):
                continue
            for cut in part.cuts:
                if not self._passing(cut):
                    return cut
            if part.whole:
                return part.whole
        return None

    def _passing(self, requirement: Requirement) -> int:
        return int(self.ranges.passing[self.number[requirement.values]])

    def _has_values(self, requirement: Requirement) -> bool:
        return bool(self.ranges.highest[self.number[requirement.values]] > -np.inf)

    def _range(self, requirement: Requirement) -> tuple[float, float]:
        number = self.number[requirement.values]
        return float(self.ranges.lowest[number]), float(self.ranges.highest[number])

    def _text(self, requirement: Requirement) -> str:
        quantity, unit = requirement.quantity, f" {requirement.unit}" if requirement.unit else ""
        (low, high), of_score = self._range(requirement), isinstance(requirement.values, Scored)
        if not self._has_values(requirement):
            if of_score:
                if requirement.objects:
                    return lacking(requirement.objects)
                return f"none passes its preselection and has a value of {quantity}"
            none = "there is none at all" if isinstance(requirement.values, Cut) else f"none has {quantity}"
            return f"no {requirement.text}; {none}"
        if of_score:
            largest = f"the largest {quantity}{self.of_values} is {high:.4g}{unit}"
            return f"its threshold is {requirement.least:.10g}{unit}, {largest}"
        span = f"{low:.4g} to {high:.4g}" if low < high else f"always {high:.4g}"
        return f"no {requirement.text}; {quantity}{self.of_values} is {span}{unit}"

    def _in_gev(self, requirement: Requirement) -> str:
        """Return a question if the lower limit would be within the range as a number of MeV."""
        (low, high), least = self._range(requirement), requirement.least
        if least is None or requirement.unit != "GeV" or high >= least:
            return ""
        if not max(low, LEAST_GEV) <= least / _MEV_PER_GEV <= high:
            return ""
        in_gev = requirement.key.replace("{}", f"{least / _MEV_PER_GEV:g}")
        return f". MeV? trigemu reads GeV: {in_gev}"
