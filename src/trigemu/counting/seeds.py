"""Triggers that are connected by seeds, and the exact probabilities that they accept.

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

from trigemu.counting import counters
from trigemu.counting.outcomes import AND, NOT, OR, Graph, Outcomes, all_components, outcomes_of
from trigemu.support import BoolArray, FloatArray, IntArray, TrigemuError
from trigemu.triggers import Expression

#: The largest number of outcomes of the counters of one component in one event: sixteen prescaled seeds.
MAX_OUTCOMES = 2**16


@dataclass(frozen=True)
class Node:
    """A trigger that has a seed or is one.

    key: identifies it for other nodes. column: its position among the enabled triggers, −1 if it is only a
    seed. counter: the key of its prescale counter, common to its coherent set. prescale: ≥ 1. reads: the keys
    of the nodes for the names in `seed`. fired: bool[m], its decision without the seed.
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
    """The nodes of a menu, in m patterns. Arrays have one column per node; each node follows those that it
    reads."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes = _in_order(nodes)
        self.column = np.array([node.column for node in nodes], np.int64)
        position = {node.key: number for number, node in enumerate(nodes)}
        # Sorted, so that the order of multiplications does not depend on the order of menus.
        number_of = {key: i for i, key in enumerate(sorted({node.counter for node in nodes}, key=repr))}
        counter = np.array([number_of[node.counter] for node in nodes], np.int64)
        programs = [_program(node, position) for node in nodes]
        code = np.array([step for program in programs for step in program], np.int64)
        read = np.zeros(len(number_of), np.bool_)
        read[counter[code[code >= 0]]] = True
        prescale = np.array([node.prescale for node in nodes])
        self._graph = Graph(counter, prescale, code, np.cumsum([0, *map(len, programs)]), read)
        #: bool[c, nodes], the distinct combinations of nodes that fired; int64[m], the combination of each
        #: pattern; int64[c, nodes], the component of each node.
        self._fired, self.combination = _distinct(np.column_stack([node.fired for node in nodes]))
        self._component, too_many = all_components(self._fired, self._graph, MAX_OUTCOMES)
        if too_many >= 0:
            raise self._too_many_outcomes(self._fired[too_many])

    def members(self, triggers: BoolArray) -> BoolArray:
        """Return bool[nodes] from bool[t] over the enabled triggers."""
        members: BoolArray = triggers[self.column] & (self.column >= 0)
        return members

    def total(self) -> FloatArray:
        """Return the acceptance of each node by itself, float64[m, nodes]."""
        return self._total()[self.combination]

    def _total(self) -> FloatArray:
        total = counters.total(self._component, self._graph)
        first = np.diff(self._graph.starts) == 0  # without a seed: exact to the last bit, unlike a sum
        total[:, first] = self._fired[:, first] / self._graph.prescale[first]
        return total

    def either_and_none(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities that any of the members accepts, and that none does, float64[m] each."""
        probabilities = counters.either_and_none(self._component, self._graph, members)[self.combination]
        return probabilities[:, 0], probabilities[:, 1]

    def unique(self, members: BoolArray) -> FloatArray:
        """Return the probability that each member accepts and no other member does, float64[m, nodes]."""
        return counters.unique(self._component, self._graph, members)[self.combination]

    def lost(self, members: BoolArray, node: int) -> FloatArray:
        """Return the decrease of the probability that any member accepts if a node never accepts,
        float64[m]."""
        return counters.lost(self._component, self._graph, members, node)[self.combination]

    def exactly(self, members: BoolArray, others: BoolArray) -> FloatArray:
        """Return the probability that all members accept and none of the others does, float64[m]."""
        return counters.exactly(self._component, self._graph, members, others)[self.combination]

    def both(self) -> FloatArray:
        """Return the probability that two nodes accept together, float64[c, nodes, nodes], for each of the c
        combinations."""
        joint, nodes = counters.both(self._component, self._graph), np.arange(len(self._nodes))
        joint[:, nodes, nodes] = self._total()
        return joint

    def outcomes(self, pattern: int) -> list[Outcomes]:
        """Return the outcomes of each component of one pattern. Given these, nodes are independent unless
        they share a counter."""
        component = self._component[self.combination[pattern]]
        numbers = range(component.max(initial=-1) + 1)
        return [outcomes_of(component, number, self._graph, -1) for number in numbers]

    @property
    def counter(self) -> IntArray:
        """The number of the prescale counter of each node, int64[nodes]."""
        return self._graph.counter

    def _too_many_outcomes(self, fired: BoolArray) -> TrigemuError:
        names = [
            repr(node.name)
            for node, of, counter in zip(self._nodes, fired, self._graph.counter, strict=True)
            if of and node.prescale > 1 and self._graph.read[counter]
        ]
        return TrigemuError(
            f"the seeds {', '.join(dict.fromkeys(names))} are prescaled, fire together and are connected "
            f"by the triggers that they seed: their counters have more than {MAX_OUTCOMES} outcomes, too "
            f"many for exact rates; put some into one `coherent` set, or use fewer seeds in a trigger"
        )


def _in_order(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes sorted by the depth of their seeds and by name, independent of the order of triggers
    in the menu."""
    by_key = {node.key: node for node in nodes}
    depth: dict[Hashable, int] = {}

    def of(node: Node) -> int:
        if node.key not in depth:
            depth[node.key] = 1 + max((of(by_key[key]) for key in node.reads.values()), default=-1)
        return depth[node.key]

    return sorted(nodes, key=lambda node: (of(node), node.name, str(node.key)))


def _program(node: Node, position: Mapping[Hashable, int]) -> list[int]:
    """Return the seed of a node for `Graph.code`."""
    return _postfix(node.seed, {name: position[key] for name, key in node.reads.items()}) if node.seed else []


def _postfix(expression: Expression, position: Mapping[str, int]) -> list[int]:
    if not expression.operation:
        return [position[expression.name]]
    steps = [_postfix(operand, position) for operand in expression.operands]
    if expression.operation == "not":
        return [*steps[0], NOT]
    operation = AND if expression.operation == "and" else OR
    return [*steps[0], *(step for more in steps[1:] for step in (*more, operation))]


def _distinct(fired: BoolArray) -> tuple[BoolArray, IntArray]:
    packed = np.packbits(fired, axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return fired[first], number.ravel().astype(np.int64)
