"""Trees in fixed-point arithmetic against a walk from node to node."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tree_toys import fixed_walk, inputs, one_by_one, precision, random_trees
from trigemu_anomaly.fixed_point import OVERFLOWS, ROUNDINGS, ApFixed
from trigemu_anomaly.trees import Ensemble, FixedEnsemble, Precision

from trigemu import TrigemuError

WIDE = precision("ap_fixed<32,8>", "ap_fixed<32,8>", "ap_fixed<32,8>")
MODES = st.tuples(st.sampled_from(ROUNDINGS), st.sampled_from(OVERFLOWS))


def kinds(width: st.SearchStrategy[int], integer: st.SearchStrategy[int]) -> st.SearchStrategy[ApFixed]:
    result = st.tuples(width, integer, st.booleans(), MODES)
    return result.map(lambda of: ApFixed(of[0], of[1], of[2], *of[3]))


def by_row(fixed: FixedEnsemble, x: np.ndarray) -> list[float]:
    return one_by_one(fixed.kernels.row(), x)


@given(
    st.builds(
        Precision,
        kinds(st.integers(3, 31), st.integers(1, 7)),
        kinds(st.integers(3, 31), st.integers(1, 7)),
        kinds(st.integers(3, 31), st.integers(0, 4)),
    ),
    st.tuples(*[st.integers(-2, 2)] * 3),
    st.integers(0, 1000),
)
def test_scores_are_those_of_a_walk(types: Precision, scales: tuple[int, ...], seed: int) -> None:
    fixed = FixedEnsemble(random_trees(6, 4, seed=seed), types, scales)
    x = inputs(25, seed=seed)
    scores, beyond = fixed_walk(fixed, x)
    assert fixed.predict(x).tolist() == scores
    assert by_row(fixed, x) == fixed.to_float(np.array(scores)).tolist()
    assert fixed.overflows(x).scores == sum(beyond)


def test_equal_goes_right_and_coarser_thresholds_are_compared_exactly() -> None:
    one = Ensemble(
        *(np.array(column, np.int32) for column in ([0, -1, -1],)),
        np.array([1.0, 0.0, 0.0]),
        *(np.array(column, np.int32) for column in ([1, -1, -1], [2, -1, -1])),
        np.array([0.0, 1.0, 2.0]),
        np.array([0, 3], np.int32),
        0.0,
        1,
    )
    x = np.float32([[0.5], [0.75], [1.0], [1.25]])
    same = FixedEnsemble(one, precision("ap_fixed<8,4>", "ap_fixed<8,4>", "ap_fixed<8,4>"), (0,))
    assert same.to_float(same.predict(x)).tolist() == [1, 1, 2, 2]
    finer = FixedEnsemble(
        replace(one, threshold=np.array([0.75, 0.0, 0.0])),
        precision("ap_fixed<5,4>", "ap_fixed<8,4>", "ap_fixed<8,4>"),
        (0,),
    )
    assert finer.to_float(finer.predict(x)).tolist() == [1, 1, 2, 2]  # 0.75 enters as 0.5
    beyond = FixedEnsemble(one, precision("ap_fixed<4,0>", "ap_fixed<8,4>", "ap_fixed<8,4>"), (0,))
    assert beyond.to_float(beyond.predict(x)).tolist() == [1, 1, 1, 1]  # no word reaches 1.0


def test_overflows_are_counted() -> None:
    trees = random_trees(4, 2, features=2)
    x = np.float32([[1, 1], [9, 1], [-9, -1], [1, 7.96875]])
    types = precision("ap_fixed<8,4>", "ap_fixed<4,1>", "ap_fixed<12,1>")
    result = FixedEnsemble(trees, types, (0, 1)).overflows(x)
    assert result.inputs == (2, 1)
    thresholds, leaves = FixedEnsemble(trees, types, (0, 1)).overflowing
    split = trees.feature >= 0
    scaled = trees.threshold[split] * 2.0 ** trees.feature[split]
    assert thresholds == np.count_nonzero((scaled < -1) | (scaled >= 1)) > 0
    values = np.append(trees.value[~split], trees.base)
    assert leaves == np.count_nonzero((np.floor(values * 2048) < -2048) | (np.floor(values * 2048) > 2047))


def test_one_scale_an_input_and_no_nan() -> None:
    trees = random_trees(1, 1)
    with pytest.raises(TrigemuError, match="2 scales for 3 inputs"):
        FixedEnsemble(trees, WIDE, (0, 0))
    with_nan = replace(trees, left_of_nan=np.ones(len(trees.feature), np.bool_))
    with pytest.raises(TrigemuError, match="may be NaN"):
        FixedEnsemble(with_nan, WIDE, (0, 0, 0))


def test_no_sum_is_beyond_its_reach() -> None:
    trees = random_trees(3, 2, full=True)
    fixed = FixedEnsemble(trees, WIDE, (0, 0, 0))
    leaves = [fixed.values[start : start + 7][trees.feature[start : start + 7] < 0] for start in (0, 7, 14)]
    sums = [fixed.base + int(sum(chosen)) for chosen in product(*leaves)]
    assert fixed.reach == (min(sums), max(sums))
