"""Σ w f and its variance for pairs of triggers, where f is the probability that both accept an event."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.kernels import kernel
from trigemu.counting.acceptance import Numbers, Rows, acceptances_of
from trigemu.counting.sums import Counted


class Pairs(NamedTuple):
    """The rates that pairs of triggers accept together, one of s and one of t."""

    hz: FloatArray  # float64[s, t]: the rate in Hz
    variance: FloatArray  # float64[s, t]: its variance in Hz²
    # first, second: float64[s, t]: the rates of the two triggers by themselves in Hz, from the events that
    # each pair is from: the unseen half, scaled, if one of the two is fitted
    first: FloatArray
    second: FloatArray


def pairs_of(counted: Counted) -> Pairs:
    """Return the rates of pairs of triggers: those of one menu, or one of each of two menus. Two triggers
    that accept all events alike have a rate without error."""
    table, menus, interactions = counted.table, counted.menus, counted.table.interactions
    same, everything, unseen = len(menus) == 1, counted.everything, counted.unseen
    none, nothing, seeded = np.zeros(0, np.int32), np.zeros(0), False
    blocks = [Rows(none, none, none, none, none, nothing, nothing, nothing > 0)]
    for block in counted.blocks():
        acceptance = acceptances_of(table.words[block], menus, counted.bits)
        pattern = acceptance.rows.pattern + np.int32(block.start)
        blocks.append(acceptance.rows._replace(pattern=pattern))
        seeded |= bool(acceptance.seeded.nodes)
    rows = Rows(*map(np.concatenate, zip(*blocks, strict=True)))
    sizes = [len(menu.enabled) for menu in menus]
    a, start_a = b, start_b = _of_triggers(rows, 0, sizes[0], len(table))
    if not same:
        b, start_b = _of_triggers(rows, sizes[0], sizes[1], len(table))
    shape = sizes[0], sizes[-1]
    fitted, constant = (
        [
            np.array([trigger.name in some for trigger in menu.enabled], np.bool_)
            for menu, some in zip(menus, names, strict=True)
        ]
        for names in (counted.fitted, counted.constant)
    )
    half = np.logical_or.outer(fitted[0], fitted[-1])

    def summed(start: Numbers, row: Numbers, weight: FloatArray, spread: FloatArray) -> FloatArray:
        """Return float64[s, t, 2]. A spread of 0 needs no table of an interaction."""
        sums, apart = np.zeros((*shape, 2)), not seeded or not spread.any()
        _add_pairs(a, start_a, b, start_b, same, apart, start, row, weight, spread, sums)
        if same:  # each two triggers were counted once
            diagonal = np.arange(len(sums))
            once = sums[diagonal, diagonal]
            sums = sums + sums.transpose(1, 0, 2)
            sums[diagonal, diagonal] = once
        return sums

    each, weights = np.arange(len(table) + 1, dtype=np.int32), interactions.weights
    start = np.concatenate([each, len(table) + weights.indptr[1:]]).astype(np.int32)
    row = np.concatenate([each[:-1], weights.indices]).astype(np.int32)
    spread = np.concatenate([np.sqrt(np.maximum(interactions.alone, 0.0)), weights.data])
    results = []
    for factor in (np.ones(len(table)), unseen)[: 1 + bool(half.any())]:
        weight = np.concatenate([table.weight * factor, np.zeros(len(weights.data))])
        hz, variance = np.moveaxis(summed(start, row, weight, spread * factor[row]), 2, 0)
        if counted.strata:  # what the fixed weight of strata adds
            shares, crosses = (matrix.toarray() for matrix in counted.strata[:2])

            def sums_of(weight: FloatArray, factor: FloatArray = factor) -> FloatArray:
                return summed(each, each[:-1], weight * factor, np.zeros(len(factor)))[..., 0]

            for share, cross in zip(shares, crosses, strict=True):
                variance -= 2.0 * sums_of(share) * sums_of(cross)
            values, vectors = np.linalg.eigh(counted.strata[2])
            for value, vector in zip(values, vectors.T, strict=True):  # a sum of squares: few at a time
                variance += value * sums_of(vector @ shares) ** 2
        scaled = table.weight * factor * everything
        alone = [
            np.bincount(of.trigger, scaled[of.pattern] * of.accept * of.probability, n)
            for of, n in zip((a, b), shape, strict=True)
        ]
        first, second = np.broadcast_arrays(alone[0][:, None], alone[1])
        results.append((hz * everything, np.maximum(variance, 0.0) * everything**2, first, second))
    columns = zip(results[0], results[-1], strict=True)
    pairs = Pairs(*(np.where(half, of_half, full) for full, of_half in columns))
    pairs.variance[np.logical_and.outer(constant[0], constant[-1])] = 0.0
    return pairs


def _of_triggers(rows: Rows, first: int, n: int, patterns: int) -> tuple[Rows, Numbers]:
    """Return the rows of n triggers, numbered from 0, and where those of each pattern begin, int32[m + 1]."""
    rows = rows.take(np.flatnonzero((rows.trigger >= first) & (rows.trigger < first + n)))
    start = np.searchsorted(rows.pattern, np.arange(patterns + 1, dtype=np.int32)).astype(np.int32)
    return rows._replace(trigger=rows.trigger - np.int32(first)), start


@kernel
def _add_pairs(
    a: Rows,
    start_a: Numbers,
    b: Rows,
    start_b: Numbers,
    same: bool,
    apart: bool,
    start: Numbers,
    row: Numbers,
    weight: FloatArray,
    spread: FloatArray,
    sums: FloatArray,
) -> None:
    """Add Σ weight f, and Σ over interactions of (Σ spread f)², of each pair to `sums`, float64[s, t, 2].
    Interaction k has the `weight` and `spread` of start[k] ≤ n < start[k + 1], in pattern row[n]. same: a and
    b are the same, and each two rows count once. apart: each trigger has a single row in a pattern."""
    n_a, n_b = sums.shape[:2]
    place_a, place_b = np.full(n_a, -1), np.full(n_b, -1)  # of triggers in the table of one interaction
    listed_a, listed_b = np.zeros(n_a, np.int64), np.zeros(n_b, np.int64)
    table = np.zeros(n_a * n_b)
    for k in range(len(start) - 1):
        n_a, n_b, direct = 0, 0, apart and start[k + 1] == start[k] + 1
        for n in range(start[k], start[k + 1] if not direct else start[k]):
            for i in range(start_a[row[n]], start_a[row[n] + 1]):
                if place_a[a.trigger[i]] < 0:
                    place_a[a.trigger[i]], listed_a[n_a] = n_a, a.trigger[i]
                    n_a += 1
            for j in range(start_b[row[n]], start_b[row[n] + 1]):
                if place_b[b.trigger[j]] < 0:
                    place_b[b.trigger[j]], listed_b[n_b] = n_b, b.trigger[j]
                    n_b += 1
        for n in range(start[k], start[k + 1]):
            w, v = weight[n], spread[n]
            if w == 0.0 and v == 0.0:
                continue
            for i in range(start_a[row[n]], start_a[row[n] + 1]):
                p, probability, s = a.accept[i], a.probability[i], a.trigger[i]
                alone = p * probability  # the parts of a pattern are independent
                part, outcome, counter, at = a.part[i], a.outcome[i], a.counter[i], place_a[s]
                for j in range(i if same else start_b[row[n]], start_b[row[n] + 1]):
                    q, t = b.accept[j], b.trigger[j]
                    f = alone * (q * b.probability[j])
                    # Given the outcome, counters are independent; of those that share one, the less
                    # prescaled accepts whenever the other does.
                    if part == b.part[j]:
                        both = min(p, q) if counter == b.counter[j] else p * q
                        f = both * probability if outcome == b.outcome[j] else 0.0
                    if w != 0.0:
                        sums[s, t, 0] += w * f
                    if direct:
                        sums[s, t, 1] += v * v * f * f
                    else:
                        x, y = at, place_b[t]
                        if same and x > y:
                            x, y = y, x
                        table[x * n_b + y] += v * f
        for i in range(n_a):
            for j in range(n_b):
                summed = table[i * n_b + j]
                if summed != 0.0:
                    sums[listed_a[i], listed_b[j], 1] += summed * summed
                    table[i * n_b + j] = 0.0
            place_a[listed_a[i]] = -1
        for j in range(n_b):
            place_b[listed_b[j]] = -1
