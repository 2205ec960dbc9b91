"""Slow and obvious twins of the kernels of `trigemu.counting`: in NumPy, or in fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from trigemu.counting import Keys, Pairs, PatternTable, complete_table, count_patterns
from trigemu.counting.outcomes import AND, NOT, Graph
from trigemu.counting.pair_sums import FreePairs
from trigemu.counting.shared import Sparse

# ---- entries.py


def distinct(words: np.ndarray, *keys: np.ndarray) -> tuple[list[int], list[int]]:
    """The entry of each row, and the first row of each entry."""
    number: dict[tuple[int, ...], int] = {}
    rows = [tuple(row) for row in np.column_stack([words.astype(object), *keys]).tolist()]
    entry = [number.setdefault(row, len(number)) for row in rows]
    return entry, [rows.index(row) for row in number]


# ---- coherent.py, of one pattern


def missed(accepted: Sequence[float], sets: Sequence[Sequence[int]]) -> Fraction:
    """Π over sets of (1 − max of a)."""
    product = Fraction(1)
    for members in sets:
        product *= 1 - max((Fraction(accepted[t]) for t in members), default=Fraction(0))
    return product


def unique(accepted: Sequence[float], sets: Sequence[Sequence[int]], trigger: int) -> Fraction:
    """or(M) − or(M without the trigger)"""
    without = [[t for t in members if t != trigger] for members in sets]
    return missed(accepted, without) - missed(accepted, sets)


# ---- outcomes.py and counters.py, of one combination of nodes that fired


def reads(graph: Graph, node: int) -> list[int]:
    return [step for step in graph.code[graph.starts[node] : graph.starts[node + 1]].tolist() if step >= 0]


def components(graph: Graph, fired: np.ndarray) -> list[int]:
    """Numbered by their first nodes; −1 where a node did not fire."""
    n = len(fired)
    reach = np.diag(fired)
    for a, b in itertools.product(np.flatnonzero(fired), repeat=2):
        if graph.counter[a] == graph.counter[b] or b in reads(graph, a) or a in reads(graph, b):
            reach[a, b] = True
    for _ in range(n):
        reach = reach @ reach
    lowest = [int(reach[node].argmax()) if fired[node] else -1 for node in range(n)]
    known = sorted({node for node in lowest if node >= 0})
    return [known.index(node) if node >= 0 else -1 for node in lowest]


def thresholds(graph: Graph, nodes: Sequence[int], counter: int) -> list[Fraction]:
    """The distinct 1/p of some nodes on a counter, and 0 and 1, ascending."""
    shares = {Fraction(1 / graph.prescale[node]) for node in nodes if graph.counter[node] == counter}
    return sorted({Fraction(0), *shares, Fraction(1)})


def is_true(program: Sequence[int], accepted: set[int]) -> bool:
    stack: list[bool] = []
    for step in program:
        if step >= 0:
            stack.append(step in accepted)
        elif step == NOT:
            stack.append(not stack.pop())
        else:
            one, other = stack.pop(), stack.pop()
            stack.append((one and other) if step == AND else (one or other))
    return stack.pop()


def accepting(
    graph: Graph, fired: np.ndarray, removed: int = -1
) -> Iterator[tuple[Fraction, frozenset[int]]]:
    """Every outcome of every counter: its probability, and the nodes that accept."""
    nodes = np.flatnonzero(fired).tolist()
    counters = sorted({int(graph.counter[node]) for node in nodes})
    intervals = [list(itertools.pairwise(thresholds(graph, nodes, counter))) for counter in counters]
    for outcome in itertools.product(*intervals):
        number = dict(zip(counters, outcome, strict=True))
        probability = Fraction(1)
        for low, high in outcome:
            probability *= high - low
        accepted: set[int] = set()
        for node in nodes:
            passed = number[int(graph.counter[node])][1] <= Fraction(1 / graph.prescale[node])
            program = graph.code[graph.starts[node] : graph.starts[node + 1]].tolist()
            if node != removed and passed and (not program or is_true(program, accepted)):
                accepted.add(node)
        yield probability, frozenset(accepted)


# ---- pair_sums.py and seeded_pair_sums.py


def dense(of: Sparse, columns: int) -> np.ndarray:
    matrix = np.zeros((len(of.starts) - 1, columns))
    for row, (start, stop) in enumerate(itertools.pairwise(of.starts.tolist())):
        matrix[row, of.column[start:stop]] = of.value[start:stop]
    return matrix


def joint(first: np.ndarray, second: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """float64[m, s, t]"""
    one, other = first[:, :, None], second[:, None, :]
    return np.where(alike, np.minimum(one, other), one * other)


def free_fractions(pairs: FreePairs) -> np.ndarray:
    """float64[m, s, t]"""
    first, second = (dense(of, n) for of, n in zip(pairs[:2], pairs.same_counter.shape, strict=True))
    fitted = np.logical_or.outer(pairs.fitted1, pairs.fitted2)
    factor = np.where(fitted, pairs.factor[:, 1, None, None], pairs.factor[:, 0, None, None])
    return of_upper(joint(first, second, pairs.same_counter) * factor, pairs.upper)


def seeded_fractions(pairs: Pairs, scale: np.ndarray, upper: bool) -> np.ndarray:
    """float64[m, s, t]"""
    found = joint(pairs.first, pairs.second, pairs.same_counter)
    for i, j in np.argwhere(np.logical_and.outer(pairs.of_first >= 0, pairs.of_second >= 0)):
        both = pairs.bound[pairs.combination, pairs.of_first[i], pairs.of_second[j]]
        found[:, i, j] = np.where((pairs.first[:, i] > 0) & (pairs.second[:, j] > 0), both, 0.0)
    return of_upper(found * scale, upper)


def of_upper(fractions: np.ndarray, upper: bool) -> np.ndarray:
    return np.triu(fractions) if upper else fractions


# ---- rate_sums.py, shared.py and strata.py: from the events themselves


@dataclass(frozen=True)
class ToyEvents:
    """Events, and the table of them. row: int64[n], the entry of each. stratum: of each entry."""

    weight: np.ndarray
    parent: np.ndarray
    row: np.ndarray
    table: PatternTable
    stratum: np.ndarray | None


def toy_events(seed: int, n: int, shared: bool, strata: bool, patterns: int = 4) -> ToyEvents:
    """n events of a few patterns, of weights above 0, of which some share a parent."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, patterns, (n, 1)).astype(np.uint64)
    stratum = rng.integers(0, 2, n) if strata else np.zeros(n, np.int64)
    parent = rng.integers(0, 1 + n // 2, n) if shared else np.arange(n)
    weight, ids = rng.exponential(1.0, n), np.arange(n, dtype=np.uint64)
    made_from = (parent.astype(np.uint64), ids)
    keys = Keys(stratum=stratum)
    table = complete_table([count_patterns(0, words, weight, keys, made_from=made_from if shared else None)])
    at = {key: row for row, key in enumerate(zip(table.stratum, table.words[:, 0], strict=True))}
    row = np.array([at[key] for key in zip(stratum, words[:, 0], strict=True)], np.int64)
    return ToyEvents(weight, parent, row, table, table.stratum if strata else None)


def sums_of_events(events: ToyEvents, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ w f and its variance, float64[…], from f of each entry, float64[m, …].

    With strata, an event counts with f minus the accepted share of its stratum.
    """
    weight = events.weight.reshape(-1, *[1] * (fractions.ndim - 1))
    x = weight * fractions[events.row]
    hz = x.sum(axis=0)
    if events.stratum is not None:
        stratum = events.stratum[events.row]
        for number in np.unique(stratum):
            of = stratum == number
            x[of] -= weight[of] * (x[of].sum(axis=0) / weight[of].sum())
    groups = [x[events.parent == number].sum(axis=0) for number in np.unique(events.parent)]
    return hz, np.sum(np.square(groups), axis=0)
