"""Slow and obvious twins of the sums of `trigemu.counting`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trigemu.counting.patterns import Keys, PatternTable, complete_table, count_patterns

FOUR = np.arange(4, dtype=np.uint64)[:, None]


@dataclass(frozen=True)
class ToyEvents:
    """Events, and the table of them. row: int64[n], the entry of each. stratum: of each entry."""

    weight: np.ndarray
    parent: np.ndarray
    row: np.ndarray
    table: PatternTable
    stratum: np.ndarray | None


def toy_events(seed: int, n: int, shared: bool, strata: bool, words: np.ndarray = FOUR) -> ToyEvents:
    """n events of a few patterns, uint64[…, w], of weights above 0, of which some share a parent."""
    rng = np.random.default_rng(seed)
    words = words[rng.integers(0, len(words), n)]
    stratum = rng.integers(0, 2, n) if strata else np.zeros(n, np.int64)
    parent = rng.integers(0, 1 + n // 2, n) if shared else np.arange(n)
    weight, ids = rng.exponential(1.0, n), np.arange(n, dtype=np.uint64)
    made_from = (parent.astype(np.uint64), ids)
    keys = Keys(stratum=stratum)
    table = complete_table([count_patterns(0, words, weight, keys, made_from=made_from if shared else None)])
    keys_of = (
        zip(of.tolist(), map(bytes, of_words), strict=True)
        for of, of_words in ((table.stratum, table.words), (stratum, words))
    )
    rows, events = keys_of
    at = {key: row for row, key in enumerate(rows)}
    row = np.array([at[key] for key in events], np.int64)
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
