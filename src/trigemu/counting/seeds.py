"""Triggers that are connected by seeds: the outcomes of their prescale counters, and the exact probabilities
that they accept.

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
from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import kernel
from trigemu.triggers.logic import Expression

AND, OR, NOT = -1, -2, -3


class Graph(NamedTuple):
    """The nodes and their connections.

    counter: int64[nodes], the prescale counter of each. prescale: float64[nodes] ≥ 1. code, starts: the seed
    of a node is the postfix program code[starts[node] : starts[node + 1]], of numbers of nodes, AND, OR, NOT;
    empty without a seed. read: bool[counters], whether other nodes read a node with this counter.
    """

    counter: IntArray
    prescale: FloatArray
    code: IntArray
    starts: IntArray
    read: BoolArray


class Outcomes(NamedTuple):
    """The outcomes of the read counters of a component.

    probability: float64[o], of each outcome. accept: float64[o, nodes], the probability that each node of the
    component then accepts; 0 for other nodes.
    """

    probability: FloatArray
    accept: FloatArray


@kernel
def all_components(fired: BoolArray, graph: Graph, limit: int) -> tuple[IntArray, int]:
    """Return the component of each node that fired, −1 for others, int64[c, nodes]; and the first combination
    with a component of more than `limit` outcomes, or −1."""
    components = np.empty(fired.shape, np.int64)
    for row in range(len(fired)):
        components[row] = _components(fired[row], graph)
        for number in range(components[row].max() + 1):
            _, n = _thresholds(components[row], number, graph)
            outcomes = 1
            for c in range(len(n)):
                outcomes *= n[c] + 1
                if outcomes > limit:
                    return components, row
    return components, -1


@kernel
def _components(fired: BoolArray, graph: Graph) -> IntArray:
    """Return the component of each node that fired, −1 for others, int64[nodes]."""
    counter, code, starts = graph.counter, graph.code, graph.starts
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
def _thresholds(component: IntArray, number: int, graph: Graph) -> tuple[FloatArray, IntArray]:
    """Return the distinct 1 / p below 1 of each read counter, descending, float64[counters, nodes], and their
    number, int64[counters]."""
    counter, prescale, read, nodes = graph.counter, graph.prescale, graph.read, len(component)
    value, n = np.zeros((len(read), nodes)), np.zeros(len(read), np.int64)
    for node in range(nodes):
        c = counter[node]
        if component[node] != number or not read[c] or prescale[node] <= 1.0:
            continue
        share = 1.0 / prescale[node]
        place = n[c]
        while place > 0 and value[c, place - 1] < share:
            place -= 1
        if place > 0 and value[c, place - 1] == share:
            continue
        for k in range(n[c], place, -1):
            value[c, k] = value[c, k - 1]
        value[c, place] = share
        n[c] += 1
    return value, n


@kernel
def _seen(code: IntArray, first: int, last: int, accept: FloatArray, stack: BoolArray) -> bool:
    """Whether a seed is true, given which nodes accepted."""
    top = -1
    for k in range(first, last):
        step = code[k]
        if step >= 0:
            top += 1
            stack[top] = accept[step] == 1.0
        elif step == NOT:
            stack[top] = not stack[top]
        else:
            top -= 1
            stack[top] = (stack[top] and stack[top + 1]) if step == AND else (stack[top] or stack[top + 1])
    return bool(stack[0])


@kernel
def outcomes_of(component: IntArray, number: int, graph: Graph, removed: int) -> Outcomes:
    """Return the outcomes of one component; the node `removed` never accepts (−1: every node may)."""
    counter, code, starts, read = graph.counter, graph.code, graph.starts, graph.read
    value, n = _thresholds(component, number, graph)
    outcomes, nodes = 1, len(component)
    for c in range(len(read)):
        outcomes *= n[c] + 1
    probability, accept = np.ones(outcomes), np.zeros((outcomes, nodes))
    lowest, stack = np.empty(len(read)), np.empty(len(code) + 1, np.bool_)
    for outcome in range(outcomes):
        rest = outcome
        for c in range(len(read)):
            k = rest % (n[c] + 1)  # the counter is below the first k thresholds, not below the next
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
            share = 1.0 / graph.prescale[node]
            if read[counter[node]]:
                share = 1.0 if share >= lowest[counter[node]] else 0.0
            accept[outcome, node] = share
    return Outcomes(probability, accept)


@kernel
def total_acceptance(component: IntArray, graph: Graph) -> FloatArray:
    """Return the probability that each node accepts, float64[c, nodes]."""
    result = np.zeros(component.shape)
    for row in range(len(component)):
        for number in range(component[row].max() + 1):
            outcomes = outcomes_of(component[row], number, graph, -1)
            for o in range(len(outcomes.probability)):
                for node in range(component.shape[1]):
                    result[row, node] += outcomes.probability[o] * outcomes.accept[o, node]
    return result


@kernel
def either_and_none(component: IntArray, graph: Graph, members: BoolArray) -> FloatArray:
    """Return the probabilities that any member accepts, and that none does, float64[c, 2]."""
    result, best = np.zeros((len(component), 2)), np.empty(len(graph.read))
    for row in range(len(component)):
        either, none = 0.0, 1.0
        for number in range(component[row].max() + 1):
            outcomes = outcomes_of(component[row], number, graph, -1)
            hit, missed = _hit_and_missed(outcomes, graph, members, best)
            either = hit + either * (1.0 - hit)  # exactly 1 if either is
            none *= missed
        result[row, 0], result[row, 1] = either, none
    return result


@kernel
def unique(component: IntArray, graph: Graph, members: BoolArray) -> FloatArray:
    """Return the probability that each member accepts and no other member does, float64[c, nodes]."""
    result, best, nodes = np.zeros(component.shape), np.empty(len(graph.read)), component.shape[1]
    for row in range(len(component)):
        missed = np.ones(nodes)  # of each component
        for number in range(component[row].max() + 1):
            outcomes = outcomes_of(component[row], number, graph, -1)
            for o in range(len(outcomes.probability)):
                _add_unique(outcomes.accept[o], outcomes.probability[o], graph, members, best, result[row])
            missed[number] = _hit_and_missed(outcomes, graph, members, best)[1]
        for node in range(nodes):
            for number in range(nodes):
                if result[row, node] > 0.0 and number != component[row, node]:
                    result[row, node] *= missed[number]
    return result


@kernel
def lost(component: IntArray, graph: Graph, members: BoolArray, removed: int) -> FloatArray:
    """Return the decrease of the probability that any member accepts if a node never accepts, float64[c]."""
    result, best = np.zeros(len(component)), np.empty(len(graph.read))
    for row in range(len(component)):
        if component[row, removed] < 0:
            continue
        change, none = 0.0, 1.0
        for number in range(component[row].max() + 1):
            outcomes = outcomes_of(component[row], number, graph, -1)
            if component[row, removed] != number:
                none *= _hit_and_missed(outcomes, graph, members, best)[1]
                continue
            without = outcomes_of(component[row], number, graph, removed)
            for o in range(len(outcomes.probability)):  # in most outcomes the loss is exactly 0
                either_without = _either(without.accept[o], graph, members, best)
                change += outcomes.probability[o] * (
                    _either(outcomes.accept[o], graph, members, best) - either_without
                )
        result[row] = change * none
    return result


@kernel
def exactly(component: IntArray, graph: Graph, members: BoolArray, others: BoolArray) -> FloatArray:
    """Return the probability that all members accept and none of the others does, float64[c]."""
    result, least = np.zeros(len(component)), np.empty(len(graph.read))
    for row in range(len(component)):
        if (members & (component[row] < 0)).any():
            continue
        result[row] = 1.0
        for number in range(component[row].max() + 1):
            outcomes, inside = outcomes_of(component[row], number, graph, -1), component[row] == number
            result[row] *= _sum_exactly(outcomes, graph, inside, members, others, least)
    return result


@kernel
def both(component: IntArray, graph: Graph) -> FloatArray:
    """Return the probability that two nodes accept together, float64[c, nodes, nodes]."""
    nodes = component.shape[1]
    result = np.zeros((len(component), nodes, nodes))
    for row in range(len(component)):
        for number in range(component[row].max() + 1):
            _add_both(outcomes_of(component[row], number, graph, -1), graph, result[row])
        for a in range(nodes):
            for b in range(nodes):
                of_a, of_b = component[row, a], component[row, b]
                if of_a >= 0 and of_b >= 0 and of_a != of_b:  # independent
                    result[row, a, b] = result[row, a, a] * result[row, b, b]
    return result


# ------------------------------------------------------------------------- in the outcomes of one component


@kernel
def _either(accept: FloatArray, graph: Graph, members: BoolArray, best: FloatArray) -> float:
    """Return the probability that any member accepts, given an outcome. best: memory for the probability of
    the members of each counter."""
    best[:] = 0.0
    for node in range(len(accept)):
        if members[node]:
            best[graph.counter[node]] = max(best[graph.counter[node]], accept[node])
    either = 0.0
    for c in range(len(best)):
        if best[c] > 0.0:
            either = best[c] + either * (1.0 - best[c])
    return either


@kernel
def _hit_and_missed(
    outcomes: Outcomes, graph: Graph, members: BoolArray, best: FloatArray
) -> tuple[float, float]:
    """Return the probabilities that any member accepts, and that none does.

    The first is exactly 1 if every outcome gives 1. The second is a sum of products, because 1 − the first
    would cancel near 1; it is exactly 1 if the first is 0.
    """
    total_acceptance, certain, missed = 0.0, True, 0.0
    for o in range(len(outcomes.probability)):
        either = _either(outcomes.accept[o], graph, members, best)
        total_acceptance += outcomes.probability[o] * either
        certain &= either == 1.0
        none = outcomes.probability[o]
        for c in range(len(best)):
            none *= 1.0 - best[c]
        missed += none
    return 1.0 if certain else total_acceptance, missed if total_acceptance > 0.0 else 1.0


@kernel
def _add_unique(
    accept: FloatArray,
    probability: float,
    graph: Graph,
    members: BoolArray,
    best: FloatArray,
    unique: FloatArray,
) -> None:
    """Add the probability that only one member accepts, given an outcome, to `unique`, float64[nodes]."""
    counter = graph.counter
    _either(accept, graph, members, best)
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
def _sum_exactly(
    outcomes: Outcomes,
    graph: Graph,
    inside: BoolArray,
    members: BoolArray,
    others: BoolArray,
    least: FloatArray,
) -> float:
    """Return the probability that all members of a component accept and none of its others does. inside:
    bool[nodes], the component. least: memory, one number for each counter."""
    total_acceptance = 0.0
    for o in range(len(outcomes.probability)):
        least[:] = 1.0
        for node in range(len(members)):
            if inside[node] and members[node]:
                least[graph.counter[node]] = min(least[graph.counter[node]], outcomes.accept[o, node])
        exactly = outcomes.probability[o]
        for c in range(len(least)):
            most = 0.0
            for node in range(len(members)):
                if inside[node] and others[node] and graph.counter[node] == c:
                    most = max(most, outcomes.accept[o, node])
            exactly *= max(0.0, least[c] - most)
        total_acceptance += exactly
    return total_acceptance


@kernel
def _add_both(outcomes: Outcomes, graph: Graph, both: FloatArray) -> None:
    """Add the probability that two nodes of a component accept together to float64[nodes, nodes]."""
    counter, nodes = graph.counter, outcomes.accept.shape[1]
    for o in range(len(outcomes.probability)):
        p, accept = outcomes.probability[o], outcomes.accept[o]
        for a in range(nodes):
            if accept[a] == 0.0:
                continue
            for b in range(nodes):
                if a == b:
                    both[a, b] += p * accept[a]
                elif counter[a] == counter[b]:
                    both[a, b] += p * min(accept[a], accept[b])
                else:
                    both[a, b] += p * (accept[a] * accept[b])  # symmetric in a and b


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
        total = total_acceptance(self._component, self._graph)
        first = np.diff(self._graph.starts) == 0  # without a seed: exact to the last bit, unlike a sum
        total[:, first] = self._fired[:, first] / self._graph.prescale[first]
        return total

    def either_and_none(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities that any of the members accepts, and that none does, float64[m] each."""
        probabilities = either_and_none(self._component, self._graph, members)[self.combination]
        return probabilities[:, 0], probabilities[:, 1]

    def unique(self, members: BoolArray) -> FloatArray:
        """Return the probability that each member accepts and no other member does, float64[m, nodes]."""
        return unique(self._component, self._graph, members)[self.combination]

    def lost(self, members: BoolArray, node: int) -> FloatArray:
        """Return the decrease of the probability that any member accepts if a node never accepts,
        float64[m]."""
        return lost(self._component, self._graph, members, node)[self.combination]

    def exactly(self, members: BoolArray, others: BoolArray) -> FloatArray:
        """Return the probability that all members accept and none of the others does, float64[m]."""
        return exactly(self._component, self._graph, members, others)[self.combination]

    def both(self) -> FloatArray:
        """Return the probability that two nodes accept together, float64[c, nodes, nodes], for each of the c
        combinations."""
        joint, nodes = both(self._component, self._graph), np.arange(len(self._nodes))
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
            for node, accepts, counter in zip(self._nodes, fired, self._graph.counter, strict=True)
            if accepts and node.prescale > 1 and self._graph.read[counter]
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
    return postfix(node.seed, {name: position[key] for name, key in node.reads.items()}) if node.seed else []


def postfix(expression: Expression, position: Mapping[str, int]) -> list[int]:
    """Return an expression as a program of AND, OR, NOT and the positions of triggers, by name."""
    if not expression.operation:
        return [position[expression.name]]
    steps = [postfix(operand, position) for operand in expression.operands]
    if expression.operation == "not":
        return [*steps[0], NOT]
    operation = AND if expression.operation == "and" else OR
    return [*steps[0], *(step for more in steps[1:] for step in (*more, operation))]


def _distinct(fired: BoolArray) -> tuple[BoolArray, IntArray]:
    packed = np.packbits(fired, axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return fired[first], number.ravel().astype(np.int64)
