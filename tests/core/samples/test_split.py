"""The hash that splits a sample: stable for ever, since models are fitted on one half of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from toys import is_evaluation
from trigemu_decade.training.regression import is_quarter

from trigemu.samples.split import EVALUATION, HALF_NAMES, TRAINING, half_of

PARENTS = st.lists(st.integers(0, 2**64 - 1), max_size=20)


@given(PARENTS)
def test_the_half_is_that_of_whole_numbers(parents: list[int]) -> None:
    halves = half_of(np.array(parents, np.uint64))
    assert halves.dtype == np.int64
    assert halves.tolist() == [EVALUATION if is_evaluation(p) else TRAINING for p in parents]


def test_published_values() -> None:
    """SplitMix64 from state 0 begins with E220A839…, 6E789E6A…, 06C45D18…, F88BB8A8…."""
    step = 0x9E3779B97F4A7C15
    states = np.array([i * step % 2**64 for i in range(4)], np.uint64)
    assert half_of(states).tolist() == [1, 0, 0, 1]
    assert is_quarter(states).tolist() == [False, False, True, False]
    assert HALF_NAMES[EVALUATION] == "evaluation"


@pytest.mark.parametrize(
    "parents", [np.arange(100_000), np.arange(100_000) * 2**20, 7 + np.arange(10**5) * 1024]
)
def test_halves_and_quarters_are_even_and_know_nothing_of_each_other(parents: np.ndarray) -> None:
    half, quarter = half_of(parents.astype(np.uint64)), is_quarter(parents.astype(np.uint64))
    assert half.mean() == pytest.approx(0.5, abs=0.008)
    for number in (TRAINING, EVALUATION):
        assert quarter[half == number].mean() == pytest.approx(0.25, abs=0.01)
    assert np.mean(half[1:] == half[:-1]) == pytest.approx(0.5, abs=0.008)
