"""Score tables against events counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting import patterns
from trigemu.counting.patterns import Keys, PatternTable, count_patterns
from trigemu.emulation.plan import pack
from trigemu.emulation.score_table import ScoreTable, merge_score_tables


def table(seed: int, n: int, sample: int = 0) -> ScoreTable:
    """n events with a row, and as many without."""
    rng = np.random.default_rng(seed)
    left = np.zeros((n, 1), np.uint64)
    columns = {
        "sample": np.full(n, sample),
        "half": rng.integers(0, 2, n),
        "stratum": rng.integers(0, 3, n),
        "id": np.arange(n, dtype=np.uint64),
        "parent": rng.integers(0, 1 + n // 3, n).astype(np.uint64),
        "weight": rng.exponential(1.0, n),
        "score": rng.normal(size=n),
        "fired": rng.integers(0, 2, n) != 0,
    }
    return ScoreTable(
        columns,
        count_patterns(sample, left, rng.exponential(1.0, n), Keys(rng.integers(0, 2, n))),
    )


@given(st.integers(0, 2**32), st.lists(st.integers(1, 30), min_size=1, max_size=4), st.booleans())
def test_tables_are_added_as_their_events(seed: int, sizes: list[int], shared: bool) -> None:
    """What is counted from a sum of tables is the sum of what is counted from each."""
    parts = [table(seed + i, n, sample=i % 2) for i, n in enumerate(sizes)]
    whole = merge_score_tables(parts)
    assert len(whole) == sum(sizes)

    def counted(of: ScoreTable) -> PatternTable:
        words = pack(len(of), 2, enumerate([of["score"] > 0, of["fired"]]))
        return of.count(
            words, Keys(of["half"], stratum=of["stratum"]), of.rest, (0, 1) if shared else (), True
        )

    first, *others = map(counted, parts)
    for other in others:
        first = first + other
    again = counted(whole)
    for name in patterns.COLUMNS:
        assert getattr(again, name) == pytest.approx(getattr(first, name), rel=1e-13)
    kept, rest = sum(map(len, parts)), sum(int(part.rest.n.sum()) for part in parts)
    assert int(again.n.sum()) == kept + rest
