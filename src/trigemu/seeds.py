"""Triggers that are bound to others by seeds, and the exact probabilities with which they accept.

In one event each trigger without a seed accepts by its own prescale counter (a coherent set shares one);
given which of them accepted, a trigger with a seed accepts with probability d / p where its expression is
true of those. So once the counters of all triggers that others read are known, what is left is independent:
the probabilities here are sums over what these counters may give.

In an event only the triggers that fired matter. Those of them that read each other, or share a counter, form
a component; components are independent. Within one, a counter with k different prescales above 1 has k + 1
outcomes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.errors import TrigemuError
from trigemu.events import BoolArray, FloatArray, IntArray
from trigemu.kernels import kernel
from trigemu.triggers.logic import Expression

#: Outcomes of the counters of one component in one event: sixteen prescaled seeds.
MAX_OUTCOMES = 2**16

_AND, _OR, _NOT = -1, -2, -3


@dataclass(frozen=True)
class Node:
    """A trigger that reads others as its seed, or is read.

    key: what other nodes call it. column: its place among the enabled triggers, −1 for one that only serves
    as a seed. counter: what it shares with others of its coherent set. prescale: ≥ 1. reads: what the names
    in `seed` are called here.
    """

    key: Hashable
    name: str
    column: int
    counter: Hashable
    prescale: float
    seed: Expression | None
    reads: Mapping[str, Hashable]
    fired: BoolArray


class Seeded:
    """The nodes of a menu, in m patterns. Arrays have a column a node, in an order in which each comes after
    those it reads."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes = _in_order(nodes)
        self.column = np.array([node.column for node in nodes], np.int64)
        place = {node.key: number for number, node in enumerate(nodes)}
        counters = {counter: i for i, counter in enumerate(dict.fromkeys(node.counter for node in nodes))}
        code, starts = [list[int]() for _ in nodes], [0]
        for number, node in enumerate(nodes):
            if node.seed:
                code[number] = _postfix(node.seed, {name: place[key] for name, key in node.reads.items()})
            starts.append(starts[-1] + len(code[number]))
        self._code = np.array([step for steps in code for step in steps], np.int64)
        self._starts = np.array(starts, np.int64)
        self._prescale = np.array([node.prescale for node in nodes])
        self._counter = np.array([counters[node.counter] for node in nodes], np.int64)
        self._read = np.zeros(len(counters), np.bool_)  # counters of nodes that others read
        self._read[self._counter[self._code[self._code >= 0]]] = True
        fired = np.column_stack([node.fired for node in nodes])
        #: bool[c, nodes]: which nodes fired, each combination once; int64[m]: that of each pattern.
        self._fired, self.combination = _distinct(fired)

    def members(self, triggers: BoolArray) -> BoolArray:
        """bool[nodes], from bool[t] over the enabled triggers."""
        members: BoolArray = triggers[self.column] & (self.column >= 0)
        return members

    def total(self) -> FloatArray:
        """float64[m, nodes]: each by itself."""
        return self._total()[self.combination]

    def _total(self) -> FloatArray:
        found = self._evaluate(_TOTAL, np.zeros((1, len(self._nodes)), np.bool_))
        first = np.diff(self._starts) == 0  # without a seed: not a sum, to the last bit
        found[:, first] = self._fired[:, first] / self._prescale[first]
        return found

    def either(self, members: BoolArray) -> FloatArray:
        """float64[m]: any of the members accepts."""
        found: FloatArray = self._evaluate(_EITHER, members[None])[self.combination, 0]
        return found

    def unique(self, members: BoolArray) -> FloatArray:
        """float64[m, nodes]: each member accepts, no other one."""
        return self._evaluate(_UNIQUE, members[None])[self.combination]

    def lost(self, members: BoolArray, node: int) -> FloatArray:
        """float64[m]: by how much `either` is lower where a node never accepts."""
        found: FloatArray = self._evaluate(_LOST, members[None], node)[self.combination, 0]
        return found

    def exactly(self, members: BoolArray, others: BoolArray) -> FloatArray:
        """float64[m]: all members accept and none of the others does."""
        found: FloatArray = self._evaluate(_EXACTLY, np.stack([members, others]))[self.combination, 0]
        return found

    def both(self) -> FloatArray:
        """float64[c, nodes, nodes]: two accept together, for each of the c combinations."""
        n = len(self._nodes)
        found = self._evaluate(_BOTH, np.zeros((1, n), np.bool_)).reshape(-1, n, n)
        found[:, np.arange(n), np.arange(n)] = self._total()
        return found

    def outcomes(self, pattern: int) -> list[tuple[FloatArray, FloatArray]]:
        """Of each component of one pattern: probabilities float64[o], and float64[o, nodes], with which each
        node accepts then, independently but for those that share a counter."""
        fired = self._fired[self.combination[pattern]]
        component = _components(fired, *self._graph)
        return [
            _outcomes(fired, component, number, -1, *self._graph, self._prescale, self._read, MAX_OUTCOMES)
            for number in range(component.max(initial=-1) + 1)
        ]

    @property
    def counters(self) -> IntArray:
        """int64[nodes]"""
        return self._counter

    @property
    def _graph(self) -> tuple[IntArray, IntArray, IntArray]:
        return self._counter, self._code, self._starts

    def _evaluate(self, what: int, masks: BoolArray, node: int = -1) -> FloatArray:
        found, too_many = _evaluate(
            what, self._fired, masks, node, *self._graph, self._prescale, self._read, MAX_OUTCOMES
        )
        if too_many >= 0:
            names = [
                repr(other.name)
                for number, other in enumerate(self._nodes)
                if self._fired[too_many, number] and other.prescale > 1 and self._read[self._counter[number]]
            ]
            raise TrigemuError(
                f"the seeds {', '.join(dict.fromkeys(names))} are prescaled, fire together and are bound to "
                f"each other by what they seed: their counters have more than {MAX_OUTCOMES} outcomes, too "
                f"many for exact rates; put some into one `coherent` set, or let fewer seeds share a trigger"
            )
        return found


