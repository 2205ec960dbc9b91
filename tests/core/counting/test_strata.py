"""Pairs of events of one parent, one after the other; the whole correction is in test_rate_sums.py."""

from __future__ import annotations

import counting_twins as twins
import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting import Covariance
from trigemu.counting.strata import Strata, _shared_products


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_products_are_those_of_a_double_loop(seed: int, n: int) -> None:
    of = twins.toy_events(seed, n, shared=True, strata=True)
    rng = np.random.default_rng(seed)
    fractions = rng.random((len(of.table), 3)) * (rng.random((len(of.table), 3)) < 0.7)
    assert of.stratum is not None
    expected_accepted, expected_both = np.zeros((2, 3)), np.zeros((2, 2))
    for a in range(n):
        for b in range(n):
            if a != b and of.parent[a] == of.parent[b]:
                one, other = of.stratum[of.row[[a, b]]]
                expected_both[one, other] += of.weight[a] * of.weight[b]
                expected_accepted[other] += of.weight[a] * fractions[of.row[a]] * of.weight[b]
    shared = Covariance(of.table.shared, len(of.table), 3)
    shared.add(np.arange(len(of.table)), fractions)
    if not shared or not fractions.any():
        return
    accepted, both = np.zeros((2, 3)), np.zeros((2, 2))
    _shared_products(shared.by_parent(), shared.fractions, of.stratum, accepted, both)
    assert accepted == pytest.approx(expected_accepted, rel=1e-12)
    assert both == pytest.approx(expected_both, rel=1e-12)
    assert both == pytest.approx(both.T, rel=1e-12)


def test_a_stratum_whose_weights_cancel_corrects_nothing() -> None:
    """Its accepted share is not known."""
    of = twins.toy_events(2, 40, shared=False, strata=False, patterns=2)
    strata = Strata(of.table, np.zeros(len(of.table), np.int64), 1)
    strata._weight = np.array([1.0, -1.0])
    strata.add(np.array([0]), np.array([0]), np.array([1.0]))
    assert strata.correction(Covariance(of.table.shared, len(of.table), 1)).tolist() == [0.0]
