"""Kernels: the probability that triggers connected by seeds accept, summed over the outcomes of counters.

For `seeds.py`. A node is a trigger; `outcomes.py` gives the outcomes of the counters of each component.
component: int64[c, nodes], the component of each node in each combination of nodes that fired, −1 if it did
not fire. members: bool[nodes].
"""

from __future__ import annotations

import numpy as np

from trigemu.counting.outcomes import Graph, Outcomes, outcomes_of
from trigemu.support import BoolArray, FloatArray, IntArray, kernel


@kernel
def total(component: IntArray, graph: Graph) -> FloatArray:
    """Return the probability that each node accepts, float64[c, nodes]."""
    result = np.zeros(component.shape)
    for row in range(len(component)):
        for number in range(component[row].max() + 1):
            of = outcomes_of(component[row], number, graph, -1)
            for o in range(len(of.probability)):
                for node in range(component.shape[1]):
                    result[row, node] += of.probability[o] * of.accept[o, node]
    return result


@kernel
def either_and_none(component: IntArray, graph: Graph, members: BoolArray) -> FloatArray:
    """Return the probabilities that any member accepts, and that none does, float64[c, 2]."""
    result, best = np.zeros((len(component), 2)), np.empty(len(graph.read))
    for row in range(len(component)):
        either, none = 0.0, 1.0
        for number in range(component[row].max() + 1):
            of = outcomes_of(component[row], number, graph, -1)
            hit, missed = _hit_and_missed(of, graph, members, best)
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
            of = outcomes_of(component[row], number, graph, -1)
            for o in range(len(of.probability)):
                _add_unique(of.accept[o], of.probability[o], graph, members, best, result[row])
            missed[number] = _hit_and_missed(of, graph, members, best)[1]
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
            of = outcomes_of(component[row], number, graph, -1)
            if component[row, removed] != number:
                none *= _hit_and_missed(of, graph, members, best)[1]
                continue
            without = outcomes_of(component[row], number, graph, removed)
            for o in range(len(of.probability)):  # in most outcomes the loss is exactly 0
                either_without = _either(without.accept[o], graph, members, best)
                change += of.probability[o] * (_either(of.accept[o], graph, members, best) - either_without)
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
            of, inside = outcomes_of(component[row], number, graph, -1), component[row] == number
            result[row] *= _sum_exactly(of, graph, inside, members, others, least)
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
def _hit_and_missed(of: Outcomes, graph: Graph, members: BoolArray, best: FloatArray) -> tuple[float, float]:
    """Return the probabilities that any member accepts, and that none does.

    The first is exactly 1 if every outcome gives 1. The second is a sum of products, because 1 − the first
    would cancel near 1; it is exactly 1 if the first is 0.
    """
    total, certain, missed = 0.0, True, 0.0
    for o in range(len(of.probability)):
        either = _either(of.accept[o], graph, members, best)
        total += of.probability[o] * either
        certain &= either == 1.0
        none = of.probability[o]
        for c in range(len(best)):
            none *= 1.0 - best[c]
        missed += none
    return 1.0 if certain else total, missed if total > 0.0 else 1.0


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
    of: Outcomes, graph: Graph, inside: BoolArray, members: BoolArray, others: BoolArray, least: FloatArray
) -> float:
    """Return the probability that all members of a component accept and none of its others does. inside:
    bool[nodes], the component. least: memory, one number for each counter."""
    total = 0.0
    for o in range(len(of.probability)):
        least[:] = 1.0
        for node in range(len(members)):
            if inside[node] and members[node]:
                least[graph.counter[node]] = min(least[graph.counter[node]], of.accept[o, node])
        exactly = of.probability[o]
        for c in range(len(least)):
            most = 0.0
            for node in range(len(members)):
                if inside[node] and others[node] and graph.counter[node] == c:
                    most = max(most, of.accept[o, node])
            exactly *= max(0.0, least[c] - most)
        total += exactly
    return total


@kernel
def _add_both(of: Outcomes, graph: Graph, both: FloatArray) -> None:
    """Add the probability that two nodes of a component accept together to float64[nodes, nodes]."""
    counter, nodes = graph.counter, of.accept.shape[1]
    for o in range(len(of.probability)):
        p, accept = of.probability[o], of.accept[o]
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
