"""Sets that share a counter: one pattern at a time in fractions, and what holds for any sets."""

from __future__ import annotations

import counting_twins as twins
import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting.coherent import missed_of, or_of, unique_of

TRIGGERS = 5
accepted_rows = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 0.5, 1 / 3, 1e-6]), min_size=TRIGGERS, max_size=TRIGGERS),
    min_size=1,
    max_size=4,
)
#: The set of each trigger; −1: of none.
numbers = st.lists(st.integers(-1, 3), min_size=TRIGGERS, max_size=TRIGGERS)


def sets_of(number: list[int]) -> list[list[int]]:
    return [[t for t in range(TRIGGERS) if number[t] == n] for n in range(4)]


@given(accepted_rows, numbers)
def test_probabilities_are_those_of_fractions(rows: list[list[float]], number: list[int]) -> None:
    sets, accepted = sets_of(number), np.array(rows)
    either, missed, unique = (of(accepted, sets) for of in (or_of, missed_of, unique_of))
    for row, a in enumerate(rows):
        expected = twins.missed(a, sets)
        assert missed[row] == pytest.approx(float(expected), rel=1e-14)
        assert either[row] == pytest.approx(float(1 - expected), rel=1e-14)
        for t in range(TRIGGERS):
            assert unique[row, t] == pytest.approx(float(twins.unique(a, sets, t)), rel=1e-13)


@given(accepted_rows, numbers)
def test_laws(rows: list[list[float]], number: list[int]) -> None:
    sets, accepted = sets_of(number), np.array(rows)
    either, unique = or_of(accepted, sets), unique_of(accepted, sets)
    inside = np.array(number) >= 0
    assert (unique <= accepted).all()
    assert (unique[:, ~inside] == 0).all()
    assert (unique.sum(axis=1) <= either * (1 + 1e-14)).all()
    assert (either >= accepted[:, inside].max(axis=1, initial=0.0)).all()
    assert (either[(accepted[:, inside] == 1).any(axis=1)] == 1.0).all()  # to the last bit
    assert (or_of(accepted, [*sets, []]) == either).all()


@given(accepted_rows, st.permutations(range(TRIGGERS)))
def test_the_order_within_a_set_changes_no_bit(rows: list[list[float]], order: list[int]) -> None:
    accepted, sets = np.array(rows), [[0, 1, 2], [3, 4]]
    other = [sorted(members, key=order.index) for members in sets]
    for of in (or_of, missed_of, unique_of):
        assert (of(accepted, other) == of(accepted, sets)).all()
