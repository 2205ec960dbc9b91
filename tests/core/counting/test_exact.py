from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting import exact

#: Weights in Hz down to the smallest that is kept whole, up to the largest that is allowed.
weights = st.floats(-(2.0**40), 2.0**40).filter(lambda w: w == 0 or abs(w) > 2.0**-100)


def exact_sum(values: list[float]) -> np.ndarray:
    limbs = np.zeros((1, exact.LIMBS), np.int64)
    for value in values:
        exact.add(limbs[0], value)
    exact.carry(limbs)
    return limbs


@given(st.lists(weights))
def test_a_sum_is_that_of_rational_numbers(values: list[float]) -> None:
    assert exact.to_float(exact_sum(values))[0] == float(sum(map(Fraction, values)))


def test_carries_between_many_additions_lose_nothing() -> None:
    limbs = np.zeros((1, exact.LIMBS), np.int64)
    for _ in range(3):
        for _ in range(1000):
            exact.add(limbs[0], 2.0**80)
            exact.add(limbs[0], -(2.0**-150))
        exact.carry(limbs)
    assert exact.to_float(limbs)[0] == float(3000 * (Fraction(2) ** 80 - Fraction(1, 2**150)))


def test_what_is_too_small_is_cut_off_each_value() -> None:
    assert exact.to_float(exact_sum([2.0**-161, 5e-324, 0.0, -0.0]))[0] == 0.0
    assert exact.to_float(exact_sum([2.0**-160] * 3))[0] == 3 * 2.0**-160


whole_weights = st.floats(2.0**-54, 2.0**40).flatmap(lambda w: st.sampled_from([w, -w]))


@given(st.lists(st.tuples(whole_weights, st.integers(0, 2)), min_size=1))
def test_cells_hold_what_is_added_one_by_one(values: list[tuple[float, int]]) -> None:
    """To the bit, for weights and squares at both ends of what is allowed."""
    weight = np.array([w for w, _ in values])
    entry = np.array([e for _, e in values])
    lowest, highest = exact.exponents(weight)
    assert exact.WHOLE_EXPONENT <= lowest == min(math.frexp(w)[1] + 1022 for w, _ in values)
    assert highest == max(math.frexp(w)[1] + 1022 for w, _ in values)
    cells = np.zeros((3, highest - lowest + 1, 8), np.int64)
    n, largest = np.zeros(3, np.int64), np.zeros(3)
    sums, squares = (np.zeros((3, exact.LIMBS), np.int64) for _ in range(2))
    for part in (slice(None, len(values) // 2), slice(len(values) // 2, None)):
        exact.add_to_cells(cells, lowest, entry[part], weight[part])
    exact.from_cells(cells, lowest, n, largest, sums, squares)
    exact.carry(sums)
    exact.carry(squares)
    for e in range(3):
        of = [w for w, at in values if at == e]
        assert n[e] == len(of)
        assert largest[e] == max(map(abs, of), default=0.0)
        assert (sums[e] == exact_sum(of)[0]).all()
        assert (squares[e] == exact_sum([w * w for w in of])[0]).all()


@pytest.mark.parametrize("weight", [2.0**40, -(2.0**40), math.nextafter(2.0**40, 0)])
def test_cells_of_many_large_weights(weight: float) -> None:
    """Sums that reach into the last limb."""
    many = 300_000
    lowest, _ = exact.exponents(np.array([weight]))
    cells = np.zeros((1, 1, 8), np.int64)
    exact.add_to_cells(cells, lowest, np.zeros(many, np.int64), np.full(many, weight))
    n, largest = np.zeros(1, np.int64), np.zeros(1)
    sums, squares = (np.zeros((1, exact.LIMBS), np.int64) for _ in range(2))
    cells[..., :7] *= 1000  # as if there were as many more
    exact.from_cells(cells, lowest, n, largest, sums, squares)
    exact.carry(sums)
    exact.carry(squares)
    assert exact.to_float(sums)[0] == float(1000 * many * Fraction(weight))
    assert exact.to_float(squares)[0] == float(1000 * many * Fraction(weight * weight))
