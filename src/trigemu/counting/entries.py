"""Kernels: merge rows with the same words and numbers into one entry of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trigemu.support import IntArray, Words, inlined, kernel

#: Patterns below this number, those of twelve triggers, may serve directly as the index in a table.
_NUMBERS = 2**12


def one_number(keys: Sequence[IntArray]) -> IntArray:
    """Combine keys ≥ 0, int64[n] each, into one number int64[n] with the same order and equality."""
    number = np.asarray(keys[0], np.int64)
    for key in keys[1:] if len(number) else ():
        number = number * (key.max() + 1) + key
    return number


def distinct_entries(words: Words, *keys: IntArray) -> tuple[IntArray, IntArray]:
    """Find equal rows (open addressing).

    Parameters
    ----------
    words : uint64[n, w]
        The patterns.
    *keys : int64[n]
        Further numbers that rows must have in common.

    Returns
    -------
    entry : int64[n]
        The entry of each row, 0 … m − 1 in order of appearance.
    first : int64[m]
        The first row of each entry.
    """
    entry = np.empty(len(words), np.int64)
    if not keys and words.shape[1] == 1:
        first = np.empty(_NUMBERS, np.int64)
        m = _enter_by_number(words.ravel(), entry, first, np.full(_NUMBERS, -1, np.int64))
        if m >= 0:
            return entry, first[:m].copy()
    number = one_number(keys or [np.zeros(len(words), np.int64)])
    first = np.empty(32, np.int64)
    row: int | np.int64 = 0
    m = 0
    while row < len(words):
        row, m = _enter(words, number, row, entry, first, m, np.full(2 * len(first), -1, np.int64))
        if m == len(first):
            first = np.concatenate((first, np.empty(3 * len(first), np.int64)))
    return entry, first[:m].copy()


@kernel
def _enter_by_number(words: Words, entry: IntArray, first: IntArray, table: IntArray) -> int:
    """Find or make the entries of all rows, uint64[n]; return the number of entries, or −1 at a pattern that
    is too large to be an index."""
    m = 0
    for row in range(len(words)):
        if words[row] >= len(table):
            return -1
        number_of = table[words[row]]
        if number_of < 0:
            number_of = m
            table[words[row]] = m
            first[m] = row
            m += 1
        entry[row] = number_of
    return m


@inlined
def _hash(words: Words, row: np.uint64, number: np.int64) -> np.uint64:
    h = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    for w in range(words.shape[1]):
        h = (h ^ words[row, w]) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
    return h


@inlined
def _same(words: Words, number: IntArray, a: np.uint64, b: np.uint64) -> bool:
    same = number[a] == number[b]
    for w in range(words.shape[1]):
        same &= words[a, w] == words[b, w]
    return bool(same)


@kernel
def _enter(
    words: Words,
    number: IntArray,
    start: int | np.int64,
    entry: IntArray,
    first: IntArray,
    m: int,
    table: IntArray,
) -> tuple[int | np.int64, int]:
    """Find or make the entries from a row on, until `first` is full; return the row and the number of entries
    reached. The table is empty: the m known entries are entered first. (Indices are unsigned so that numba
    does not check for negative ones.)"""
    row, rows, mask = np.uint64(start), np.uint64(len(words)), np.uint64(len(table) - 1)
    n_known, again, m = np.uint64(m), np.uint64(0), 0
    while row < rows:
        at = np.uint64(first[again]) if again < n_known else row
        slot = _hash(words, at, number[at]) & mask
        entry_at = table[slot]
        while entry_at >= 0 and not _same(words, number, at, np.uint64(first[np.uint64(entry_at)])):
            slot = (slot + np.uint64(1)) & mask
            entry_at = table[slot]
        if entry_at < 0:
            if m == len(first):
                break
            entry_at = m
            table[slot] = m
            first[m] = at
            m += 1
        if again < n_known:
            again += np.uint64(1)
        else:
            entry[row] = entry_at
            row += np.uint64(1)
    return np.int64(row), m
