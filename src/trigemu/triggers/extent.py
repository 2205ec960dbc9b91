"""Extents: the events in which a trigger fires, to decide whether they include those of another trigger.

A kind may describe itself by an `Extent`: spans of numbers, choices of objects, and further conditions. It
fires if and only if all of them hold. Inclusion is stated only if it can be proved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from trigemu.observables.expressions import Condition, Constant, Count, Element, Junction, Relation
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import AnyOf, Column, Window, any_of, closed
from trigemu.triggers.combination.legs import CompiledLeg
from trigemu.triggers.combination.pairs import OF_ALL, Cut

#: For a choice of more objects than this, or after this many steps, no inclusion is stated.
_LEGS = 32
_STEPS = 10_000


@dataclass(frozen=True)
class Span:
    """low ≤ number ≤ high. of: the number, or an object that identifies it by equality."""

    of: object
    low: float
    high: float = math.inf


@dataclass(frozen=True)
class Choice:
    """Different objects, one per leg, that satisfy common cuts."""

    legs: tuple[CompiledLeg, ...]
    cuts: tuple[Cut, ...] = ()

    def contains(self, other: Choice) -> bool:
        """Whether this choice exists in every event with the other choice: some of the other's legs satisfy
        all legs and cuts of this one."""
        if not self._objects_per_collection <= other._objects_per_collection:
            return False
        candidates = [
            [i for i, narrow in enumerate(other.legs) if _leg_contains(wide, narrow)] for wide in self.legs
        ]
        return any(_passes(self, other, chosen) for chosen in _matches(candidates))

    @cached_property
    def _objects_per_collection(self) -> Counter[tuple[str, int]]:
        """The number of objects in each collection and crossing."""
        return Counter((leg.objects.base, leg.crossing) for leg in self.legs)


@dataclass(frozen=True)
class Extent:
    """The conditions under which a trigger fires: it fires if and only if all of them hold.

    Attributes
    ----------
    spans : tuple of Span
        Numbers that must be within limits.
    choices : tuple of Choice
        Objects that must exist.
    conditions : tuple of object
        Further conditions, which are compared by equality.
    """

    spans: tuple[Span, ...] = ()
    choices: tuple[Choice, ...] = ()
    conditions: tuple[object, ...] = ()

    def contains(self, other: Extent) -> bool:
        """Return whether it holds whenever the `other` does; False if that cannot be proved."""
        return (
            all(_span_contains(span, other.spans) for span in self.spans)
            and all(
                any(choice_here.contains(choice) for choice in other.choices) for choice_here in self.choices
            )
            and all(condition in other.conditions for condition in self.conditions)
        )


def extent_of(conditions: Iterable[Condition], spans: Iterable[Span] = ()) -> Extent:
    """Return the extent in which all conditions hold and all numbers are within their spans."""
    objects: dict[ObjectSelection, list[float]] = {}
    all_spans, others = list(spans), []
    for condition in (part for joined in conditions for part in _conjuncts(joined)):
        span = _span(condition)
        if span is None:
            others.append(condition)
        elif not _as_objects(span, objects):
            all_spans.append(span)
    choices = (Choice(tuple(_legs(selection, floors))) for selection, floors in objects.items() if floors)
    return Extent(tuple(all_spans), tuple(choices), tuple(others))


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, Junction) and condition.operation == "and":
        for operand in condition.operands:
            yield from _conjuncts(operand)
    else:
        yield condition


_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "=="}


def _span(condition: Condition) -> Span | None:
    """Return the span of a comparison of a number with a constant; None for other conditions."""
    if not isinstance(condition, Relation) or condition.operation not in _MIRRORED:
        return None
    operation, number, limit = condition.operation, condition.left, condition.right
    if isinstance(number, Constant):
        operation, number, limit = _MIRRORED[operation], limit, number
    if not isinstance(limit, Constant) or isinstance(number, Constant):
        return None
    value = limit.value
    low, high = closed(
        value if operation in (">=", "==") else None,
        value if operation == ">" else None,
        value if operation in ("<=", "==") else None,
        value if operation == "<" else None,
    )
    return Span(number, low, high)


def _as_objects(span: Span, objects: dict[ObjectSelection, list[float]]) -> bool:
    """Whether a span only requires objects above some pT. If so, record the minimum pT of the leading object
    of the selection, of the second …, in descending order."""
    number, floor = span.of, span.low
    if isinstance(number, Count):
        least, floor = min(math.ceil(max(floor, 0.0)), 2.0 * _LEGS), -math.inf
    elif isinstance(number, Element) and number.column == "pt":
        least = number.index + 1
    else:
        return False
    if span.high < math.inf or span.low == -math.inf or not least <= _LEGS:
        return False
    floors = objects.setdefault(number.of, [])
    floors += [-math.inf] * (int(least) - len(floors))
    floors[: int(least)] = [max(held, floor) for held in floors[: int(least)]]
    return True


def _legs(selection: ObjectSelection, floors: list[float]) -> Iterator[CompiledLeg]:
    for floor in floors:
        yield CompiledLeg(selection, (("pt", Window(min=floor)),) if floor > -math.inf else ())


def _span_contains(wide: Span, others: Iterable[Span]) -> bool:
    same = [span for span in others if span.of == wide.of]
    low = max((span.low for span in same), default=-math.inf)
    high = min((span.high for span in same), default=math.inf)
    return bool(same) and wide.low <= low and high <= wide.high


def _leg_contains(wide: CompiledLeg, narrow: CompiledLeg) -> bool:
    """Whether every object that passes the narrow leg also passes the wide leg."""
    if wide.crossing != narrow.crossing or not _among(narrow.objects, wide.objects):
        return False
    if any(wide.column(name) != narrow.column(name) for name in wide.columns & narrow.columns):
        return False  # their cuts on several legs read different columns
    windows = list(_all_windows(narrow))
    return all(
        any(column == name and _windows_contain(window, other_window) for name, other_window in windows)
        for column, window in wide.windows
    )


def _among(objects: ObjectSelection, ranges_of: ObjectSelection) -> bool:
    """Whether one selection contains all objects of another."""
    if ranges_of in (objects, ObjectSelection(objects.base)):
        return True
    return objects.source is not None and _among(objects.source, ranges_of)


def _all_windows(leg: CompiledLeg) -> Iterator[tuple[Column, Window | AnyOf]]:
    yield from leg.windows
    objects: ObjectSelection | None = leg.objects
    while objects:
        yield from objects.windows
        objects = objects.source


def _windows_contain(wide: Window | AnyOf, narrow: Window | AnyOf) -> bool:
    return all(any(one.contains(other) for one in any_of(wide)) for other in any_of(narrow))


def _matches(candidates: list[list[int]]) -> Iterator[list[int]]:
    """Yield all assignments of different candidates to the legs, up to a maximum number of steps."""
    chosen: list[int] = []
    turns = [iter(candidates[0])]
    for _ in range(_STEPS):
        following = next((i for i in turns[-1] if i not in chosen), None)
        if following is None:
            turns.pop()
            if not turns:
                return
            chosen.pop()
        elif len(turns) == len(candidates):
            yield [*chosen, following]
        else:
            chosen.append(following)
            turns.append(iter(candidates[len(chosen)]))


def _passes(wide: Choice, narrow: Choice, chosen: list[int]) -> bool:
    """Whether the cuts of the narrow choice imply that its chosen legs pass the cuts of the wide one."""

    def same(cut: Cut, other: Cut) -> bool:
        if cut.quantity & OF_ALL:  # sums in another order are rounded differently
            return chosen == list(range(len(narrow.legs))) and cut.legs == other.legs
        return {chosen[leg] for leg in cut.legs} == {*other.legs}

    return all(
        any(same(cut, other) and _cut_contains(cut, other) for other in narrow.cuts) for cut in wide.cuts
    )


def _cut_contains(wide: Cut, narrow: Cut) -> bool:
    """Whether a cut implies another on the same objects. The numbers after the limits define the quantity."""
    meant, other = ((cut.quantity, cut.outside, cut.numbers[2:]) for cut in (wide, narrow))
    if meant != other:
        return False
    inner, outer = (wide, narrow) if wide.outside else (narrow, wide)
    return outer.numbers[0] <= inner.numbers[0] and inner.numbers[1] <= outer.numbers[1]
