"""Kernels: the probability that triggers connected by seeds accept, summed over what their counters may be.

For `seeds.py`. A node is a trigger; `outcomes.py` gives the outcomes of the counters of each component.
"""

from __future__ import annotations

import numpy as np

from trigemu.counting.outcomes import components, outcomes
from trigemu.support import BoolArray, FloatArray, IntArray, kernel

#: The quantities of `evaluate`; the second axis of its result is one or two numbers, the nodes, or pairs of
#: nodes.
TOTAL, EITHER, UNIQUE, LOST, BOTH, EXACTLY = range(6)


@kernel
def _either(accept: FloatArray, members: BoolArray, counter: IntArray, best: FloatArray) -> float:
    """Return the probability that any member accepts, given an outcome. best: scratch memory, one per
    counter."""
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
    """Sum over the outcomes of a component: into float64[nodes], or float64[nodes²] for pairs."""
    nodes = accept.shape[1]
    for o in range(len(probability)):
        p = probability[o]
        if what == UNIQUE:
            _add_unique(accept[o], p, members, counter, best, into)
            continue
        for a in range(nodes):
            if accept[o, a] == 0.0:
                continue
            if what == TOTAL:
                into[a] += p * accept[o, a]
                continue
            for b in range(nodes):
                if a == b:
                    into[a * nodes + b] += p * accept[o, a]
                elif counter[a] == counter[b]:
                    into[a * nodes + b] += p * min(accept[o, a], accept[o, b])
                else:
                    into[a * nodes + b] += p * (accept[o, a] * accept[o, b])  # the same for b and a


@kernel
def _sum_either(
    probability: FloatArray, accept: FloatArray, members: BoolArray, counter: IntArray, best: FloatArray
) -> float:
    """Return the probability that any member accepts, which is exactly 1 if it is certain in every
    outcome."""
    total, certain = 0.0, True
    for o in range(len(probability)):
        either = _either(accept[o], members, counter, best)
        total += probability[o] * either
        certain &= either == 1.0
    return 1.0 if certain else total


@kernel
def _sum_missed(
    probability: FloatArray, accept: FloatArray, members: BoolArray, counter: IntArray, best: FloatArray
) -> float:
    """Return the probability that no member accepts: products, since 1 − either would cancel near 1."""
    total = 0.0
    for o in range(len(probability)):
        _either(accept[o], members, counter, best)
        missed = probability[o]
        for c in range(len(best)):
            missed *= 1.0 - best[c]
        total += missed
    return total


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
    """Return the probability that all members of a component accept and none of its others does. least:
    scratch memory, one per counter."""
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
def evaluate(
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
    """Return the probabilities of each combination, and the first combination with too many outcomes, or
    −1."""
    nodes = fired.shape[1]
    width = nodes * nodes if what == BOTH else nodes
    if what in (EITHER, LOST, EXACTLY):
        width = 2 if what == EITHER else 1
    found = np.zeros((len(fired), width))
    best, members = np.empty(len(read)), masks[0]
    for row in range(len(fired)):
        if what == LOST and not fired[row, removed]:
            continue
        component = components(fired[row], counter, code, starts)
        either, missed, lost, exactly = 0.0, 1.0, 0.0, 1.0
        if what == EXACTLY and (members & ~fired[row]).any():
            continue
        misses = np.ones(nodes)
        for number in range(component.max() + 1):
            probability, accept = outcomes(
                fired[row], component, number, -1, counter, code, starts, prescale, read, limit
            )
            if len(probability) == 0:
                return found, row
            if what in (TOTAL, UNIQUE, BOTH):
                _of_component(what, probability, accept, members, counter, best, found[row])
            if what in (TOTAL, BOTH):
                continue
            if what == EXACTLY:
                here = component == number
                exactly *= _sum_exactly(probability, accept, here, members, masks[1], counter, best)
                continue
            if what == LOST and component[removed] == number:
                _, without = outcomes(
                    fired[row], component, number, removed, counter, code, starts, prescale, read, limit
                )
                for o in range(len(probability)):  # most outcomes lose nothing, exactly
                    kept = _either(without[o], members, counter, best)
                    lost += probability[o] * (_either(accept[o], members, counter, best) - kept)
                continue
            hit = _sum_either(probability, accept, members, counter, best)
            if hit > 0.0:
                misses[number] = _sum_missed(probability, accept, members, counter, best)
            either = hit + either * (1.0 - hit)  # exactly 1 where either is
            missed *= misses[number]
        if what == EITHER:
            found[row, 0], found[row, 1] = either, missed
        elif what == EXACTLY:
            found[row, 0] = exactly
        elif what == LOST:
            found[row, 0] = lost * missed
        elif what == UNIQUE:
            _without_others(found[row], component, misses)
        elif what == BOTH:
            _between_components(found[row], component, nodes)
    return found, -1


@kernel
def _without_others(unique: FloatArray, component: IntArray, misses: FloatArray) -> None:
    """Multiply by the probability that no other component accepts."""
    for node in range(len(unique)):
        for number in range(len(misses)):
            if unique[node] > 0.0 and number != component[node]:
                unique[node] *= misses[number]


@kernel
def _between_components(both: FloatArray, component: IntArray, nodes: int) -> None:
    """Fill in the pairs of nodes of different components, which are independent."""
    for a in range(nodes):
        for b in range(nodes):
            if component[a] >= 0 and component[b] >= 0 and component[a] != component[b]:
                both[a * nodes + b] = both[a * nodes + a] * both[b * nodes + b]
