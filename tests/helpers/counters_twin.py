"""Prescale counters, slow and obvious: every outcome of every counter, and every trigger in each.

A counter is one number U, uniform between 0 and 1; a trigger on it lets an event pass where U < 1/p. The
triggers of a coherent set share one, every other trigger has its own. Nothing is approximated or factorised:
all results are fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

#: The name of a trigger, ("not", e), ("and", e, …) or ("or", e, …).
Expression = str | tuple[Any, ...]


@dataclass(frozen=True)
class Toy:
    """A trigger. Its own decision is given with the event, made from raw decisions (`logic`), or always
    true (`random_hz`, which also multiplies the prescale by the crossing rate over it)."""

    name: str
    prescale: Fraction | float = 1
    level: str | None = None
    coherent: str | None = None
    seed: Expression | None = None
    logic: Expression | None = None
    random_hz: float | None = None
    enabled: bool = True
    group: str | None = None


@dataclass(frozen=True)
class ToyMenu:
    """Triggers in the order of the file, and the names of their levels, the first one first."""

    triggers: tuple[Toy, ...]
    levels: tuple[str, ...] = ()
    crossing_rate_hz: float = 40e6

    @cached_property
    def enabled(self) -> tuple[Toy, ...]:
        return tuple(t for t in self.triggers if t.enabled)

    @property
    def given(self) -> tuple[Toy, ...]:
        """The triggers whose own decisions an event gives."""
        return tuple(t for t in self.triggers if t.logic is None and t.random_hz is None)

    def acceptance(self, trigger: Toy) -> Fraction:
        """1/p."""
        own = (
            1 if trigger.random_hz is None else Fraction(self.crossing_rate_hz) / Fraction(trigger.random_hz)
        )
        return 1 / (Fraction(trigger.prescale) * own)

    def peers(self, trigger: Toy) -> tuple[Toy, ...]:
        """The enabled triggers of its level; without levels, all enabled triggers."""
        return tuple(t for t in self.enabled if t.level == trigger.level)


@dataclass(frozen=True)
class Contributions:
    """f of every quantity in one event: of the menu, of levels, triggers and groups by name, of pairs.

    lost: what the last level would lose without an item of an earlier one, negative where it would gain.
    changed: the probability that its decision changes at all, so that lost is zero because nothing happens
    or because gains and losses are equal.
    """

    menu: Fraction
    levels: dict[str, Fraction]
    total: dict[str, Fraction]
    unique: dict[str, Fraction]
    share: dict[str, Fraction]
    group_total: dict[str, Fraction]
    group_unique: dict[str, Fraction]
    group_share: dict[str, Fraction]
    overlap: dict[tuple[str, str], Fraction]
    lost: dict[str, Fraction]
    changed: dict[str, Fraction]


def names_in(expression: Expression) -> set[str]:
    if isinstance(expression, str):
        return {expression}
    return set().union(*(names_in(operand) for operand in expression[1:]))


def holds(expression: Expression, value: Callable[[str], bool]) -> bool:
    if isinstance(expression, str):
        return value(expression)
    operation, *operands = expression
    values = [holds(operand, value) for operand in operands]
    return {"not": not values[0], "and": all(values), "or": any(values)}[operation]


class Event:
    """One event of a menu: the decisions of the triggers in `given`, by name."""

    def __init__(self, menu: ToyMenu, decisions: Mapping[str, bool]) -> None:
        self.menu, self.decisions = menu, decisions
        self.by_name = {t.name: t for t in menu.triggers}
        self.own = {t.name: self._own(t.name) for t in menu.triggers}
        self.raw = {t.name: self._raw(t.name) for t in menu.triggers}
        self._accepted: dict[frozenset[str], frozenset[str]] = {}
        #: The width of each outcome of all counters, the triggers that pass theirs, and those that accept.
        self.outcomes = [(width, passed, self.accepts(passed)) for width, passed in self._outcomes()]
        self.units = sum(width for width, *_ in self.outcomes)
        #: The triggers that accept → the width of all outcomes in which they do, and no others.
        self.accepted: dict[frozenset[str], int] = {}
        for width, _, accepted in self.outcomes:
            self.accepted[accepted] = self.accepted.get(accepted, 0) + width

    def _own(self, name: str) -> bool:
        """The raw decision without the seed."""
        trigger = self.by_name[name]
        if trigger.logic is not None:
            return holds(trigger.logic, self._raw)
        return trigger.random_hz is not None or bool(self.decisions[name])

    def _raw(self, name: str) -> bool:
        seed = self.by_name[name].seed
        return self._own(name) and (seed is None or holds(seed, self._raw))

    def _counters(self) -> Iterator[list[tuple[int, set[str]]]]:
        """Of each counter on which something fires, its outcomes: the intervals between the distinct 1/p,
        each with its width in units of a common denominator and the triggers that pass."""
        sets: dict[tuple[str, str], list[Toy]] = {}
        for t in self.menu.enabled:
            if self.own[t.name]:
                sets.setdefault(("set", t.coherent) if t.coherent else ("own", t.name), []).append(t)
        for members in sets.values():
            limits = {t.name: self.menu.acceptance(t) for t in members}
            edges = sorted({Fraction(0), *limits.values(), Fraction(1)})
            units = math.lcm(*(edge.denominator for edge in edges))
            yield [
                (int((high - low) * units), {name for name, limit in limits.items() if low < limit})
                for low, high in itertools.pairwise(edges)
            ]

    def _outcomes(self) -> Iterator[tuple[int, frozenset[str]]]:
        """All outcomes of all counters together: the width, and the triggers that pass their counters."""
        for chosen in itertools.product(*self._counters()):
            passed = frozenset[str]().union(*(passed for _, passed in chosen))
            yield math.prod(width for width, _ in chosen), passed

    def accepts(self, passed: frozenset[str]) -> frozenset[str]:
        """The triggers that accept if the counters let some pass."""
        if passed not in self._accepted:
            self._accepted[passed] = self._accepts(passed)
        return self._accepted[passed]

    def _accepts(self, passed: frozenset[str]) -> frozenset[str]:
        known: dict[str, bool] = {}

        def accept(name: str) -> bool:
            if name not in known:
                seed = self.by_name[name].seed
                known[name] = name in passed and (seed is None or holds(seed, seeding))
            return known[name]

        def seeding(name: str) -> bool:
            return accept(name) if self.by_name[name].enabled else self.raw[name]

        return frozenset(t.name for t in self.menu.enabled if accept(t.name))

    def either(self, triggers: Iterable[Toy]) -> Fraction:
        """or(S): the probability that any of some triggers accepts."""
        names = {t.name for t in triggers}
        parts = (width for accepted, width in self.accepted.items() if not names.isdisjoint(accepted))
        return Fraction(sum(parts), self.units)

    def without(self, item: Toy) -> tuple[Fraction, Fraction]:
        """What the last level loses if an item never accepts; the probability that its decision changes."""
        last = {t.name for t in self.menu.enabled if t.level == self.menu.levels[-1]}
        lost = changed = 0
        for width, passed, accepted in self.outcomes:
            if item.name in accepted:
                before = not last.isdisjoint(accepted)
                after = not last.isdisjoint(self.accepts(passed - {item.name}))
                lost += width * (before - after)
                changed += width * (before != after)
        return Fraction(lost, self.units), Fraction(changed, self.units)


def contributions(menu: ToyMenu, decisions: Mapping[str, bool]) -> Contributions:
    """Every quantity in one event. Of a trigger that never accepts in it, all are zero."""
    event, on = Event(menu, decisions), menu.enabled
    either, zero = event.either, dict.fromkeys((t.name for t in on), Fraction(0))
    total = {t.name: either([t]) for t in on}
    some = [t for t in on if total[t.name]]
    share = zero | {t.name: _share(event, t, total) for t in some}
    groups = {name: [t for t in on if t.group == name] for name in sorted({t.group for t in on if t.group})}
    of_level = {level: either([t for t in on if t.level == level]) for level in menu.levels}
    earlier = [t.name for t in on if t.level in menu.levels[:-1]]
    lost = dict.fromkeys(earlier, (Fraction(0), Fraction(0)))
    lost |= {t.name: event.without(t) for t in some if t.name in earlier}
    return Contributions(
        menu=of_level[menu.levels[-1]] if menu.levels else either(on),
        levels=of_level,
        total=total,
        unique=zero | {t.name: _unique(event, [t]) for t in some},
        share=share,
        group_total={name: either(members) for name, members in groups.items()},
        group_unique={name: _unique(event, members) for name, members in groups.items()},
        group_share={
            name: sum((share[t.name] for t in members), Fraction()) for name, members in groups.items()
        },
        overlap=dict.fromkeys(itertools.product(zero, zero), Fraction(0))
        | {
            (s.name, t.name): total[s.name] + total[t.name] - either([s, t])
            for s, t in itertools.product(some, some)
        },
        lost={name: value for name, (value, _) in lost.items()},
        changed={name: value for name, (_, value) in lost.items()},
    )


def _unique(event: Event, members: Sequence[Toy]) -> Fraction:
    """Of triggers of one level: or(M) − or(M without them)."""
    peers = event.menu.peers(members[0])
    return event.either(peers) - event.either(t for t in peers if t not in members)


def _share(event: Event, trigger: Toy, total: Mapping[str, Fraction]) -> Fraction:
    peers = event.menu.peers(trigger)
    return event.either(peers) * total[trigger.name] / sum(total[t.name] for t in peers)
