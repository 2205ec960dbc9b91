from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.base.errors import TrigemuError
from trigemu.counting import patterns
from trigemu.counting.patterns import Keys, PatternTable, count_patterns, empty_table, merge_tables


def events(seed: int, n: int, words: int, distinct: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    known = rng.integers(0, 2**63, (distinct, words)).astype(np.uint64)
    weight = rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n)
    return known[rng.integers(0, distinct, n)], weight, rng.integers(0, 3, n)


def same(a: PatternTable, b: PatternTable) -> bool:
    """But for the last digits of sums, which depend on the order of the terms."""
    size = np.sqrt(a.square * a.n)
    return (
        all(
            np.array_equal(getattr(a, name), getattr(b, name))
            for name in (*patterns.KEYS, "words", "n", "largest")
        )
        and bool((np.abs(a.weight - b.weight) <= 1e-13 * size).all())
        and bool((np.abs(a.square - b.square) <= 1e-13 * a.square).all())
    )


@given(st.integers(0, 2**32), st.integers(1, 300), st.sampled_from([1, 2, 5]), st.integers(1, 200))
def test_a_table_is_what_a_dictionary_counts(seed: int, n: int, words: int, distinct: int) -> None:
    patterns, weight, axis = events(seed, n, words, distinct)
    table = count_patterns(4, patterns, weight, Keys(bin=axis))
    expected: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for pattern, w, a in zip(patterns.tolist(), weight.tolist(), axis.tolist(), strict=True):
        expected[(a, *pattern)].append(w)
    keys = [(a, *pattern) for a, pattern in zip(table.bin.tolist(), table.words.tolist(), strict=True)]
    assert set(keys) == set(expected)
    assert len(keys) == len(expected)
    assert (table.sample == 4).all()
    for i, key in enumerate(keys):
        values = expected[key]
        assert table.n[i] == len(values)
        assert table.largest[i] == max(map(abs, values))
        size = float(sum(map(abs, values)))
        assert table.weight[i] == pytest.approx(float(sum(map(Fraction, values))), rel=0, abs=1e-15 * size)
        assert table.square[i] == pytest.approx(float(sum(Fraction(w * w) for w in values)), rel=1e-15)


@given(st.integers(0, 2**32), st.integers(1, 300), st.data())
def test_cutting_and_shuffling_changes_nothing(seed: int, n: int, data: st.DataObject) -> None:
    patterns, weight, axis = events(seed, n, 2, 20)
    whole = count_patterns(0, patterns, weight, Keys(bin=axis))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=5)))
    parts = [
        count_patterns(0, patterns[a:b], weight[a:b], Keys(bin=axis[a:b]))
        for a, b in zip([0, *cuts], [*cuts, n], strict=True)
    ]
    shuffled = data.draw(st.permutations(parts))
    assert same(merge_tables(shuffled), whole)
    total = empty_table(2)
    for part in shuffled:
        total = total + part
    assert same(total, whole)


@given(
    st.integers(0, 2**32),
    st.integers(1, 300),
    st.sampled_from([1, 2, 4095, 4096]),
    st.booleans(),
    st.booleans(),
)
def test_small_patterns_are_counted_as_large_ones_are(
    seed: int, n: int, top: int, two: bool, one_bin: bool
) -> None:
    """Small numbers find their entries another way."""
    _, weight, axis = events(seed, n, 1, 1)
    rng = np.random.default_rng(seed)
    some = [0, top] if two else np.arange(top + 1)
    small = rng.choice(some, (n, 1)).astype(np.uint64)
    high = np.uint64(2**40)
    keys = Keys(bin=np.zeros_like(axis) if one_bin else axis)
    table, large = (count_patterns(0, words, weight, keys) for words in (small, small | high))
    assert same(table, replace(large, words=large.words ^ high))
    assert table.n.sum() == n


def test_many_equal_weights_are_not_rounded_the_same_way_each_time() -> None:
    """A plain sum of 2 × 10⁶ times 0.1 is wrong in the tenth digit."""
    table = count_patterns(0, np.zeros((2_000_000, 1), np.uint64), np.full(2_000_000, 0.1))
    assert table.weight[0] == pytest.approx(200_000, rel=1e-15)
    assert table.square[0] == pytest.approx(20_000, rel=1e-15)


@pytest.mark.parametrize("weight", [2.0**42, -np.inf, np.nan])
def test_weights_that_cannot_be_summed_are_refused(weight: float) -> None:
    with pytest.raises(TrigemuError, match=r"a weight of .* Hz cannot be summed: expected less than"):
        count_patterns(0, np.zeros((3, 1), np.uint64), np.array([1.0, weight, 2.0]))


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_the_scales_of_a_half_are_those_of_fractions(seed: int, n: int) -> None:
    """Sums of all patterns, divided once; 1 for a sample without events."""
    parts = [events(seed + i, n, 1, 5) for i in range(2)]
    parts = [(p, np.abs(w), a) for p, w, a in parts]
    table = merge_tables(count_patterns(2 * i, p, w, Keys(a)) for i, (p, w, a) in enumerate(parts))
    scales = table.share_scales(1, 4)
    for i, (_, weight, axis) in enumerate(parts):
        whole = float(sum(map(Fraction, weight.tolist())))
        share = float(sum(map(Fraction, weight[axis == 1].tolist())))
        assert scales[2 * i] == pytest.approx(whole / share if share else np.inf, rel=1e-13)
    assert scales[[1, 3]].tolist() == [1.0, 1.0]


def test_a_half_without_weight_has_no_scale() -> None:
    words, axis = np.zeros((2, 1), np.uint64), np.array([0, 1])
    assert np.isinf(count_patterns(0, words, np.array([1.0, 0.0]), Keys(axis)).share_scales(1, 1)[0])
    assert np.isnan(count_patterns(0, words, np.zeros(2), Keys(axis)).share_scales(1, 1)[0])
    assert count_patterns(0, words, np.array([6.0, -2.0]), Keys(axis)).share_scales(1, 1).tolist() == [-2.0]


@given(st.integers(0, 2**32), st.integers(1, 120), st.sets(st.sampled_from(Keys._fields)), st.data())
def test_each_key_is_counted_by(seed: int, n: int, some: set[str], data: st.DataObject) -> None:
    """Entries of chosen halves, bins and strata are what those events give; all together are the whole."""
    words, weight, _ = events(seed, n, 2, 5)
    rng = np.random.default_rng(seed)
    numbers = {name: rng.integers(0, 3, n) for name in sorted(some)}
    table = count_patterns(2, words, weight, Keys(**numbers))
    keys = [getattr(table, name).tolist() for name in patterns.KEYS]
    rows = list(zip(*keys, *table.words.T[::-1].tolist(), strict=True))
    assert rows == sorted(rows)
    for name in Keys._fields:
        if name not in some:
            assert not getattr(table, name).any()
            continue
        parts = []
        for number in range(3):
            there = numbers[name] == number
            others = {other: of[there] for other, of in numbers.items()}
            parts.append(count_patterns(2, words[there], weight[there], Keys(**others)))
            assert same(table.take(np.flatnonzero(getattr(table, name) == number)), parts[-1])
        assert same(merge_tables(parts), table)
    kept = data.draw(st.sets(st.sampled_from(Keys._fields)))
    left = {name: of for name, of in numbers.items() if name in kept}
    mask = np.array([2**20 - 1, 2**10 - 2], np.uint64)
    found = table.onto([*range(20), *range(65, 74)], kept)
    assert same(found, count_patterns(2, words & mask, weight, Keys(**left)))
