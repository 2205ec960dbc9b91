"""Triggers that seeds connect, and the exact probabilities with which they accept.

In one event each trigger without a seed accepts according to its prescale counter (a coherent set shares
one). Given which of them accepted, a trigger with a seed accepts with probability d / p if its expression is
true. Once the counters of all triggers that others read are fixed, everything else is independent: the
probabilities here are sums over the outcomes of these counters.

Only the triggers that fired matter in an event. Those that read each other, or share a counter, form a
component; components are independent. Within a component, a counter with k distinct prescales above 1 has k +
1 outcomes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.counting.counters import BOTH, EITHER, EXACTLY, LOST, TOTAL, UNIQUE, evaluate
from trigemu.counting.outcomes import AND, NOT, OR, components, outcomes
from trigemu.support import BoolArray, FloatArray, IntArray, TrigemuError
from trigemu.triggers import Expression

#: The largest number of outcomes of the counters of one component in one event: sixteen prescaled seeds.
MAX_OUTCOMES = 2**16


@dataclass(frozen=True)
class Node:
    """A trigger that reads others as its seed, or is read.

    key: how other nodes refer to it. column: its position among the enabled triggers, −1 for one that only
    serves as a seed. counter: the key of its prescale counter, common to its coherent set. prescale: ≥ 1.
    reads: the keys of the nodes that the names in `seed` refer to. fired: bool[m], its decision without the
    seed.
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
    """The nodes of a menu, in m patterns. Arrays have one column per node; each node comes after those it
    reads."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes = _in_order(nodes)
        self.column = np.array([node.column for node in nodes], np.int64)
        place = {node.key: number for number, node in enumerate(nodes)}
        # Sorted, so that probabilities are multiplied in the same order whichever menu comes first.
        counters = {
            counter: i for i, counter in enumerate(sorted({node.counter for node in nodes}, key=repr))
        }
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
        #: bool[c, nodes], the distinct combinations of nodes that fired; int64[m], the combination of each
        #: pattern.
        self._fired, self.combination = _distinct(fired)

    def members(self, triggers: BoolArray) -> BoolArray:
        """Return bool[nodes] from bool[t] over the enabled triggers."""
        members: BoolArray = triggers[self.column] & (self.column >= 0)
        return members

    def total(self) -> FloatArray:
        """Return the acceptance of each node by itself, float64[m, nodes]."""
        return self._total()[self.combination]

    def _total(self) -> FloatArray:
        found = self._evaluate(TOTAL, np.zeros((1, len(self._nodes)), np.bool_))
        first = np.diff(self._starts) == 0  # without a seed: exact to the last bit, not from a sum
        found[:, first] = self._fired[:, first] / self._prescale[first]
        return found

    def either_and_none(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities that any of the members accepts, and that none does, float64[m] each."""
        found = self._evaluate(EITHER, members[None])[self.combination]
        return found[:, 0], found[:, 1]

    def unique(self, members: BoolArray) -> FloatArray:
        """Return the probability that each member accepts and no other member does, float64[m, nodes]."""
        return self._evaluate(UNIQUE, members[None])[self.combination]

    def lost(self, members: BoolArray, node: int) -> FloatArray:
        """Return by how much the probability that any member accepts decreases if a node never does,
        float64[m]."""
        found: FloatArray = self._evaluate(LOST, members[None], node)[self.combination, 0]
        return found

    def exactly(self, members: BoolArray, others: BoolArray) -> FloatArray:
        """Return the probability that all members accept and none of the others does, float64[m]."""
        found: FloatArray = self._evaluate(EXACTLY, np.stack([members, others]))[self.combination, 0]
        return found

    def both(self) -> FloatArray:
        """Return the probability that two nodes accept together, float64[c, nodes, nodes], for each of the c
        combinations."""
        n = len(self._nodes)
        found = self._evaluate(BOTH, np.zeros((1, n), np.bool_)).reshape(-1, n, n)
        found[:, np.arange(n), np.arange(n)] = self._total()
        return found

    def outcomes(self, pattern: int) -> list[tuple[FloatArray, FloatArray]]:
        """Return the outcomes of each component of one pattern: their probabilities, float64[o], and the
        acceptances of the nodes for each, float64[o, nodes], independent except for nodes that share a
        counter."""
        fired = self._fired[self.combination[pattern]]
        component = components(fired, *self._graph)
        return [
            outcomes(fired, component, number, -1, *self._graph, self._prescale, self._read, MAX_OUTCOMES)
            for number in range(component.max(initial=-1) + 1)
        ]

    @property
    def counters(self) -> IntArray:
        """The number of the prescale counter of each node, int64[nodes]."""
        return self._counter

    @property
    def _graph(self) -> tuple[IntArray, IntArray, IntArray]:
        return self._counter, self._code, self._starts

    def _evaluate(self, what: int, masks: BoolArray, node: int = -1) -> FloatArray:
        found, too_many = evaluate(
            what, self._fired, masks, node, *self._graph, self._prescale, self._read, MAX_OUTCOMES
        )
        if too_many >= 0:
            names = [
                repr(other.name)
                for number, other in enumerate(self._nodes)
                if self._fired[too_many, number] and other.prescale > 1 and self._read[self._counter[number]]
            ]
            raise TrigemuError(
                f"the seeds {', '.join(dict.fromkeys(names))} are prescaled, fire together and are connected "
                f"by the triggers that they seed: their counters have more than {MAX_OUTCOMES} outcomes, too "
                f"many for exact rates; put some into one `coherent` set, or let fewer seeds share a trigger"
            )
        return found


def _in_order(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes sorted by the depth of their seeds and by name, so that the order of triggers in the
    menu does not matter."""
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
        return [*steps[0], NOT]
    operation = AND if expression.operation == "and" else OR
    return [*steps[0], *(step for more in steps[1:] for step in (*more, operation))]


def _distinct(fired: BoolArray) -> tuple[BoolArray, IntArray]:
    packed = np.packbits(fired, axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return fired[first], number.ravel().astype(np.int64)