def _in_order(nodes: Sequence[Node]) -> list[Node]:
    """Sorted by how many seeds deep they are and by name, which makes no difference between menus that differ
    in the order of their triggers."""
    by_key = {node.key: node for node in nodes}
    depth: dict[Hashable, int] = {}

    def of(node: Node) -> int:
        if node.key not in depth:
            depth[node.key] = 1 + max((of(by_key[key]) for key in node.reads.values()), default=-1)
        return depth[node.key]

    return sorted(nodes, key=lambda node: (of(node), node.name, str(node.key)))


def _postfix(expression: Expression, place: Mapping[str, int]) -> list[int]:
    if not expression.operation:
        return [place[expression.name]]
    steps = [_postfix(operand, place) for operand in expression.operands]
    if expression.operation == "not":
        return [*steps[0], _NOT]
    operation = _AND if expression.operation == "and" else _OR
    return [*steps[0], *(step for more in steps[1:] for step in (*more, operation))]


def _distinct(fired: BoolArray) -> tuple[BoolArray, IntArray]:
    packed = np.packbits(fired, axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return fired[first], number.ravel().astype(np.int64)


# What `_evaluate` finds: its second axis is the members' masks, the nodes, or pairs of nodes.
_TOTAL, _EITHER, _UNIQUE, _LOST, _BOTH, _EXACTLY = range(6)


@kernel
def _components(fired: BoolArray, counter: IntArray, code: IntArray, starts: IntArray) -> IntArray:
    """int64[nodes]: the number of the component of each node that fired, −1 for the others."""
    nodes = len(fired)
    lowest = np.where(fired, np.arange(nodes), -1)
    changed = True
    while changed:
        changed = False
        for a in range(nodes):
            if not fired[a]:
                continue
            for b in range(a):
                if not fired[b] or lowest[a] == lowest[b]:
                    continue
                bound = counter[a] == counter[b]
                for k in range(starts[a], starts[a + 1]):
                    bound |= code[k] == b
                if bound:
                    least = min(lowest[a], lowest[b])
                    lowest[a] = least
                    lowest[b] = least
                    changed = True
    number, n = np.full(nodes, -1, np.int64), 0
    for node in range(nodes):
        if lowest[node] == node:
            number[node] = n
            n += 1
        elif lowest[node] >= 0:
            number[node] = number[lowest[node]]
    return number


@kernel
def _thresholds(
    component: IntArray, number: int, counter: IntArray, prescale: FloatArray, read: BoolArray
) -> tuple[FloatArray, IntArray]:
    """Of each counter that is read, the different 1 / p below 1, falling: float64[counters, nodes],
    int64[counters]."""
    nodes = len(component)
    value, n = np.zeros((len(read), nodes)), np.zeros(len(read), np.int64)
    for node in range(nodes):
        c = counter[node]
        if component[node] != number or not read[c] or prescale[node] <= 1.0:
            continue
        share = 1.0 / prescale[node]
        at = n[c]
        while at > 0 and value[c, at - 1] < share:
            at -= 1
        if at > 0 and value[c, at - 1] == share:
            continue
        for k in range(n[c], at, -1):
            value[c, k] = value[c, k - 1]
        value[c, at] = share
        n[c] += 1
    return value, n


@kernel
def _seen(code: IntArray, first: int, last: int, accept: FloatArray, stack: BoolArray) -> bool:
    """Whether a seed is true of those that accepted."""
    top = -1
    for k in range(first, last):
        step = code[k]
        if step >= 0:
            top += 1
            stack[top] = accept[step] == 1.0
        elif step == _NOT:
            stack[top] = not stack[top]
        else:
            top -= 1
            stack[top] = (stack[top] and stack[top + 1]) if step == _AND else (stack[top] or stack[top + 1])
    return bool(stack[0])


@kernel
def _outcomes(
    fired: BoolArray,
    component: IntArray,
    number: int,
    removed: int,
    counter: IntArray,
    code: IntArray,
    starts: IntArray,
    prescale: FloatArray,
    read: BoolArray,
    limit: int,
) -> tuple[FloatArray, FloatArray]:
    """Of one component: float64[o], the probability of each outcome of the counters that are read; and
    float64[o, nodes], with which each node accepts then, `removed` never. Nothing where there are too
    many."""
    nodes = len(fired)
    value, n = _thresholds(component, number, counter, prescale, read)
    outcomes = 1
    for c in range(len(read)):
        outcomes *= n[c] + 1
        if outcomes > limit:
            return np.zeros(0), np.zeros((0, nodes))
    probability, accept = np.ones(outcomes), np.zeros((outcomes, nodes))
    lowest, stack = np.empty(len(read)), np.empty(len(code) + 1, np.bool_)
    for outcome in range(outcomes):
        rest = outcome
        for c in range(len(read)):
            k = rest % (n[c] + 1)  # the counter lies below the first k thresholds, not below the next
            rest //= n[c] + 1
            lowest[c] = value[c, k - 1] if k > 0 else 1.0
            probability[outcome] *= lowest[c] - (value[c, k] if k < n[c] else 0.0)
            # k = 0: between 1 and the first; k = n: below the last
        for node in range(nodes):
            if component[node] != number or node == removed:
                continue
            if starts[node] < starts[node + 1] and not _seen(
                code, starts[node], starts[node + 1], accept[outcome], stack
            ):
                continue
            share = 1.0 / prescale[node]
            if read[counter[node]]:
                share = 1.0 if share >= lowest[counter[node]] else 0.0
            accept[outcome, node] = share
    return probability, accept


@kernel
def _either(accept: FloatArray, members: BoolArray, counter: IntArray, best: FloatArray) -> float:
    """Any member accepts, given an outcome. `best`: memory, one a counter."""
    best[:] = 0.0
    for node in range(len(accept)):
        if members[node]:
            best[counter[node]] = max(best[counter[node]], accept[node])
    either = 0.0
    for c in range(len(best)):
        if best[c] > 0.0:
            either = best[c] + either * (1.0 - best[c])
    return either


@kernel
def _add_unique(
    accept: FloatArray,
    probability: float,
    members: BoolArray,
    counter: IntArray,
    best: FloatArray,
    unique: FloatArray,
) -> None:
    """Add the probability that one member accepts and no other does, given an outcome, to float64[nodes]."""
    _either(accept, members, counter, best)
    for node in range(len(accept)):
        if not members[node] or accept[node] == 0.0:
            continue
        others = probability
        for c in range(len(best)):
            if c != counter[node]:
                others *= 1.0 - best[c]
        without = 0.0
        for other in range(len(accept)):
            if other != node and members[other] and counter[other] == counter[node]:
                without = max(without, accept[other])
        if accept[node] > without:
            unique[node] += others * (accept[node] - without)


@kernel
def _of_component(
    what: int,
    probability: FloatArray,
    accept: FloatArray,
    members: BoolArray,
    counter: IntArray,
    best: FloatArray,
    into: FloatArray,
) -> None:
    """Add up over the outcomes of a component: into float64[nodes], or float64[nodes²] for pairs."""
    nodes = accept.shape[1]
    for o in range(len(probability)):
        p = probability[o]
        if what == _UNIQUE:
            _add_unique(accept[o], p, members, counter, best, into)
            continue
        for a in range(nodes):
            if accept[o, a] == 0.0:
                continue
            if what == _TOTAL:
                into[a] += p * accept[o, a]
                continue
            for b in range(nodes):
                if a == b:
                    into[a * nodes + b] += p * accept[o, a]
                elif counter[a] == counter[b]:
                    into[a * nodes + b] += p * min(accept[o, a], accept[o, b])
                else:
                    into[a * nodes + b] += p * accept[o, a] * accept[o, b]


@kernel
def _sum_either(
    probability: FloatArray, accept: FloatArray, members: BoolArray, counter: IntArray, best: FloatArray
) -> float:
    """Any member accepts. What is certain in every outcome is 1 to the last bit."""
    total, certain = 0.0, True
    for o in range(len(probability)):
        either = _either(accept[o], members, counter, best)
        total += probability[o] * either
        certain &= either == 1.0
    return 1.0 if certain else total


@kernel
def _sum_exactly(
    probability: FloatArray,
    accept: FloatArray,
    here: BoolArray,
    members: BoolArray,
    others: BoolArray,
    counter: IntArray,
    least: FloatArray,
) -> float:
    """All members of a component accept and none of its others. `least`: memory, one a counter."""
    total = 0.0
    for o in range(len(probability)):
        least[:] = 1.0
        for node in range(len(here)):
            if here[node] and members[node]:
                least[counter[node]] = min(least[counter[node]], accept[o, node])
        exactly = probability[o]
        for c in range(len(least)):
            most = 0.0
            for node in range(len(here)):
                if here[node] and others[node] and counter[node] == c:
                    most = max(most, accept[o, node])
            exactly *= max(0.0, least[c] - most)
        total += exactly
    return total


@kernel
def _evaluate(
    what: int,
    fired: BoolArray,
    masks: BoolArray,
    removed: int,
    counter: IntArray,
    code: IntArray,
    starts: IntArray,
    prescale: FloatArray,
    read: BoolArray,
    limit: int,
) -> tuple[FloatArray, int]:
    """For each of some combinations: its probabilities; and a combination with too many outcomes, or −1."""
    nodes = fired.shape[1]
    width = 1 if what in (_EITHER, _LOST, _EXACTLY) else nodes * nodes if what == _BOTH else nodes
    found = np.zeros((len(fired), width))
    best, members = np.empty(len(read)), masks[0]
    for row in range(len(fired)):
        if what == _LOST and not fired[row, removed]:
            continue
        component = _components(fired[row], counter, code, starts)
        either, lost, exactly = 0.0, 0.0, 1.0
        if what == _EXACTLY and (members & ~fired[row]).any():
            continue
        hits = np.zeros(nodes)
        for number in range(component.max() + 1):
            probability, accept = _outcomes(
                fired[row], component, number, -1, counter, code, starts, prescale, read, limit
            )
            if len(probability) == 0:
                return found, row
            if what in (_TOTAL, _UNIQUE, _BOTH):
                _of_component(what, probability, accept, members, counter, best, found[row])
            if what in (_TOTAL, _BOTH):
                continue
            if what == _EXACTLY:
                here = component == number
                exactly *= _sum_exactly(probability, accept, here, members, masks[1], counter, best)
                continue
            if what == _LOST and component[removed] == number:
                _, without = _outcomes(
                    fired[row], component, number, removed, counter, code, starts, prescale, read, limit
                )
                for o in range(len(probability)):  # most outcomes lose nothing, exactly
                    kept = _either(without[o], members, counter, best)
                    lost += probability[o] * (_either(accept[o], members, counter, best) - kept)
                continue
            hits[number] = _sum_either(probability, accept, members, counter, best)
            either = hits[number] + either * (1.0 - hits[number])
        if what == _EITHER:
            found[row, 0] = either
        elif what == _EXACTLY:
            found[row, 0] = exactly
        elif what == _LOST:
            found[row, 0] = lost * (1.0 - either)
        elif what == _UNIQUE:
            _without_others(found[row], component, hits)
        elif what == _BOTH:
            _between_components(found[row], component, nodes)
    return found, -1


@kernel
def _without_others(unique: FloatArray, component: IntArray, hits: FloatArray) -> None:
    """Given that no other component accepts."""
    for node in range(len(unique)):
        for number in range(len(hits)):
            if unique[node] > 0.0 and number != component[node]:
                unique[node] *= 1.0 - hits[number]


@kernel
def _between_components(both: FloatArray, component: IntArray, nodes: int) -> None:
    """Nodes of different components are independent."""
    for a in range(nodes):
        for b in range(nodes):
            if component[a] >= 0 and component[b] >= 0 and component[a] != component[b]:
                both[a * nodes + b] = both[a * nodes + a] * both[b * nodes + b]
