"""Kernels: the outcomes of the prescale counters of triggers connected by seeds.

A node is a trigger, and each node follows those that it reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trigemu.support import BoolArray, FloatArray, IntArray, kernel

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
