"""Which triggers can accept nothing that others do not accept too: their unique rate is 0 by construction.

What a trigger accepts is written as a sum of products of literals: its own decision (unless it is made of
decisions), its prescale counter (unless its prescale is 1), and by its seed those of others. One literal may
imply another: a decision by the extents of both triggers (`triggers/extent.py`), a counter within a coherent
set. A product lies within a trigger if it contradicts each product of what that one does not accept.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple, Protocol

from trigemu.menus import Menu, Trigger
from trigemu.rates.results import TriggerRates
from trigemu.triggers import Expression, Extent, Logic, parse_expression

#: Of longer sums nothing is claimed.
_TERMS = 64


class _Literal(NamedTuple):
    """That a trigger fires by itself, or that its prescale counter lets an event pass; or that not."""

    of: str
    counter: bool
    true: bool


_Term = frozenset[_Literal]
_Sum = frozenset[_Term]
_NEVER: _Sum = frozenset()
_ALWAYS: _Sum = frozenset([frozenset()])


class _Reading(Protocol):
    """Where a trigger, by name, accepts or fires; or where it does not."""

    def __call__(self, name: str, true: bool) -> _Sum: ...


class _TooLongError(Exception):
    pass


def with_containment(menu: Menu, found: Iterable[TriggerRates]) -> Iterator[TriggerRates]:
    """Rates of triggers and groups of a menu, in which 0 takes the place of an upper limit on a unique rate
    that is 0 by construction: among the enabled triggers of its level."""
    containments: dict[str | None, Containment] = {}
    for rates in found:
        if rates.unique.events:
            yield rates
            continue
        among = [trigger for trigger in menu.enabled if trigger.level == rates.level]
        if rates.level not in containments:
            containments[rates.level] = Containment(menu, among)
        names = [t.name for t in among if rates.name == (t.group if rates.kind == "group" else t.name)]
        if within := containments[rates.level].of(names):
            zero = replace(rates.unique, upper_limit_hz=None, contained_in=within)
            rates = rates.with_rate("unique", zero)
        yield rates


class Containment:
    """What a menu shows of which triggers contain others. among: where those that contain are looked for."""

    def __init__(self, menu: Menu, among: Sequence[Trigger]) -> None:
        self._menu, self._among = menu, [trigger.name for trigger in among]
        self._extents: dict[str, Extent | None] = {}
        self._implied: dict[tuple[str, str], bool] = {}
        self._refused: dict[str, _Sum] = {}

    def of(self, names: Collection[str]) -> tuple[str, ...]:
        """Other triggers that between them accept all that some triggers accept, one alone if possible; none
        where the menu does not show that there are any."""
        try:
            terms = _joined([self._accepts(name, True) for name in names], False)
        except _TooLongError:
            return ()
        first: dict[_Term, str] = {}
        for name in self._among:
            inside = [term for term in terms if self._inside(term, name)] if name not in names else []
            if len(inside) == len(terms) > 0:
                return (name,)
            first = dict.fromkeys(inside, name) | first
        found = {*first.values()} if len(first) == len(terms) else ()
        return tuple(name for name in self._among if name in found)

    def _inside(self, term: _Term, name: str) -> bool:
        """Whether a trigger accepts wherever a term holds."""
        try:
            if name not in self._refused:
                self._refused[name] = self._accepts(name, False)
        except _TooLongError:
            return False
        return all(self._contradictory(term | refused) for refused in self._refused[name])

    def _contradictory(self, term: _Term) -> bool:
        denied = [literal for literal in term if not literal.true]
        return any(self._implies(one, other) for one in term if one.true for other in denied)

    def _implies(self, one: _Literal, other: _Literal) -> bool:
        if one.counter != other.counter or one.of == other.of:
            return one.counter == other.counter
        if one.counter:
            return _counts_with(self._menu.trigger(one.of), self._menu.trigger(other.of))
        names = one.of, other.of
        if names not in self._implied:
            narrow, wide = map(self._extent, names)
            self._implied[names] = narrow is not None and wide is not None and wide.contains(narrow)
        return self._implied[names]

    def _extent(self, name: str) -> Extent | None:
        if name not in self._extents:
            self._extents[name] = self._menu.extent(self._menu.trigger(name))
        return self._extents[name]

    def _accepts(self, name: str, true: bool) -> _Sum:
        """Given which of its seeds accept. A trigger that is not enabled is read before prescales, one that a
        column of prescales switches off never accepts."""
        trigger = self._menu.trigger(name)
        if trigger.prescale == math.inf:
            return _NEVER if true else _ALWAYS
        if not trigger.enabled:
            return self._fires(name, true)
        parts = [self._decides(trigger, true)]
        if trigger.prescale != 1.0:
            parts.append(frozenset([frozenset([_Literal(name, True, true)])]))
        if trigger.seed:
            parts.append(_read(trigger.seed, true, self._accepts))
        return _joined(parts, true)

    def _fires(self, name: str, true: bool) -> _Sum:
        """Before prescales."""
        trigger = self._menu.trigger(name)
        seeds = [_read(trigger.seed, true, self._fires)] if trigger.seed else []
        return _joined([self._decides(trigger, true), *seeds], true)

    def _decides(self, trigger: Trigger, true: bool) -> _Sum:
        """Without its seed."""
        if isinstance(trigger.description, Logic):
            return _read(parse_expression(trigger.description.expression), true, self._fires)
        return frozenset([frozenset([_Literal(trigger.name, False, true)])])


def _counts_with(one: Trigger, other: Trigger) -> bool:
    """Whether the counter of the other lets pass all that the one's does."""
    shared = one.coherent is not None and one.coherent == other.coherent
    return shared and one.prescale >= other.prescale


def _read(expression: Expression, true: bool, reading: _Reading) -> _Sum:
    """Where an expression is true, or where it is not."""
    if not expression.operation:
        return reading(expression.name, true)
    inner = true != (expression.operation == "not")
    return _joined(
        [_read(operand, inner, reading) for operand in expression.operands],
        (expression.operation == "and") == true,
    )


def _joined(parts: Iterable[_Sum], all_: bool) -> _Sum:
    """Where all of some sums hold, or any of them."""
    joined = _ALWAYS if all_ else _NEVER
    for part in parts:
        joined = frozenset(one | other for one, other in product(joined, part)) if all_ else joined | part
        if len(joined) > _TERMS:
            raise _TooLongError
    return joined
