"""The probabilities that triggers accept a pattern of decisions: prescales, coherent sets, seeds.

Trigger t with decision d_t and prescale p_t accepts an event with probability a_t = d_t / p_t; with a seed,
with the probability given in `seeds.py`. Everything follows from one quantity, for any set S of triggers and
one event:

    or(S) = 1 − Π over coherent sets C of (1 − max of a_t, t in S ∩ C)

This applies to triggers that neither have seeds nor are seeds. Triggers that are connected by seeds count as
one such set, with the probability that any of its triggers in S accepts.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import PluginError, TrigemuError, own_cause
from trigemu.base.kernels import inlined, kernel
from trigemu.base.plugins import place_of_method, reason_of
from trigemu.counting.seeds import Node, Seeded
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import no_column
from trigemu.triggers.base import BitKind

#: The positions of triggers that share a counter, for each set.
Sets = Sequence[Sequence[int]]


def counter_of(trigger: Trigger) -> Hashable:
    """Return a key that is equal for triggers that share their prescale counter."""
    return ("set", trigger.coherent) if trigger.coherent else ("alone", trigger.name)


def coherent_sets(triggers: Sequence[Trigger]) -> list[list[int]]:
    """Return the positions of the triggers of each set; a trigger that shares no counter is a set."""
    sets: dict[Hashable, list[int]] = {}
    for position, trigger in enumerate(triggers):
        sets.setdefault(counter_of(trigger), []).append(position)
    return list(sets.values())


def or_of(accepted: FloatArray, sets: Sets) -> FloatArray:
    """Return float64[m], the probability that at least one trigger accepts, from float64[m, t].

    The order of operations guarantees, to the last bit, that a single set gives its own value, that an empty
    one has no effect and that a 1 stays 1: a zero must not become an event of weight 1e-17.
    """
    either = np.zeros(len(accepted))
    _or(accepted, *_flat(sets), either)
    return either


def unique_of(accepted: FloatArray, sets: Sets) -> FloatArray:
    """Return float64[m, t], or(M) − or(M without t), computed as a product to avoid cancellation."""
    member, starts = _flat(sets)
    unique, best, after = np.zeros(accepted.shape), np.zeros(len(sets)), np.ones(len(sets) + 1)
    _unique(accepted, member, starts, unique, best, after)
    return unique


def missed_of(accepted: FloatArray, sets: Sets) -> FloatArray:
    """Return float64[m], the probability that no trigger accepts."""
    missed = np.ones(len(accepted))
    _missed(accepted, *_flat(sets), missed)
    return missed


def _flat(sets: Sets) -> tuple[IntArray, IntArray]:
    """Return the members of all sets in one array, and the position at which each set starts."""
    starts = np.cumsum([0, *map(len, sets)])
    return np.array([member for members in sets for member in members], np.int64), starts


@inlined
def _best(accepted: FloatArray, row: int, member: IntArray, first: int, last: int) -> float:
    """Return the probability that a set accepts: its largest acceptance."""
    best = 0.0
    for index in range(first, last):
        best = max(best, accepted[row, member[index]])
    return best


@kernel
def _or(accepted: FloatArray, member: IntArray, starts: IntArray, either: FloatArray) -> None:
    for row in range(accepted.shape[0]):
        for number in range(len(starts) - 1):
            best = _best(accepted, row, member, starts[number], starts[number + 1])
            if best > 0.0:
                either[row] = best + either[row] * (1.0 - best)


@kernel
def _missed(accepted: FloatArray, member: IntArray, starts: IntArray, missed: FloatArray) -> None:
    for row in range(accepted.shape[0]):
        for number in range(len(starts) - 1):
            best = _best(accepted, row, member, starts[number], starts[number + 1])
            missed[row] *= 1.0 - best


@kernel
def _unique(
    accepted: FloatArray,
    member: IntArray,
    starts: IntArray,
    unique: FloatArray,
    best: FloatArray,
    after: FloatArray,
) -> None:
    """best, after: float64[sets] and float64[sets + 1]; the last of `after` is 1."""
    sets = len(starts) - 1
    for row in range(accepted.shape[0]):
        for number in range(sets):
            best[number] = _best(accepted, row, member, starts[number], starts[number + 1])
        for number in range(sets - 1, -1, -1):
            after[number] = after[number + 1] * (1.0 - best[number])
        before = 1.0
        for number in range(sets):
            others = before * after[number + 1]  # the probability that no other set accepts
            before *= 1.0 - best[number]
            if others == 0.0 or best[number] == 0.0:
                continue
            for index in range(starts[number], starts[number + 1]):
                without = 0.0
                for other in range(starts[number], starts[number + 1]):
                    if other != index:
                        without = max(without, accepted[row, member[other]])
                unique[row, member[index]] = others * (best[number] - without)


class Pairs(NamedTuple):
    """The probabilities that a trigger of one list and one of another list both accept an event."""

    first: FloatArray  # first, second: float64[m, s], float64[m, t]: the acceptances of each list
    second: FloatArray
    # bool[s, t]: whether two triggers share a counter: their joint acceptance is then the smaller one,
    # otherwise the product.
    same_counter: BoolArray
    # float64[c, nodes, nodes]: for two triggers connected by seeds, the joint acceptance is
    # bound[combination, of_first, of_second].
    bound: FloatArray
    combination: IntArray  # int64[m]: the first index of `bound`, for each pattern
    # of_first, of_second: int64[s], int64[t]: the other indices, for each trigger; −1 if no seed connects it.
    of_first: IntArray
    of_second: IntArray

    def take(self, rows: slice | IntArray) -> Pairs:
        """Return the pairs in the patterns `rows`."""
        first, second = self.first[rows], self.second[rows]
        return self._replace(first=first, second=second, combination=self.combination[rows])


class Part(NamedTuple):
    """Triggers that accept an event independently of all others. sets: triggers that share a counter.
    outcomes: the possible outcomes of the counters of their seeds, each with its probability and the
    acceptances, float64[t]."""

    sets: Sets
    outcomes: list[tuple[float, FloatArray]]


@dataclass(frozen=True)
class Acceptance:
    """The probabilities that t enabled triggers accept m patterns.

    Attributes
    ----------
    total : float64[m, t]
        The probability for each trigger by itself.
    sets : list of lists of int
        The triggers that share a prescale counter, except those in `seeded`.
    seeded : Seeded or None
        The triggers that are connected by seeds.
    """

    total: FloatArray
    sets: Sets
    seeded: Seeded | None = None

    def either(self, members: BoolArray) -> FloatArray:
        """Return or(S), float64[m], for the triggers S in `members`, bool[t]."""
        either = or_of(self.total, _within(self.sets, members))
        if self.seeded:
            best, _ = self.seeded.either_and_none(self.seeded.members(members))
            either = best + either * (1.0 - best)
        return either

    def unique(self, members: BoolArray) -> FloatArray:
        """Return or(S) − or(S without t), float64[m, t], for S in `members`, bool[t]; 0 for triggers outside
        of S. It is computed as a product to avoid cancellation."""
        sets = _within(self.sets, members)
        unique = unique_of(self.total, sets)
        if self.seeded:
            inside = self.seeded.members(members)
            of_nodes = self.seeded.unique(inside)
            unique *= self.seeded.either_and_none(inside)[1][:, None]
            missed = missed_of(self.total, sets)[:, None]
            unique[:, self.seeded.column[inside]] = of_nodes[:, inside] * missed
        return unique

    def lost(self, members: BoolArray, trigger: int) -> FloatArray:
        """Return the decrease of or(S) if a `trigger` outside of S, `members`, never accepts, float64[m]: the
        loss of the triggers in S that it seeds. It is negative if a seed requires that it does not accept."""
        node = -1 if self.seeded is None else int(_node_of(self.seeded, self.total.shape[1])[trigger])
        if self.seeded is None or node < 0:
            return np.zeros(len(self.total))
        missed = missed_of(self.total, _within(self.sets, members))
        return missed * self.seeded.lost(self.seeded.members(members), node)

    def pairs(self) -> Pairs:
        """Return the joint acceptances of every trigger with every other."""
        t = self.total.shape[1]
        same_counter = _same_counter(self.sets, t)
        if self.seeded is None:
            return Pairs(self.total, self.total, same_counter, *_UNBOUND, np.full(t, -1), np.full(t, -1))
        node = _node_of(self.seeded, t)
        return Pairs(
            self.total, self.total, same_counter, self.seeded.both(), self.seeded.combination, node, node
        )

    def outcomes(self, pattern: int, members: BoolArray) -> Iterator[Part]:
        """Yield the independent parts of the triggers in `members`, bool[t], for a `pattern`, its row."""
        for together in _within(self.sets, members):
            yield Part([together], [(1.0, self.total[pattern])])
        if self.seeded:
            inside = np.flatnonzero(self.seeded.members(members))
            columns, counter = self.seeded.column[inside], self.seeded.counter[inside]
            sets = [columns[counter == c].tolist() for c in np.unique(counter)]
            for probability, accept in self.seeded.outcomes(pattern):
                rows = np.zeros((len(accept), self.total.shape[1]))
                rows[:, columns] = accept[:, inside]
                yield Part(sets, list(zip(probability.tolist(), rows, strict=True)))


#: The fields of `Pairs` if seeds connect no triggers.
_UNBOUND = (np.zeros((1, 1, 1)), np.zeros(0, np.int64))


def acceptances(words: Words, menu: Menu, bits: Mapping[str, int]) -> Acceptance:
    """Return the probabilities that the enabled triggers of a menu accept patterns.

    Parameters
    ----------
    words : uint64[m, w]
        The patterns.
    menu : Menu
        The menu, with t enabled triggers.
    bits : mapping of str to int
        The bit of the patterns with the decision of each trigger (`Plan`).

    Returns
    -------
    Acceptance
        The probabilities for m patterns and t triggers.

    Raises
    ------
    TrigemuError
        If too many prescaled seeds fire together, or if no column of prescales is chosen (`solve_budgets`).
    """
    if menu.columns.names and not menu.columns.chosen:
        raise TrigemuError(no_column(menu))
    own_decided, raw = _decisions(words, menu, bits)
    nodes = list(_nodes(menu, own_decided, raw, _bound_counters(menu)))
    bound = {node.column for node in nodes}
    seeded = Seeded(nodes) if nodes else None
    free = [i for i in range(len(menu.enabled)) if i not in bound]
    sets = [[free[i] for i in members] for members in coherent_sets([menu.enabled[i] for i in free])]
    total = np.empty((len(words), len(menu.enabled)))
    for column in free:
        trigger = menu.enabled[column]
        total[:, column] = own_decided[trigger.name] / trigger.prescale
    if seeded:
        placed = seeded.column >= 0
        total[:, seeded.column[placed]] = seeded.total()[:, placed]
    return Acceptance(total, sets, seeded)


def pairs_between(
    words: Words, first: tuple[Menu, Mapping[str, int]], second: tuple[Menu, Mapping[str, int]]
) -> Pairs:
    """Return the joint acceptances of the triggers of two menus. Triggers of the same coherent set share a
    counter, as do triggers with the same name outside of coherent sets."""
    a, b = (acceptances(words, *which) for which in (first, second))
    s, t = (menu.enabled for menu, _ in (first, second))
    number = {counter: i for i, counter in enumerate(dict.fromkeys(map(counter_of, (*s, *t))))}
    of_s, of_t = (
        np.array([number[counter_of(trigger)] for trigger in triggers], np.int64) for triggers in (s, t)
    )
    same_counter = np.equal(of_s[:, None], of_t)
    if not (a.seeded or b.seeded):
        return Pairs(a.total, b.total, same_counter, *_UNBOUND, np.full(len(s), -1), np.full(len(t), -1))
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
        a.total, b.total, same_counter, bound.both(), bound.combination, node_of[: len(s)], node_of[len(s) :]
    )


def _node_of(seeded: Seeded, triggers: int) -> IntArray:
    """Return the node of each trigger, or −1, int64[t]."""
    node = np.full(triggers, -1, np.int64)
    placed = np.flatnonzero(seeded.column >= 0)
    node[seeded.column[placed]] = placed
    return node


def _bound_counters(menu: Menu) -> set[Hashable]:
    """Return the counters of triggers that have seeds or are seeds."""
    seeded = [trigger for trigger in menu.enabled if trigger.seed]
    read = [menu.trigger(name) for trigger in seeded if trigger.seed for name in trigger.seed.names()]
    return {counter_of(trigger) for trigger in (*seeded, *read)}


def _nodes(
    menu: Menu,
    own_decided: Mapping[str, BoolArray],
    raw: Mapping[str, BoolArray],
    counters: Container[Hashable],
) -> Iterator[Node]:
    """Yield the nodes of the triggers with some `counters`, which include all triggers connected by seeds. A
    disabled trigger counts with its raw decision; one that a column of prescales switches off never
    accepts."""
    enabled = {trigger.name: column for column, trigger in enumerate(menu.enabled)}
    read = {name for t in menu.enabled if t.seed for name in t.seed.names()}
    for name in menu.order:
        trigger = menu.trigger(name)
        if name in enabled and counter_of(trigger) in counters:
            seed = trigger.seed
            reads = {other: other for other in seed.names()} if seed else {}
            column, prescale = enabled[name], trigger.prescale
            yield Node(name, name, column, counter_of(trigger), prescale, seed, reads, own_decided[name])
        elif name not in enabled and name in read:
            fired = raw[name] & (trigger.prescale < math.inf)
            yield Node(name, name, -1, ("disabled", name), 1.0, None, {}, fired)


def own_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu before prescales and without their seeds. words:
    uint64[m, w]; returns dict of str to bool[m]."""
    return _decisions(words, menu, bits)[0]


