"""Where rows stand, and that their scores find back to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu_anomaly.lanes import BATCH, LANES, Lanes


def rows(n: int, features: int = 5, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, features)).astype(np.float32)


class Runs:
    """In place of a network: the score is the sum of squares in float64, or the lane of a row."""

    def __init__(self, lane: bool = False) -> None:
        self.sizes: list[int] = []
        self.lane = lane

    def __call__(self, x: np.ndarray) -> np.ndarray:
        assert x.ctypes.data % 64 == 0
        assert x.flags.c_contiguous
        assert 0 < len(x) <= BATCH
        assert len(x) % LANES == 0
        self.sizes.append(len(x))
        return np.arange(len(x)) % LANES if self.lane else (x.astype(float) ** 2).sum(axis=1)

    def score(self, *blocks: np.ndarray) -> np.ndarray:
        lanes = Lanes(self, blocks[0].shape[1])
        for block in blocks:
            lanes.add(block)
        return lanes.scores()


def expected(x: np.ndarray) -> list[float]:
    return (x.astype(float) ** 2).sum(axis=1).tolist()  # type: ignore[no-any-return]


@given(
    st.lists(st.integers(0, 3 * BATCH), min_size=1, max_size=5),
    st.integers(1, 4 * BATCH),
    st.integers(0, 2**32 - 1),
)
def test_every_row_has_its_lane_and_its_score(sizes: list[int], distinct: int, seed: int) -> None:
    """In any company, of any number of different rows."""
    x = rows(distinct)[np.random.default_rng(seed).integers(0, distinct, sum(sizes))]
    runs = Runs()
    assert runs.score(*np.split(x, np.cumsum(sizes)[:-1])).tolist() == expected(x)
    assert runs.score(x[::-1]).tolist() == expected(x[::-1])
    lanes = Runs(lane=True).score(x)
    assert Runs(lane=True).score(x[::-1]).tolist() == lanes[::-1].tolist()
    assert [Runs(lane=True).score(x[i : i + 1])[0] for i in range(min(3, len(x)))] == lanes[:3].tolist()


def test_of_no_rows() -> None:
    runs = Runs()
    assert runs.score(rows(0)).tolist() == []
    assert Lanes(runs, 5).scores().tolist() == []
    assert runs.sizes == []


def test_hardly_a_place_is_run_for_nothing() -> None:
    """However long the row of blocks."""
    x = rows(40 * BATCH)
    runs = Runs()
    assert runs.score(*np.split(x, 40)).tolist() == expected(x)
    assert sum(runs.sizes) < 1.05 * len(x)


@pytest.mark.parametrize("distinct", [1, 3, 60])
def test_rows_that_return_are_run_once(distinct: int) -> None:
    x = rows(distinct)[np.arange(20_000) % distinct]
    runs = Runs()
    assert runs.score(x).tolist() == expected(x)
    assert sum(runs.sizes) <= distinct * LANES


def test_rows_of_one_lane() -> None:
    """Which leave 15 places empty of 16."""
    x = rows(60 * BATCH)
    one = x[Runs(lane=True).score(x) == 3]
    assert len(one) > 3 * BATCH
    assert Runs().score(one).tolist() == expected(one)


def test_what_differs_in_the_last_bit_only() -> None:
    """Also 0 and −0, which are equal numbers."""
    x = np.array([[1.0, 0.0], [1.0, -0.0], [np.nextafter(np.float32(1), 2), 0.0]] * 500, np.float32)
    lanes = Lanes(lambda x: x.view(np.uint32).astype(float).sum(axis=1), 2)
    lanes.add(x)
    assert lanes.scores().tolist() == x.view(np.uint32).astype(float).sum(axis=1).tolist()
