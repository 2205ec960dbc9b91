"""Trees as a table of cells against a walk from node to node, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tree_toys import floating_walk, inputs, one_by_one, random_trees
from trigemu_anomaly import tree_kernels
from trigemu_anomaly.tree_kernels import TreeKernels
from trigemu_anomaly.trees import Ensemble


def table_of(trees: Ensemble) -> TreeKernels:
    table = TreeKernels(trees)
    assert table.engine == "as a table"
    return table


def walk(trees: Ensemble, x: np.ndarray) -> list[float]:
    """Sums in single precision, in the order of the trees; the base comes last."""
    scores = []
    for row in x:
        total = np.float32(0)
        for root in trees.starts[:-1]:
            node = root
            while trees.feature[node] >= 0:
                below = float(row[trees.feature[node]]) < trees.threshold[node]
                node = trees.left[node] if below else trees.right[node]
            total += np.float32(trees.value[node])
        scores.append(float(total + np.float32(trees.base)))
    return scores


def next_to(trees: Ensemble, seed: int) -> np.ndarray:
    """Thresholds and the numbers next to them, combined at random, and numbers beyond all of them."""
    rng = np.random.default_rng(seed)
    names = np.append(trees.threshold[trees.feature >= 0], 0.0).astype(np.float32)
    near = rng.choice(names, (60, trees.features))
    moved = np.nextafter(near, rng.choice(np.float32([-np.inf, np.inf]), near.shape))
    ends = np.float32([[-np.inf], [np.inf], [-0.0], [3e38]]) * np.ones(trees.features, np.float32)
    return np.concatenate([near, moved, ends.astype(np.float32)])


@given(st.integers(1, 9), st.integers(0, 5), st.integers(1, 3), st.integers(0, 1000))
def test_sums_are_those_of_a_walk(trees: int, depth: int, features: int, seed: int) -> None:
    result = random_trees(trees, depth, features, seed)
    x = np.concatenate([inputs(20, features, seed), next_to(result, seed)])
    assert table_of(result).predict(x).tolist() == walk(result, x)
    assert table_of(result).predict(x) == pytest.approx(floating_walk(result, x), abs=1e-5)


@pytest.mark.parametrize("number", [1, 2, 3, 15, 16, 17, 64, 65, 300])
def test_searches_of_any_number_of_thresholds(number: int) -> None:
    """Tree i splits at i: the sum counts the thresholds below."""
    ones = np.ones(number, np.int32)
    node = 3 * np.arange(number, dtype=np.int32)
    trees = Ensemble(
        feature=np.stack([0 * ones, -ones, -ones], 1).ravel(),
        threshold=np.stack([np.arange(number), 0.0 * ones, 0.0 * ones], 1).ravel(),
        left=np.stack([node + 1, -ones, -ones], 1).ravel(),
        right=np.stack([node + 2, -ones, -ones], 1).ravel(),
        value=np.stack([0.0 * ones, 0.0 * ones, 1.0 * ones], 1).ravel(),
        starts=np.arange(0, 3 * number + 1, 3, dtype=np.int32),
        base=0.0,
        features=1,
    )
    x = np.arange(-1, number + 1, 0.5, np.float32)[:, np.newaxis]
    expected = np.clip(np.floor(x[:, 0]) + 1, 0, number)
    assert table_of(trees).predict(x).tolist() == expected.tolist()


def test_a_layout_and_a_number_of_rows_change_nothing() -> None:
    table, x = table_of(random_trees(12, 4)), inputs()
    expected = table.predict(x)
    assert (table.predict(np.asfortranarray(x)) == expected).all()
    assert (table.predict(np.repeat(x, 2, axis=0)[::2]) == expected).all()
    assert one_by_one(table.row(), x) == expected.tolist()
    assert table.predict(x[:0]).shape == (0,)
    for wrong in (x[:, :2], x[:, 0]):
        with pytest.raises(ValueError, match="trees that read 3 features got an array"):
            table.predict(wrong)


def test_a_threshold_between_two_single_numbers_separates_them() -> None:
    trees = random_trees(1, 1, 1, full=True)
    below = np.float32(0.1)
    above = np.nextafter(below, np.float32(1))
    for threshold in (float(below) + 1e-12, float(above)):
        table = table_of(replace(trees, threshold=np.array([threshold, 0.0, 0.0])))
        scores = table.predict(np.array([[below], [above]]))
        assert scores.tolist() == pytest.approx([trees.base + trees.value[1], trees.base + trees.value[2]])


def test_inputs_that_no_tree_splits_on_cost_nothing() -> None:
    trees = random_trees(30, 4, features=2)
    wider = replace(trees, features=200, feature=np.where(trees.feature == 1, 150, trees.feature))
    assert table_of(wider).cells == table_of(trees).cells
    x = np.random.default_rng(1).normal(0, 3, (50, 200)).astype(np.float32)
    assert table_of(wider).predict(x).tolist() == walk(wider, x)


@pytest.mark.parametrize("bound", ["MAX_CELLS", "MAX_SUMS"])
def test_a_table_that_is_too_large_is_not_made(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = random_trees(12, 4)
    cells = table_of(trees).cells
    needed = cells if bound == "MAX_CELLS" else cells * trees.trees
    monkeypatch.setattr(tree_kernels, bound, needed)
    assert TreeKernels(trees).cells
    monkeypatch.setattr(tree_kernels, bound, needed - 1)
    assert TreeKernels(trees).engine == "one by one"
