"""Tables of events pass; the many ways in which others do not are in emulation/test_stored_results.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.base.errors import TrigemuError
from trigemu.counting import exact
from trigemu.counting.patterns import count_patterns, merge_tables
from trigemu.counting.table_checks import check_table

weights = st.floats(-(2.0**40), 2.0**40)


@given(st.lists(st.tuples(weights, st.integers(0, 3)), min_size=1), st.booleans())
def test_tables_of_any_events_pass(events: list[tuple[float, int]], shared: bool) -> None:
    """Also where weights cancel, or are too small to be summed."""
    weight = np.array([w for w, _ in events])
    words = np.array([[pattern] for _, pattern in events], np.uint64)
    numbers = np.arange(len(events), dtype=np.uint64)
    made_from = (numbers // np.uint64(2), numbers) if shared else None
    table = merge_tables([count_patterns(3, words, weight, made_from=made_from)] * 2)
    check_table(table, words=1, samples={3: 2 * len(events)}, ends={})
    with pytest.raises(TrigemuError, match="more events of sample 3"):
        check_table(table, words=1, samples={3: 2 * len(events) - 1}, ends={})


@pytest.mark.parametrize("weight", [1e300, -1e300, 2.0**42, np.inf, np.nan])
def test_weights_that_cannot_be_summed_are_refused(weight: float) -> None:
    words = np.zeros((3, 1), np.uint64)
    with pytest.raises(
        TrigemuError, match=r"a weight of .* Hz cannot be summed: expected less than 4\.39805e\+12"
    ):
        count_patterns(0, words, np.array([1.0, weight, 2.0]))


@pytest.mark.parametrize("value", [2.0**84, 1e300, np.inf, np.nan])
def test_kernels_write_in_no_other_limb(value: float) -> None:
    limbs = np.zeros((3, exact.LIMBS), np.int64)
    exact.add(limbs[1], value)
    assert not limbs.any()
    exact.add(limbs[1], np.nextafter(2.0**84, 0))
    assert limbs[1].any()
    assert not limbs[[0, 2]].any()


@pytest.mark.parametrize("fraction", [2.0**52, 1e300, np.inf, np.nan])
def test_fractions_far_above_1_are_refused(fraction: float) -> None:
    sums = exact.ColumnSums(1)
    with pytest.raises(OverflowError, match="a fraction of an exact sum is above 1"):
        sums.add(np.ones((1, exact.LIMBS), np.int64), np.array([[fraction]]))
