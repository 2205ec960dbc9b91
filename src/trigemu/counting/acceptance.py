"""With which probability triggers accept a pattern of decisions: prescales, coherent sets, seeds.

An event in which trigger t fires is accepted by t with probability a_t = d_t / p_t; with a seed, by what
`seeds.py` says. One primitive, for any set S of triggers and one event:

    or(S) = 1 − Π over coherent sets C of (1 − max of a_t, t in S ∩ C)

for triggers that neither read others as their seed nor are read; what seeds bind together counts as one such
set, with the probability that any of its triggers in S accepts.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trigemu.counting.coherent import Sets, coherent_sets, counter_of, missed_of, or_of, unique_of
from trigemu.counting.seeds import Node, Seeded
from trigemu.menus import Menu, Trigger
from trigemu.support import BoolArray, FloatArray, IntArray, PluginError, Words
from trigemu.triggers import BitKind


@dataclass(frozen=True)
class Pairs:
    """With which probability a trigger of one list and one of another accept an event together.

    first, second: float64[m, s], float64[m, t], the acceptances of each. alike: bool[s, t], which share a
    counter: the smaller acceptance is that of both; else their product, unless seeds bind them: then it is
    bound[combination, of_first, of_second], float64[c, nodes, nodes] with combination int64[m] of each
    pattern and of_first int64[s], of_second int64[t] the node of each trigger, or −1.
    """

    first: FloatArray
    second: FloatArray
    alike: BoolArray
    bound: FloatArray
    combination: IntArray
    of_first: IntArray
    of_second: IntArray


class Part(NamedTuple):
    """What accepts an event independently of all else: sets of triggers that share a counter; and what the
    counters of their seeds may give, each with its probability and float64[t], the acceptances then."""

    sets: Sets
    outcomes: list[tuple[float, FloatArray]]


@dataclass(frozen=True)
class Acceptance:
    """The probabilities with which t enabled triggers accept m patterns.

    total: float64[m, t], each by itself. sets: the triggers that share a prescale counter, without those in
    `seeded`.
    """

    total: FloatArray
    sets: Sets
    seeded: Seeded | None = None

    def either(self, members: BoolArray) -> FloatArray:
        """float64[m]: or(S), for members bool[t]."""
        either = or_of(self.total, _within(self.sets, members))
        if self.seeded:
            best = self.seeded.either(self.seeded.members(members))
            either = best + either * (1.0 - best)
        return either

    def unique(self, members: BoolArray) -> FloatArray:
        """float64[m, t]: or(S) − or(S without t), as a product, so that nothing cancels; 0 for others."""
        sets = _within(self.sets, members)
        unique = unique_of(self.total, sets)
        if self.seeded:
            inside = self.seeded.members(members)
            of_nodes = self.seeded.unique(inside)
            unique *= 1.0 - self.seeded.either(inside)[:, None]
            missed = missed_of(self.total, sets)[:, None]
            unique[:, self.seeded.column[inside]] = of_nodes[:, inside] * missed
        return unique

    def lost(self, members: BoolArray, trigger: int) -> FloatArray:
        """float64[m]: by how much or(S) is lower if a trigger that is none of S never accepts: what S loses
        that is seeded by it. Below 0 where a seed asks that it does not accept."""
        node = -1 if self.seeded is None else int(_node_of(self.seeded, self.total.shape[1])[trigger])
        if self.seeded is None or node < 0:
            return np.zeros(len(self.total))
        missed = missed_of(self.total, _within(self.sets, members))
        return missed * self.seeded.lost(self.seeded.members(members), node)

    def pairs(self) -> Pairs:
        """Every trigger with every other."""
        t = self.total.shape[1]
        alike = _alike(self.sets, t)
        if self.seeded is None:
            return Pairs(self.total, self.total, alike, *_UNBOUND, np.full(t, -1), np.full(t, -1))
        node = _node_of(self.seeded, t)
        return Pairs(self.total, self.total, alike, self.seeded.both(), self.seeded.combination, node, node)

    def outcomes(self, pattern: int, members: BoolArray) -> Iterator[Part]:
        """How some triggers, bool[t], accept one pattern, one independent part after the other."""
        for together in _within(self.sets, members):
            yield Part([together], [(1.0, self.total[pattern])])
        if self.seeded:
            inside = np.flatnonzero(self.seeded.members(members))
            columns, counter = self.seeded.column[inside], self.seeded.counters[inside]
            sets = [columns[counter == c].tolist() for c in np.unique(counter)]
            for probability, accept in self.seeded.outcomes(pattern):
                rows = np.zeros((len(accept), self.total.shape[1]))
                rows[:, columns] = accept[:, inside]
                yield Part(sets, list(zip(probability.tolist(), rows, strict=True)))


#: No trigger is bound to others by a seed.
_UNBOUND = (np.zeros((1, 1, 1)), np.zeros(0, np.int64))


def acceptances(words: Words, menu: Menu, bits: Mapping[str, int]) -> Acceptance:
    """With which probabilities the enabled triggers accept m patterns. TrigemuError where too many prescaled
    seeds fire together."""
    own, raw = _decisions(words, menu, bits)
    nodes = list(_nodes(menu, own, raw, _bound_counters(menu)))
    bound = {node.column for node in nodes}
    seeded = Seeded(nodes) if nodes else None
    free = [i for i in range(len(menu.enabled)) if i not in bound]
    sets = [[free[i] for i in members] for members in coherent_sets([menu.enabled[i] for i in free])]
    total = np.empty((len(words), len(menu.enabled)))
    for column in free:
        trigger = menu.enabled[column]
        total[:, column] = own[trigger.name] / trigger.prescale
    if seeded:
        placed = seeded.column >= 0
        total[:, seeded.column[placed]] = seeded.total()[:, placed]
    return Acceptance(total, sets, seeded)


def pairs_between(
    words: Words, first: tuple[Menu, Mapping[str, int]], second: tuple[Menu, Mapping[str, int]]
) -> Pairs:
    """The triggers of one menu with those of another, of which those of one name or of one coherent set
    share their counters."""
    a, b = (acceptances(words, *which) for which in (first, second))
    s, t = (menu.enabled for menu, _ in (first, second))
    alike = np.array([[counter_of(x) == counter_of(y) for y in t] for x in s])
    if not (a.seeded or b.seeded):
        return Pairs(a.total, b.total, alike, *_UNBOUND, np.full(len(s), -1), np.full(len(t), -1))
    both: list[Node] = []
    counters = frozenset(_bound_counters(first[0]) | _bound_counters(second[0]))
    for which, ((menu, bits), shift) in enumerate(((first, 0), (second, len(s)))):
        for node in _nodes(menu, *_decisions(words, menu, bits), counters):
            key, reads = (which, node.key), {name: (which, other) for name, other in node.reads.items()}
            column = node.column + shift if node.column >= 0 else -1
            both.append(replace(node, key=key, reads=reads, column=column))
    bound = Seeded(both)
    node_of = _node_of(bound, len(s) + len(t))
    return Pairs(
        a.total, b.total, alike, bound.both(), bound.combination, node_of[: len(s)], node_of[len(s) :]
    )


def _node_of(seeded: Seeded, triggers: int) -> IntArray:
    """int64[t]: the node of each trigger, or −1."""
    node = np.full(triggers, -1, np.int64)
    placed = np.flatnonzero(seeded.column >= 0)
    node[seeded.column[placed]] = placed
    return node


def _bound_counters(menu: Menu) -> set[Hashable]:
    """Those of triggers that read others as their seed, or are read."""
    seeded = [trigger for trigger in menu.enabled if trigger.seed]
    read = [menu.trigger(name) for trigger in seeded if trigger.seed for name in trigger.seed.names()]
    return {counter_of(trigger) for trigger in (*seeded, *read)}


def _nodes(
    menu: Menu,
    own: Mapping[str, BoolArray],
    raw: Mapping[str, BoolArray],
    counters: Container[Hashable],
) -> Iterator[Node]:
    """The triggers with some counters, all that are bound by seeds among them. One that is not enabled
    counts by its raw decision, one that a column of prescales switches off never accepts."""
    enabled = {trigger.name: column for column, trigger in enumerate(menu.enabled)}
    read = {name for t in menu.enabled if t.seed for name in t.seed.names()}
    for name in menu.order:
        trigger = menu.trigger(name)
        if name in enabled and counter_of(trigger) in counters:
            seed = trigger.seed
            reads = {other: other for other in seed.names()} if seed else {}
            column, prescale = enabled[name], trigger.prescale
            yield Node(name, name, column, counter_of(trigger), prescale, seed, reads, own[name])
        elif name not in enabled and name in read:
            fired = raw[name] & (trigger.prescale < math.inf)
            yield Node(name, name, -1, ("disabled", name), 1.0, None, {}, fired)


def raw_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """bool[m] of each trigger, in the menu's `order`: its decision before prescales in each of m patterns."""
    return _decisions(words, menu, bits)[1]


