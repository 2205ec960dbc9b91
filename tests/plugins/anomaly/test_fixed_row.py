"""Trees in fixed point on single rows against the same in batches, for all types, roundings and overflows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tree_toys import inputs, precision, random_trees

from trigemu_anomaly import OVERFLOWS, ROUNDINGS, ApFixed, FixedEnsemble, FixedRow, Precision, score_by


def by_row(fixed: FixedEnsemble, x: np.ndarray) -> list[float]:
    row = FixedRow(fixed)
    return [score_by(row.function, row.arguments, values.ctypes.data) for values in x]


def kinds(most: int) -> st.SearchStrategy[ApFixed]:
    modes = st.sampled_from(ROUNDINGS), st.sampled_from(OVERFLOWS)
    return st.builds(ApFixed, st.integers(3, most), st.integers(0, 7), st.booleans(), *modes)


@given(
    st.builds(Precision, kinds(14), kinds(14), kinds(18)),
    st.tuples(*[st.integers(-2, 2)] * 3),
    st.integers(0, 1000),
)
def test_rows_are_those_of_batches(types: Precision, scales: tuple[int, ...], seed: int) -> None:
    fixed, x = FixedEnsemble(random_trees(6, 4, seed=seed), types, scales), inputs(25, seed=seed)
    assert by_row(fixed, x) == fixed.to_float(fixed.predict(x)).tolist()


@pytest.mark.parametrize(("trees", "depth"), [(1, 0), (200, 3), (3, 7)])
def test_trees_of_all_sizes(trees: int, depth: int) -> None:
    """More leaves than a mask has bits, more trees than a table has masks."""
    types = precision("ap_fixed<14,6>", "ap_fixed<14,6>", "ap_fixed<16,2,AP_TRN,AP_SAT>")
    fixed = FixedEnsemble(random_trees(trees, depth, full=True), types, (0, 0, 0))
    assert by_row(fixed, inputs()) == fixed.to_float(fixed.predict(inputs())).tolist()
