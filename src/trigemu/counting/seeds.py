"""Triggers that are connected by seeds: the outcomes of their prescale counters.

In one event each trigger without a seed accepts according to its prescale counter (a coherent set shares
one). Given which of them accepted, a trigger with a seed accepts with probability d / p if its expression is
true. Once the counters of all triggers that others read are fixed, everything else is independent: the
probabilities in `acceptance.py` are sums over the outcomes of these counters.

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
#: The largest number of outcomes of the counters of one component in one event: sixteen prescaled seeds.
MAX_OUTCOMES = 2**16


@dataclass(frozen=True)
class Node:
    """A trigger that has a seed or is one."""

    key: Hashable  # identifies it for other nodes
    name: str
    column: int  # its position among the triggers, −1 if it is only a seed
    counter: Hashable  # the key of its prescale counter, common to its coherent set
    prescale: float  # ≥ 1
    seed: Expression | None
    reads: Mapping[str, Hashable]  # the keys of the nodes for the names in `seed`
    fired: BoolArray  # bool[m], its decision without the seed


class OutcomeRows(NamedTuple):
    """What accepts in each outcome of the counters that other nodes read: a row for each component, outcome
    and trigger that may accept, in this order. An outcome in which none may has a row with `accept` 0."""

    combination: IntArray  # int64[k]: the number of the combination of fired nodes
    component: IntArray  # component, outcome: int64[k], numbered over all combinations
    outcome: IntArray
    node: IntArray  # int64[k]
    accept: FloatArray  # float64[k]: the probability that the node accepts in the outcome
    probability: FloatArray  # float64[k]: that of the outcome


class Graph(NamedTuple):
    """The nodes and their connections."""

    counter: IntArray  # int64[nodes]: the prescale counter of each
    prescale: FloatArray  # float64[nodes] ≥ 1
    # The seed of a node is the postfix program code[starts[node] : starts[node + 1]], of numbers of nodes,
    # AND, OR, NOT; empty without a seed.
    code: IntArray
    starts: IntArray
    read: BoolArray  # bool[counters]: whether other nodes read a node with this counter


class Seeded:
    """The nodes of menus in m patterns. Arrays have one column per node; each node follows those that it
    reads."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes = _in_order(nodes)
        self.column = np.array([node.column for node in nodes], np.int64)
        position = {node.key: number for number, node in enumerate(nodes)}
        # Sorted, so that the order of multiplications does not depend on the order of menus.
        number_of = {key: i for i, key in enumerate(sorted({node.counter for node in nodes}, key=repr))}
        self.counter = np.array([number_of[node.counter] for node in nodes], np.int64)
        programs = [
            postfix(node.seed, {name: position[key] for name, key in node.reads.items()}) if node.seed else []
            for node in nodes
        ]
        code = np.array([step for program in programs for step in program], np.int64)
        read = np.zeros(len(number_of), np.bool_)
        read[self.counter[code[code >= 0]]] = True
        prescale = np.array([node.prescale for node in nodes])
        self._graph = Graph(self.counter, prescale, code, np.cumsum([0, *map(len, programs)]), read)
        fired = np.column_stack([node.fired for node in nodes])
        packed = np.packbits(fired, axis=1)
        _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        self.combination = number.ravel().astype(np.int64)  # int64[m]: the number of each combination
        self._component, self.n_rows = components(fired[first], self._graph, MAX_OUTCOMES)
        if (too_many := self.n_rows < 0).any():
            raise self._too_many_outcomes(fired[first[too_many.argmax()]])

    def rows(self, patterns: IntArray, removed: int = -1) -> OutcomeRows:
        """Return the outcomes of the combinations of some patterns; the node `removed` never accepts."""
        chosen = np.unique(self.combination[patterns])
        n = int(self.n_rows[chosen].sum())
        integers, floats = np.empty((4, n), np.int64), np.empty((2, n))
        n = _fill_rows(chosen, self._component, self._graph, self.column >= 0, removed, integers, floats)
        _, _, outcome, node = integers[:, :n]
        order = np.lexsort((node, -floats[0, :n], self.counter[node], outcome))
        return OutcomeRows(*integers[:, order], *floats[:, order])

    def fires(self, node: int) -> BoolArray:
        """Return whether a node fires in each pattern, bool[m]."""
        fires: BoolArray = self._component[self.combination, node] >= 0
        return fires

    def _too_many_outcomes(self, fired: BoolArray) -> TrigemuError:
        names = [
            repr(node.name)
            for node, accepts, counter in zip(self._nodes, fired, self.counter, strict=True)
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

    def depth_of(node: Node) -> int:
        if node.key not in depth:
            depth[node.key] = 1 + max((depth_of(by_key[key]) for key in node.reads.values()), default=-1)
        return depth[node.key]

    return sorted(nodes, key=lambda node: (depth_of(node), node.name, str(node.key)))


def postfix(expression: Expression, position: Mapping[str, int]) -> list[int]:
    """Return an expression as a program of AND, OR, NOT and the positions of triggers, by name."""
    if not expression.operation:
        return [position[expression.name]]
    steps = [postfix(operand, position) for operand in expression.operands]
    if expression.operation == "not":
        return [*steps[0], NOT]
    operation = AND if expression.operation == "and" else OR
    return [*steps[0], *(step for more in steps[1:] for step in (*more, operation))]


@kernel
def components(fired: BoolArray, graph: Graph, limit: int) -> tuple[IntArray, IntArray]:
    """Return the component of each node that fired, −1 for others, int64[c, nodes]; and the largest number of
    rows of the outcomes of each combination, int64[c]: −1 if a component has more than `limit` outcomes.
    (Plain loops: np.where, max and assignments of slices take seconds to compile.)"""
    component, n_rows = np.empty(fired.shape, np.int64), np.zeros(len(fired), np.int64)
    for row in range(len(fired)):
        for number in range(_components(fired[row], graph, component[row])):
            n = _thresholds(component[row], number, graph)[1]
            outcomes, size = 1, 0
            for c in range(len(n)):
                outcomes *= n[c] + 1
                if outcomes > limit:
                    break
            if outcomes > limit:
                n_rows[row] = -1
                break
            for node in range(fired.shape[1]):
                size += component[row, node] == number
            n_rows[row] += outcomes * size
    return component, n_rows


@kernel
def _components(fired: BoolArray, graph: Graph, component: IntArray) -> int:
    """Set the component of each node that fired, and −1 for others; return the number of components."""
    counter, code, starts = graph.counter, graph.code, graph.starts
    nodes, n = len(fired), 0
    for node in range(nodes):
        component[node] = node if fired[node] else -1
    changed = True
    while changed:  # until each has the lowest node of its component
        changed = False
        for a in range(nodes):
            if not fired[a]:
                continue
            for b in range(a):
                if not fired[b] or component[a] == component[b]:
                    continue
                bound = counter[a] == counter[b]
                for k in range(starts[a], starts[a + 1]):
                    bound |= code[k] == b
                if bound:
                    component[a] = component[b] = min(component[a], component[b])
                    changed = True
    for node in range(nodes):
        if component[node] == node:
            component[node] = n
            n += 1
        elif component[node] >= 0:
            component[node] = component[component[node]]
    return n


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
def _fill_rows(
    chosen: IntArray,
    component: IntArray,
    graph: Graph,
    is_trigger: BoolArray,
    removed: int,
    integers: IntArray,
    floats: FloatArray,
) -> int:
    """Fill in the rows of the `chosen` combinations, and return their number. is_trigger: bool[nodes], others
    are only seeds. integers: int64[4, k], floats: float64[2, k], the columns of `OutcomeRows`."""
    counter, code, starts, read = graph.counter, graph.code, graph.starts, graph.read
    nodes = component.shape[1]
    accept, lowest, stack = np.empty(nodes), np.empty(len(read)), np.empty(len(code) + 1, np.bool_)
    row, part, numbered = 0, 0, 0
    for combination in chosen:
        within = component[combination]
        last = -1
        for node in range(nodes):
            last = max(last, within[node])
        for number in range(last + 1):
            value, n = _thresholds(within, number, graph)
            outcomes = 1
            for c in range(len(read)):
                outcomes *= n[c] + 1
            for outcome in range(outcomes):
                rest, probability = outcome, 1.0
                for c in range(len(read)):
                    k = rest % (n[c] + 1)  # the counter is below the first k thresholds, not below the next
                    rest //= n[c] + 1
                    lowest[c] = value[c, k - 1] if k > 0 else 1.0
                    probability *= lowest[c] - (value[c, k] if k < n[c] else 0.0)
                    # k = 0: between 1 and the first; k = n: below the last
                begin, some = row, -1
                for node in range(nodes):
                    accept[node] = 0.0
                    if within[node] == number and is_trigger[node]:
                        some = node
                    if within[node] != number or node == removed:
                        continue
                    first, last = starts[node], starts[node + 1]
                    if first < last and not _seen(code, first, last, accept, stack):
                        continue
                    share = 1.0 / graph.prescale[node]
                    if read[counter[node]]:
                        share = 1.0 if share >= lowest[counter[node]] else 0.0
                    accept[node] = share
                    if share > 0.0 and is_trigger[node]:
                        integers[3, row], floats[0, row] = node, share
                        row += 1
                if row == begin and some >= 0:
                    integers[3, row], floats[0, row] = some, 0.0
                    row += 1
                for k in range(begin, row):
                    integers[0, k], integers[1, k], integers[2, k] = combination, part, numbered
                    floats[1, k] = probability
                numbered += 1
            part += 1
    return row
