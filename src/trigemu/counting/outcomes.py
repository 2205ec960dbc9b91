"""Kernels: the values that the prescale counters of triggers connected by seeds may take.

A node is a trigger, and each node comes after those that it reads. Its seed is a postfix program: the numbers
of nodes, and AND, OR, NOT.
"""

from __future__ import annotations

import numpy as np

from trigemu.support import BoolArray, FloatArray, IntArray, kernel

AND, OR, NOT = -1, -2, -3


@kernel
def components(fired: BoolArray, counter: IntArray, code: IntArray, starts: IntArray) -> IntArray:
    """Return the component of each node that fired, and −1 for the others, int64[nodes]."""
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
    """Return the distinct 1 / p below 1 of each counter that is read, descending, float64[counters, nodes],
    and how many there are, int64[counters]."""
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
def outcomes(
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
    """Return the outcomes of the counters of one component that are read: the probability of each,
    float64[o], and the probabilities with which each node then accepts, float64[o, nodes]; `removed` never
    does. Both are empty if there are too many outcomes."""
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
