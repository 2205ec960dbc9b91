"""Σ w f and its variance over a pattern table; for pairs of triggers, f is the probability that both accept.

With w the weight of an event and f the fraction of it that a rate counts, R = Σ w f, and its variance is Σ
over interactions of (Σ w f)², the inner sum over the events that were made from one interaction. Where
reweighting fixes the total weight of each stratum, f is replaced by f minus its mean in the stratum.

Rates with a fitted trigger are judged on the half of a sample that was not used. For every rate

    g = f₀ + s (f − f₀)  in the unseen half,     g = f₀  in the other half,

where f₀ is the fraction without the fitted triggers and s the factor from the half to the full sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.kernels import kernel
from trigemu.counting.acceptance import Numbers, Rows, acceptances_of
from trigemu.counting.decisions import own_decisions, switched_off
from trigemu.counting.patterns import PatternTable
from trigemu.menus.menu import Menu

#: Patterns per block: enough for a negligible overhead, few enough for memory.
BLOCK = 2**14
#: The largest number of triggers times patterns in a block, of which few fire.
_ACCEPTED = 2**25
#: The largest number of pairs of triggers times patterns in a block, if seeds connect triggers.
_PAIRS = 2**23
#: Two fractions that differ by less are equal: products of other factors give the last digits.
ROUNDING = 1e-14

#: The fractions of some quantities, float64[m, columns], in one or several arrays side by side.
Parts: TypeAlias = FloatArray | sparse.csr_array | tuple[sparse.csr_array, ...]
#: Computes them from patterns uint64[m, w] and menus.
FractionsOf = Callable[[Words, tuple[Menu, ...]], Parts]


@dataclass(frozen=True)
class Counted:
    """The patterns of some menus of an emulation, and the factors that make rates in Hz of their sums."""

    table: PatternTable  # the m patterns of their triggers, in the selected bin
    menus: tuple[Menu, ...]
    bits: tuple[Mapping[str, int], ...]  # for each menu, the bits of its triggers
    fitted: tuple[frozenset[str], ...]  # for each menu, the triggers that are judged on the unseen half
    # For each menu, the triggers that accept all events alike, as a random trigger. Their rates, and what
    # they add to others, are known without events; empty if the weight of all events is not known, as in
    # one bin
    constant: tuple[frozenset[str], ...]
    unseen: FloatArray  # float64[m]: s in the unseen half, 0 in the other; 1 if nothing was fitted
    everything: float = 1.0  # the factor on all rates, which adapts the crossing rate
    stratum: IntArray | None = None  # int64[m], the stratum of each entry, if strata have fixed total weights

    def blocks(self) -> Iterator[slice]:
        """Yield the entries of the table in blocks, whose size depends on the menus."""
        seeded = sum(len(m.triggers) for m in self.menus if any(trigger.seed for trigger in m.enabled))
        triggers = sum(len(menu.triggers) for menu in self.menus)
        size = min(BLOCK, max(16, _PAIRS // max(1, seeded**2)), max(16, _ACCEPTED // max(1, triggers)))
        for start in range(0, len(self.table), size):
            yield slice(start, min(start + size, len(self.table)))

    def sums(self, fractions_of: FractionsOf, columns: int) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f of some quantities in Hz and its variance in Hz², float64[columns] each."""
        sums = RateSums(self, columns, self.constant_part(fractions_of))
        for rows in self.blocks():
            sums.add(rows, self.fractions(rows, fractions_of))
        return sums.result()

    def constant_part(self, fractions_of: FractionsOf) -> FloatArray | None:
        """Return the fractions of an event that only `constant` triggers accept, float64[columns]; None
        without such a trigger."""
        if not any(self.constant):
            return None
        nothing = np.zeros((1, self.table.words.shape[1]), np.uint64)
        menus = zip(self.menus, self.constant, strict=True)
        alone = (switched_off(m, frozenset(t.name for t in m.triggers) - names) for m, names in menus)
        return np.asarray(joined(fractions_of(nothing, tuple(alone))).toarray()[0])

    def fractions(self, rows: slice, fractions_of: FractionsOf) -> sparse.csr_array:
        """Return the fractions of the entries of a block in some quantities, float64[m, columns]."""
        fractions = joined(fractions_of(self.table.words[rows], self.menus))
        return self.with_unseen_half(rows, fractions, fractions_of)

    def with_unseen_half(
        self, rows: slice, fractions: sparse.csr_array, fractions_of: FractionsOf
    ) -> sparse.csr_array:
        """Return g from f in the menus. If f and f₀ are equal, it is f₀ to the last bit."""
        is_touched = self.touched[rows]
        touched = np.flatnonzero(is_touched)
        if not len(touched):
            return fractions
        entries, n = touched + rows.start, len(touched)
        without = joined(fractions_of(self.table.words[entries], self.without_fitted))
        with_half = without + sparse.diags_array(self.unseen[entries]) @ (fractions[touched] - without)
        place = sparse.csr_array((np.ones(n), (touched, np.arange(n))), (len(is_touched), n))
        return sparse.diags_array((~is_touched).astype(np.float64)) @ fractions + place @ with_half

    @cached_property
    def without_fitted(self) -> tuple[Menu, ...]:
        """The menus with their fitted triggers switched off."""
        return tuple(map(switched_off, self.menus, self.fitted))

    @cached_property
    def touched(self) -> BoolArray:
        """bool[m]: whether a fitted trigger may accept an entry; otherwise it has no effect."""
        touched = np.zeros(len(self.table), np.bool_)
        for menu, bits, names in zip(self.menus, self.bits, self.fitted, strict=True):
            if names:  # in a column of prescales, some may not be used
                decided = own_decisions(self.table.words, menu.part(names), bits)
                for name in names & decided.keys():
                    touched |= decided[name]
        return touched

    @cached_property
    def strata(self) -> tuple[sparse.csr_array, sparse.csr_array, FloatArray] | None:
        """For s strata, share, float64[s, m]: the mean fraction in each is share @ f; cross, float64[s, m]:
        Σ over interactions of Σ w of a stratum times Σ w f is cross @ f; and the same of Σ w of two strata,
        float64[s, s]. None if no weight is fixed."""
        if self.stratum is None:
            return None
        table, stratum, interactions = self.table, self.stratum, self.table.interactions
        m, n = len(table), int(stratum.max(initial=0)) + 1
        inside = sparse.csr_array((np.ones(m), (stratum, np.arange(m))), (n, m))
        weight = np.bincount(stratum, table.weight, n)[stratum]
        share = np.divide(table.weight, weight, out=np.zeros(m), where=weight != 0)
        alone, of_interaction = interactions.alone, interactions.weights @ inside.T
        cross = inside @ sparse.diags_array(alone) + of_interaction.T @ interactions.weights
        both = np.diag(inside @ alone) + (of_interaction.T @ of_interaction).toarray()
        return inside @ sparse.diags_array(share), cross, both


