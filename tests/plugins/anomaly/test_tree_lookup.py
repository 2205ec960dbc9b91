"""Tables of trees against a walk from node to node, on whole words."""

from __future__ import annotations

import numpy as np
import pytest
from tree_toys import random_trees

from trigemu_anomaly import ApFixed
from trigemu_anomaly.tree_lookup import add, tables

#: Of words, up to those of 32 bits: thresholds beside each other, and far from one another.
SPREADS = [3.0, 400.0, 3e5, 5e8]


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("trees", "depth"), [(1, 0), (3, 1), (70, 4), (2, 6)])
def test_the_leaves_are_those_of_a_walk(spread: float, trees: int, depth: int) -> None:
    rng = np.random.default_rng(7)
    result = random_trees(trees, depth, full=True)
    split = result.feature >= 0
    cuts = np.where(split, rng.normal(0, spread, len(split)).astype(np.int64), 0)
    values = np.where(split, 0, rng.integers(-9, 9, len(split)))
    names = np.append(cuts[split], 0)
    near = rng.choice(names, (200, 3)) + rng.integers(-1, 2, (200, 3))
    words = np.concatenate([near, np.full((1, 3), -(2**31)), np.full((1, 3), 2**31 - 1)])
    expected = []
    for row in words:
        total = 5
        for root in result.starts[:-1]:
            node = root
            while split[node]:
                node = result.left[node] if row[result.feature[node]] < cuts[node] else result.right[node]
            total += values[node]
        expected.append(total)
    total, outside = np.full(len(words), 5), np.zeros(len(words), np.bool_)
    for table in tables(result.feature, cuts, (result.left, result.right), values, result.starts):
        assert len(table.first) <= 3 * 4096 + 1
        add(table, words, ApFixed(32, 32), total, outside)
    assert total.tolist() == expected
    assert not outside.any()


def test_sums_that_saturate_are_noted_tree_by_tree() -> None:
    result = random_trees(2, 0)
    total, outside = np.array([0, 3]), np.zeros(2, np.bool_)
    (table,) = tables(
        result.feature, np.zeros(2, np.int64), (result.left, result.right), np.array([6, -2]), result.starts
    )
    add(table, np.zeros((2, 3), np.int64), ApFixed(4, 4, overflow="AP_SAT"), total, outside)
    assert total.tolist() == [4, 5]  # 6 − 2, and 3 + 6 → 7 − 2
    assert outside.tolist() == [False, True]
