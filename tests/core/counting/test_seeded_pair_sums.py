"""Sums of pairs that seeds may connect against sums over the events."""

from __future__ import annotations

import counting_twins as twins
import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting.acceptance import Pairs
from trigemu.counting.pair_sums import PairSums, SeededPairSums
from trigemu.counting.rate_sums import Scales

events = st.builds(twins.toy_events, st.integers(0, 2**32), st.integers(1, 30), st.booleans(), st.booleans())


def drawn_pairs(seed: int, m: int, upper: bool, seeds: bool) -> Pairs:
    """Acceptances of three triggers, and of two others or the same."""
    rng = np.random.default_rng(seed)
    s, t, nodes = 3, 3 if upper else 2, 2
    first, second = (rng.random((m, n)) * (rng.random((m, n)) < 0.7) for n in (s, t))
    first[rng.random((m, s)) < 0.3] = 0.5  # most entries of a pair have the same fraction
    alike = rng.random((s, t)) < 0.3
    of_first, of_second = (rng.integers(-1, nodes, n) if seeds else np.full(n, -1) for n in (s, t))
    bound = rng.random((2, nodes, nodes))
    if upper:
        second, alike, of_second = first, alike | alike.T, of_first
        bound = (bound + bound.transpose(0, 2, 1)) / 2
    return Pairs(first, second, alike, bound, rng.integers(0, 2, m), of_first, of_second)


def of_rows(pairs: Pairs, rows: slice) -> Pairs:
    """With one array for both lists where these are the same."""
    some = pairs.take(rows)
    return some._replace(second=some.first) if pairs.second is pairs.first else some


@pytest.mark.parametrize("kind", [SeededPairSums, PairSums])
@given(events, st.integers(0, 2**32), st.booleans(), st.booleans(), st.data())
def test_sums_are_those_of_the_events(
    kind: type, of: twins.ToyEvents, seed: int, upper: bool, halves: bool, data: st.DataObject
) -> None:
    """In any blocks; with and without seeds, strata, shared interactions, and fitted triggers."""
    m, seeds = len(of.table), data.draw(st.booleans())
    pairs = drawn_pairs(seed, m, upper, seeds)
    shape = pairs.same_counter.shape
    rng = np.random.default_rng(seed)
    fitted = tuple(rng.random(n) < 0.4 for n in shape)
    fitted = (fitted[0], fitted[0]) if upper else fitted
    unseen = np.where(rng.random(m) < 0.5, 0.0, 2.5) if halves else np.ones(m)
    sums = kind(of.table, Scales(unseen, 0.3, of.stratum), fitted, upper)
    cut = data.draw(st.integers(0, m))
    for rows in (slice(0, cut), slice(cut, m)):
        if rows.stop > rows.start:
            sums.add(rows, of_rows(pairs, rows))
    scale = np.where(np.logical_or.outer(*fitted), unseen[:, None, None], 1.0)
    fractions = twins.seeded_fractions(pairs, scale, upper)
    hz, variance = twins.sums_of_events(of, fractions)
    found = sums.result()
    assert found[0] == pytest.approx(0.3 * hz, rel=1e-12)
    assert found[1] == pytest.approx(0.09 * variance, rel=1e-9, abs=1e-12)
    whole = 0.3 * of.weight.sum() * max(1.0, unseen.max())
    assert (found[0] <= whole * (1 + 1e-12)).all()