def joined(parts: Parts) -> sparse.csr_array:
    """Return fractions as one sparse matrix, float64[m, columns]."""
    return sparse.hstack(parts, "csr") if isinstance(parts, tuple) else sparse.csr_array(parts)


class RateSums:
    """Sums of weights and their variances, for n columns of fractions of a pattern table.

    If the total weight of strata is fixed, errors are those of the accepted share of each. constant:
    float64[n], the part of each fraction that is the same in all events, as of a random trigger. The weight
    of all events is known, so this part has no error.
    """

    def __init__(self, counted: Counted, n: int, constant: FloatArray | None = None) -> None:
        table, self._counted, self._n = counted.table, counted, n
        self._constant = np.zeros(n) if constant is None else constant
        self._varying = np.flatnonzero(self._constant)
        #: int64[n]: the column with what varies of each, which follow the n where there is a constant part
        self.place = np.arange(n)
        self.place[self._varying] = n + np.arange(len(self._varying))
        columns = n + len(self._varying)
        samples = int(table.sample.max(initial=0)) + 1
        # float64[s, columns], Σ w f of s samples in Hz; int64[s, columns], the number of events with f ≠ 0
        self.hz, self.events = np.zeros((samples, columns)), np.zeros((samples, columns), np.int64)
        # float64[columns], the largest |w f| of an event in Hz; the largest |f|
        self.largest, self.fraction, self._square = np.zeros((3, columns))
        self._mean, self._cross = np.zeros((2, len(counted.strata[2]) if counted.strata else 0, columns))
        self._added: list[list[sparse.csr_array]] = []  # if events share interactions

    def add(self, rows: slice, *parts: FloatArray | sparse.csr_array) -> None:
        """Add the fractions, float64[m, n], of the m entries in `rows`, in one or several arrays side by
        side: to join large ones takes long. Blocks are added in the order of the table, and cover it."""
        counted, table, matrices = self._counted, self._counted.table, [*map(sparse.csr_array, parts)]
        if len(self._varying):
            rest = sparse.hstack(matrices, "csr")[:, self._varying].toarray() - self._constant[self._varying]
            matrices.append(sparse.csr_array(np.where(np.abs(rest) < ROUNDING, 0.0, rest)))
        weight, largest = (column[rows] * counted.everything for column in (table.weight, table.largest))
        entries = table.sample[rows], table.n[rows], weight, table.interactions.alone[rows], largest
        sums = self.hz, self.events, self._square, self.largest, self.fraction
        first = 0
        for part in matrices:
            _add_fractions(part.indptr, part.indices, part.data, first, *entries, *sums)
            columns = slice(first, first := first + part.shape[1])
            if counted.strata:
                self._mean[:, columns] += counted.strata[0][:, rows] @ part
                self._cross[:, columns] += counted.strata[1][:, rows] @ part
        if table.interactions:
            self._added.append(matrices)

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return Σ w f in Hz and its variance in Hz², float64[n] each."""
        return self.hz[:, : self._n].sum(axis=0), self.squares[self.place]

    @cached_property
    def squares(self) -> FloatArray:
        """The variances of all columns in Hz²; of the first n as if the constant part had an error as
        well."""
        variance, first = self._square.copy(), 0
        while self._added and self._added[0]:  # they take most of the memory
            part = sparse.vstack([matrices.pop(0) for matrices in self._added], "csr")
            variance[first : first + part.shape[1]] += self._counted.table.interactions.squares_of(part)
            first += part.shape[1]
        if self._counted.strata:
            both = self._counted.strata[2]
            variance += ((both @ self._mean - 2 * self._cross) * self._mean).sum(axis=0)
        return np.maximum(variance, 0.0) * self._counted.everything**2


@kernel
def _add_fractions(
    start: IntArray,
    column: IntArray,
    fraction: FloatArray,
    first: int,
    sample: IntArray,
    n: IntArray,
    weight: FloatArray,
    square: FloatArray,
    largest: FloatArray,
    hz: FloatArray,
    events: IntArray,
    squares: FloatArray,
    largest_hz: FloatArray,
    largest_fraction: FloatArray,
) -> None:
    """Add the fractions of some entries, a sparse matrix whose columns begin at `first`, to all sums."""
    for row in range(len(start) - 1):
        s = sample[row]
        for i in range(start[row], start[row + 1]):
            c, f = first + column[i], fraction[i]
            if f != 0.0:
                hz[s, c] += weight[row] * f
                events[s, c] += n[row]
                squares[c] += square[row] * f * f
                largest_hz[c] = max(largest_hz[c], largest[row] * abs(f))
                largest_fraction[c] = max(largest_fraction[c], abs(f))


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
