"""Triggers whose unique rate is 0 by construction, because others accept all their events; thresholds at
rounded values of columns.

The events that a trigger accepts are written as a sum of products of literals: its own decision (unless it is
computed from other decisions), its prescale counter (unless its prescale is 1), and through its seed the
literals of others. One literal may imply another: decisions through the extents of the triggers
(`triggers/extent.py`), counters within a coherent set. A product is contained in a trigger if it contradicts
each product of the events that the trigger rejects.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple, Protocol

from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.expressions import Scalar
from trigemu.observables.windows import any_of
from trigemu.rates.results import TriggerRates
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.normalisation import Rounding
from trigemu.triggers.extent import Extent
from trigemu.triggers.logic import Expression, Logic, parse_expression

#: Containment is not stated for longer sums.
_TERMS = 64


class _Literal(NamedTuple):
    """The statement that a trigger fires by itself, or that its prescale counter accepts an event, or the
    negation of either."""

    of: str
    counter: bool
    true: bool


_Term = frozenset[_Literal]
_Sum = frozenset[_Term]
_NEVER: _Sum = frozenset()
_ALWAYS: _Sum = frozenset([frozenset()])


class _Reading(Protocol):
    """The condition for a trigger to accept or fire as a sum of products; its negation if `true` is false."""

    def __call__(self, name: str, true: bool) -> _Sum: ...


class _TooLongError(Exception):
    pass


def with_containment(
    menu: Menu, triggers: Sequence[TriggerRates], groups: Sequence[TriggerRates]
) -> tuple[tuple[TriggerRates, ...], tuple[TriggerRates, ...]]:
    """Apply containment within a level to the rates of triggers and groups: a unique rate that is 0 by
    construction has no upper limit and names the containing triggers, whose rates bound the upper limits on
    its other rates."""
    levels = {level: [t for t in menu.enabled if t.level == level] for level in menu.levels or (None,)}
    containments = {level: Containment(menu, among) for level, among in levels.items()}

    def within(rates: TriggerRates) -> tuple[str, ...]:
        if rates.unique.events:
            return ()
        is_group = rates.kind == "group"
        trigger_rates = (t for t in levels[rates.level] if rates.name == (t.group if is_group else t.name))
        return containments[rates.level].of([trigger.name for trigger in trigger_rates])

    inside = {rates.name: others for rates in triggers if (others := within(rates))}
    limits = _limits(triggers, inside)
    return (
        tuple(_contained(rates, inside.get(rates.name, ()), limits) for rates in triggers),
        tuple(_contained(rates, within(rates), limits) for rates in groups),
    )


def _limits(triggers: Sequence[TriggerRates], inside: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the total rate of each trigger in Hz, or its upper limit, which the triggers that contain it
    bound; these may be contained themselves."""
    totals = {rates.name: rates.total for rates in triggers}
    limits = {name: r.hz if r.upper_limit_hz is None else r.upper_limit_hz for name, r in totals.items()}
    unseen = [name for name in inside if totals[name].upper_limit_hz is not None]
    for _ in unseen:
        for name in unseen:
            limits[name] = min(limits[name], sum(limits[other] for other in inside[name]))
    return limits


def _contained(rates: TriggerRates, within: tuple[str, ...], limits: Mapping[str, float]) -> TriggerRates:
    """Return the rates of a trigger or group that others contain; unchanged if there are none."""
    if not within:
        return rates
    bound = sum(limits[name] for name in within)
    bounded = {
        quantity: replace(rate, upper_limit_hz=min(rate.upper_limit_hz, bound))
        for quantity, rate in rates.rates.items()
        if rate.upper_limit_hz is not None
    }
    zero = replace(rates.unique, upper_limit_hz=None, contained_in=within)
    return replace(rates, rates={**rates.rates, **bounded, "unique": zero})