def raw_decisions(words: Words, menu: Menu, bits: Mapping[str, int]) -> dict[str, BoolArray]:
    """Return the decisions of the triggers of a menu before prescales. words: uint64[m, w]; returns dict of
    str to bool[m]."""
    return _decisions(words, menu, bits)[1]


def _decisions(
    words: Words, menu: Menu, bits: Mapping[str, int]
) -> tuple[dict[str, BoolArray], dict[str, BoolArray]]:
    """Return the decisions bool[m] of each trigger before prescales: without its seed, and with it (raw)."""
    own_decided: dict[str, BoolArray] = {}
    raw: dict[str, BoolArray] = {}
    used = {trigger.name for trigger in menu.used}
    for name in menu.order:
        if name not in used:
            continue
        trigger = menu.trigger(name)
        if name in bits:
            word, bit = divmod(bits[name], 64)
            own_decided[name] = (words[:, word] >> np.uint64(bit)) & np.uint64(1) != 0
        else:
            own_decided[name] = _of_bits(trigger, raw, len(words))
        raw[name] = own_decided[name] & trigger.seed.evaluate(raw) if trigger.seed else own_decided[name]
    return own_decided, raw


def _of_bits(trigger: Trigger, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
    assert isinstance(trigger.description, BitKind)
    where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
    try:
        fired: object = trigger.description.decide(raw, n)  # a plugin may return any type
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        raise PluginError(f"{where} failed: {reason_of(error)}") from error
    if not isinstance(fired, np.ndarray) or fired.dtype != np.bool_ or fired.shape != (n,):
        location = place_of_method(trigger.description, "decide")
        raise PluginError(f"{where} gave {type(fired).__name__}, expected an array bool[{n}]{location}")
    return fired


def _within(sets: Sets, members: BoolArray) -> Sets:
    """Return the members of each set, without empty sets, which do not affect the result."""
    if members.all():
        return sets
    inside = ([i for i in together if members[i]] for together in sets)
    return [together for together in inside if together]


def _same_counter(sets: Sets, triggers: int) -> BoolArray:
    """Return whether two triggers are in the same set, bool[t, t]."""
    number = np.arange(triggers) + len(sets)
    for i, together in enumerate(sets):
        number[list(together)] = i
    same: BoolArray = number[:, None] == number
    return same