def _decisions(
    words: Words, menu: Menu, bits: Mapping[str, int]
) -> tuple[dict[str, BoolArray], dict[str, BoolArray]]:
    """Before prescales, bool[m] of each trigger: its own, without its seed; and with it, which is raw."""
    own: dict[str, BoolArray] = {}
    raw: dict[str, BoolArray] = {}
    for name in menu.order:
        trigger = menu.trigger(name)
        if name in bits:
            word, bit = divmod(bits[name], 64)
            own[name] = (words[:, word] >> np.uint64(bit)) & np.uint64(1) != 0
        else:
            own[name] = _of_bits(trigger, raw, len(words))
        raw[name] = own[name] & trigger.seed.evaluate(raw) if trigger.seed else own[name]
    return own, raw


def _of_bits(trigger: Trigger, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
    assert isinstance(trigger.description, BitKind)
    where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
    try:
        fired = trigger.description.decide(raw, n)
    except Exception as error:
        raise PluginError(f"{where} failed: {type(error).__name__}: {error}") from error
    if not isinstance(fired, np.ndarray) or fired.dtype != np.bool_ or fired.shape != (n,):
        raise PluginError(f"{where} gave {type(fired).__name__}, expected an array bool[{n}]")
    return fired


def _within(sets: Sets, members: BoolArray) -> Sets:
    """What of each set is a member; sets without any are left out, which changes no bit."""
    if members.all():
        return sets
    inside = ([i for i in together if members[i]] for together in sets)
    return [together for together in inside if together]


def _alike(sets: Sets, triggers: int) -> BoolArray:
    """bool[t, t]: which are in one set."""
    number = np.arange(triggers) + len(sets)
    for i, together in enumerate(sets):
        number[list(together)] = i
    alike: BoolArray = number[:, None] == number
    return alike
