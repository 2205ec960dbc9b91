from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trigemu import exact
from trigemu.patterns import PatternTable, count, empty, merge


def events(seed: int, n: int, words: int, distinct: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, 2**63, (distinct, words)).astype(np.uint64)
    weight = rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n)
    return patterns[rng.integers(0, distinct, n)], weight, rng.integers(0, 3, n)


def same(a: PatternTable, b: PatternTable) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in PatternTable.__annotations__)


@given(st.integers(0, 2**32), st.integers(1, 300), st.sampled_from([1, 2, 5]), st.integers(1, 200))
def test_a_table_is_what_a_dictionary_counts(seed: int, n: int, words: int, distinct: int) -> None:
    patterns, weight, axis = events(seed, n, words, distinct)
    table = count(4, patterns, weight, axis)
    expected: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for pattern, w, a in zip(patterns.tolist(), weight.tolist(), axis.tolist(), strict=True):
        expected[(a, *pattern)].append(w)
    keys = [(a, *pattern) for a, pattern in zip(table.axis.tolist(), table.words.tolist(), strict=True)]
    assert set(keys) == set(expected)
    assert len(keys) == len(expected)
    assert (table.sample == 4).all()
    sums, squares = exact.to_float(table.weight), exact.to_float(table.square)
    for i, key in enumerate(keys):
        values = expected[key]
        assert table.n[i] == len(values)
        assert table.largest[i] == max(map(abs, values))
        assert sums[i] == float(sum(map(Fraction, values)))
        assert squares[i] == float(sum(Fraction(w * w) for w in values))


@given(st.integers(0, 2**32), st.integers(1, 300), st.data())
def test_cutting_and_shuffling_changes_nothing(seed: int, n: int, data: st.DataObject) -> None:
    patterns, weight, axis = events(seed, n, 2, 20)
    whole = count(0, patterns, weight, axis)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=5)))
    parts = [
        count(0, patterns[a:b], weight[a:b], axis[a:b]) for a, b in zip([0, *cuts], [*cuts, n], strict=True)
    ]
    shuffled = data.draw(st.permutations(parts))
    assert same(merge(shuffled), whole)
    total = empty(2)
    for part in shuffled:
        total = total + part
    assert same(total, whole)


def test_samples_stay_apart() -> None:
    words = np.zeros((3, 1), np.uint64)
    table = count(1, words, np.ones(3)) + count(0, words, np.full(3, 2.0))
    assert table.sample.tolist() == [0, 1]
    assert exact.to_float(table.weight).tolist() == [6.0, 3.0]


@pytest.mark.parametrize("distinct", [1, 5000])
def test_large_tables(distinct: int) -> None:
    patterns, weight, _ = events(1, 20_000, 1, distinct)
    table = count(0, patterns, weight)
    assert len(table) == len(np.unique(patterns))
    assert table.n.sum() == len(weight)
