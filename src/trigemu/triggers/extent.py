"""In which events a trigger fires, as far as its description shows, and whether these contain another's.

A kind that can say so gives an `Extent`: spans of numbers, choices of objects, and further conditions. It
fires where all of them hold, and only there. What cannot be seen to be contained counts as not contained.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from trigemu.observables import (
    AnyOf,
    Column,
    Condition,
    Constant,
    Count,
    Derivation,
    Element,
    Junction,
    Relation,
    Window,
    any_of,
    closed,
)
from trigemu.triggers.combination.legs import CompiledLeg
from trigemu.triggers.combination.pairs import OF_ALL, Cut

#: Of a longer choice of objects than this, and after so many steps, nothing is claimed.
_LEGS = 32
_STEPS = 10_000


@dataclass(frozen=True)
class Span:
    """low ≤ a number ≤ high. of: the number, or what stands for it: equal ones are the same number."""

    of: object
    low: float
    high: float = math.inf


@dataclass(frozen=True)
class Choice:
    """Different objects, one a leg, that pass cuts together."""

    legs: tuple[CompiledLeg, ...]
    cuts: tuple[Cut, ...] = ()

    def contains(self, other: Choice) -> bool:
        """Whether other legs, each within one of its own, make a choice wherever there is the other one."""
        if not self._wanted <= other._wanted:
            return False
        candidates = [
            [i for i, narrow in enumerate(other.legs) if _leg_contains(wide, narrow)] for wide in self.legs
        ]
        return any(_passes(self, other, chosen) for chosen in _matches(candidates))

    @cached_property
    def _wanted(self) -> Counter[tuple[str, int]]:
        """How many objects of each collection and crossing."""
        return Counter((leg.objects.base, leg.crossing) for leg in self.legs)


@dataclass(frozen=True)
class Extent:
    """The trigger fires where all of this holds. conditions: equal ones hold in the same events."""

    spans: tuple[Span, ...] = ()
    choices: tuple[Choice, ...] = ()
    conditions: tuple[object, ...] = ()

    def contains(self, other: Extent) -> bool:
        """Whether it holds wherever the other does; False where that cannot be seen."""
        return (
            all(_span_contains(span, other.spans) for span in self.spans)
            and all(any(own.contains(choice) for choice in other.choices) for own in self.choices)
            and all(condition in other.conditions for condition in self.conditions)
        )


def extent_of(conditions: Iterable[Condition], spans: Iterable[Span] = ()) -> Extent:
    """Where all of some conditions hold, and numbers are in spans."""
    objects: dict[Derivation, list[float]] = {}
    found, others = list(spans), []
    for condition in (part for whole in conditions for part in _conjuncts(whole)):
        span = _span(condition)
        if span is None:
            others.append(condition)
        elif not _as_objects(span, objects):
            found.append(span)
    choices = (Choice(tuple(_legs(of, floors))) for of, floors in objects.items() if floors)
    return Extent(tuple(found), tuple(choices), tuple(others))


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, Junction) and condition.operation == "and":
        for operand in condition.operands:
            yield from _conjuncts(operand)
    else:
        yield condition


_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "=="}


def _span(condition: Condition) -> Span | None:
    """Of a number that is compared with a constant."""
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


def _as_objects(span: Span, objects: dict[Derivation, list[float]]) -> bool:
    """Whether a span asks for objects from a pT on and no more; if so, its pT is noted, of each derivation
    that of the leading object, of the second …, falling."""
    number, floor = span.of, span.low
    if isinstance(number, Count):
        least, floor = min(math.ceil(max(floor, 0.0)), 2.0 * _LEGS), -math.inf
    elif isinstance(number, Element) and number.column == "pt":
        least = number.index + 1
    else:
        return False
    if span.high < math.inf or span.low == -math.inf or not least <= _LEGS:
        return False
    known = objects.setdefault(number.of, [])
    known += [-math.inf] * (int(least) - len(known))
    known[: int(least)] = [max(own, floor) for own in known[: int(least)]]
    return True


def _legs(of: Derivation, floors: list[float]) -> Iterator[CompiledLeg]:
    for floor in floors:
        yield CompiledLeg(of, (("pt", Window(min=floor)),) if floor > -math.inf else ())


def _span_contains(wide: Span, others: Iterable[Span]) -> bool:
    same = [span for span in others if span.of == wide.of]
    low = max((span.low for span in same), default=-math.inf)
    high = min((span.high for span in same), default=math.inf)
    return bool(same) and wide.low <= low and high <= wide.high


def _leg_contains(wide: CompiledLeg, narrow: CompiledLeg) -> bool:
    """Whether each object for the narrow leg is one for the wide leg."""
    if wide.crossing != narrow.crossing or not _among(narrow.objects, wide.objects):
        return False
    known = list(_all_windows(narrow))
    return all(
        any(column == name and _windows_contain(window, of) for name, of in known)
        for column, window in wide.windows
    )


def _among(objects: Derivation, of: Derivation) -> bool:
    """Whether all objects of one derivation are among those of another."""
    if of in (objects, Derivation(objects.base)):
        return True
    return objects.source is not None and _among(objects.source, of)


def _all_windows(leg: CompiledLeg) -> Iterator[tuple[Column, Window | AnyOf]]:
    yield from leg.windows
    of: Derivation | None = leg.objects
    while of:
        yield from of.windows
        of = of.source


def _windows_contain(wide: Window | AnyOf, narrow: Window | AnyOf) -> bool:
    return all(any(one.contains(other) for one in any_of(wide)) for other in any_of(narrow))


def _matches(candidates: list[list[int]]) -> Iterator[list[int]]:
    """A different candidate for each leg, in all ways, as far as a number of steps leads."""
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
    """Whether the cuts of the narrow choice make its chosen legs pass those of the wide one."""

    def same(cut: Cut, other: Cut) -> bool:
        if cut.quantity & OF_ALL:  # sums round otherwise in another order
            return chosen == list(range(len(narrow.legs))) and cut.legs == other.legs
        return {chosen[leg] for leg in cut.legs} == {*other.legs}

    return all(
        any(same(cut, other) and _cut_contains(cut, other) for other in narrow.cuts) for cut in wide.cuts
    )


def _cut_contains(wide: Cut, narrow: Cut) -> bool:
    """Of the same objects. What follows the limits says how the quantity is computed."""
    meant, other = ((cut.quantity, cut.outside, cut.numbers[2:]) for cut in (wide, narrow))
    if meant != other:
        return False
    inner, outer = (wide, narrow) if wide.outside else (narrow, wide)
    return outer.numbers[0] <= inner.numbers[0] and inner.numbers[1] <= outer.numbers[1]