class Containment:
    """Containment between the triggers of a menu. among: the triggers that may contain others."""

    def __init__(self, menu: Menu, among: Sequence[Trigger]) -> None:
        self._menu, self._among = menu, [trigger.name for trigger in among]
        self._extents: dict[str, Extent | None] = {}
        self._implied: dict[tuple[str, str], bool] = {}
        self._refused: dict[str, _Sum] = {}
        self._sums: dict[tuple[str, str, bool], _Sum | None] = {}

    def of(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the names of other triggers that together accept all events that the triggers `names`
        accept, a single one if possible; empty if none can be proved from the menu."""
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
        containing = {*first.values()} if len(first) == len(terms) else ()
        return tuple(name for name in self._among if name in containing)

    def _inside(self, term: _Term, name: str) -> bool:
        """Whether a trigger accepts every event for which a term is true."""
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
        return self._once(("accepts", name, true), self._when_it_accepts)

    def _fires(self, name: str, true: bool) -> _Sum:
        return self._once(("fires", name, true), self._when_it_fires)

    def _once(self, key: tuple[str, str, bool], reading: _Reading) -> _Sum:
        """Return a sum, computed once: triggers that each read another one twice would double the work."""
        if key not in self._sums:
            try:
                self._sums[key] = reading(*key[1:])
            except _TooLongError:
                self._sums[key] = None
        terms = self._sums[key]
        if terms is None:
            raise _TooLongError
        return terms

    def _when_it_accepts(self, name: str, true: bool) -> _Sum:
        """Return the condition for a trigger to accept, given which of its seeds accept. A disabled trigger
        counts before prescales; one that a column of prescales switches off never accepts."""
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

    def _when_it_fires(self, name: str, true: bool) -> _Sum:
        """Return the condition for a trigger to fire, before prescales."""
        trigger = self._menu.trigger(name)
        seeds = [_read(trigger.seed, true, self._fires)] if trigger.seed else []
        return _joined([self._decides(trigger, true), *seeds], true)

    def _decides(self, trigger: Trigger, true: bool) -> _Sum:
        """Return the condition for a trigger to fire, without its seed."""
        if isinstance(trigger.description, Logic):
            return _read(parse_expression(trigger.description.expression), true, self._fires)
        return frozenset([frozenset([_Literal(trigger.name, False, true)])])


def _counts_with(one: Trigger, other: Trigger) -> bool:
    """Whether the counter of `other` accepts every event that the counter of `one` accepts."""
    shared = one.coherent is not None and one.coherent == other.coherent
    return shared and one.prescale >= other.prescale


def _read(expression: Expression, true: bool, reading: _Reading) -> _Sum:
    """Return the condition for an expression to be true, or to be false."""
    if not expression.operation:
        return reading(expression.name, true)
    inner = true != (expression.operation == "not")
    return _joined(
        [_read(operand, inner, reading) for operand in expression.operands],
        (expression.operation == "and") == true,
    )


def _joined(parts: Iterable[_Sum], all_: bool) -> _Sum:
    """Return the condition for all of some sums to be true, or any of them."""
    joined = _ALWAYS if all_ else _NEVER
    for part in parts:
        joined = frozenset(one | other for one, other in product(joined, part)) if all_ else joined | part
        if len(joined) > _TERMS:
            raise _TooLongError
    return joined


#: The smallest ratio of step to threshold with a warning. Jets and photons of the embedded sample are below
#: it; the rate on their thresholds is comparable to the statistical error of the rates.
COARSE = 0.005
#: The fraction of a rate that lies on a threshold, divided by that ratio: 3 to 6 for jets, 15 in the falling
#: spectrum of missing momentum.
STEEPEST = 15.0
#: The number of thresholds that a warning names.
_NAMED = 4


def on_stored_values(menu: Menu, catalogue: Catalogue) -> Iterator[str]:
    """Yield a warning if there are such thresholds on a pT or on a scalar of the sample."""
    roundings = catalogue.table.rounding
    coarse: dict[str, float] = {}
    for trigger in menu.enabled if roundings else ():
        for name, low in _lowest(menu, trigger):
            threshold = _stored(low, roundings[name]) if name in roundings else None
            if threshold and (step := _step(threshold, roundings[name])) >= COARSE * threshold:
                coarse[f"{trigger.name} ({name} {threshold:g}, step {step:g})"] = step / threshold
    if coarse:
        more = f" and {len(coarse) - _NAMED} more" if len(coarse) > _NAMED else ""
        named = ", ".join([*coarse][:_NAMED]) + more
        share = 100 * min(1.0, STEEPEST * max(coarse.values()))
        yield (
            f"the sample is rounded, and events lie exactly on the thresholds of {named}: up to about "
            f"{share:.0f} % of the rate, which 'above' rejects and 'min' accepts"
        )


def _lowest(menu: Menu, trigger: Trigger) -> Iterator[tuple[str, float]]:
    """Yield the lowest pT of a collection, or value of a scalar of the sample, that a trigger accepts."""
    if extent := menu.extent(trigger):
        for span in extent.spans:
            if isinstance(span.of, Scalar):
                yield span.of.name, span.low
        for leg in (leg for choice in extent.choices for leg in choice.legs):
            for name, windows in leg.windows:
                if name == "pt":
                    yield from ((leg.objects.base, window.span()[0]) for window in any_of(windows))


def _stored(low: float, rounding: Rounding) -> float | None:
    """Return the smallest accepted or the largest rejected value if it is a rounded value; else None."""
    for value in (math.nextafter(low, -math.inf), low):
        step = _step(value, rounding)  # 0 next to 0
        if 0 < value < math.inf and step and value / step % 1 == (0.5 if rounding.centred else 0.0):
            return value
    return None


def _step(value: float, rounding: Rounding) -> float:
    return math.ldexp(1.0, math.frexp(value)[1] - 1 - rounding.bits)
