"""Entries of rows against a dictionary."""

from __future__ import annotations

import itertools

import counting_twins as twins
import numpy as np
from hypothesis import given, strategies as st

from trigemu.counting import distinct_entries
from trigemu.counting.entries import one_number


@given(
    st.integers(0, 2**32),
    st.integers(0, 300),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from([1, 12, 60]),
)
def test_entries_are_those_of_a_dictionary(seed: int, n: int, width: int, keys: int, bits: int) -> None:
    """Of one word below 4096 without keys, and of any others."""
    rng = np.random.default_rng(seed)
    some = rng.integers(0, 2**bits, (1 + n // 3, width)).astype(np.uint64)
    words = some[rng.integers(0, len(some), n)]
    numbers = [rng.integers(0, 3, n) for _ in range(keys)]
    entry, first = distinct_entries(words, *numbers)
    assert (entry.tolist(), first.tolist()) == twins.distinct(words, *numbers)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**40), st.integers(0, 1)), max_size=30))
def test_one_number_has_the_order_of_the_keys(rows: list[tuple[int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    numbers = one_number(list(columns)).tolist()
    for (one, a), (other, b) in itertools.combinations(zip(rows, numbers, strict=True), 2):
        assert (one < other, one == other) == (a < b, a == b)
