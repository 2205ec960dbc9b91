"""Sums over a table against sums over its events."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import counting_twins as twins
import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu.counting.rate_sums import BLOCK, RateSums, Scales, pattern_blocks

events = st.builds(twins.toy_events, st.integers(0, 2**32), st.integers(1, 40), st.booleans(), st.booleans())


def drawn_fractions(seed: int, m: int, columns: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((m, columns)) * (rng.random((m, columns)) < 0.7)


@given(events, st.integers(0, 2**32), st.sampled_from([1.0, 0.3]), st.sampled_from([1.0, 3.5]))
def test_sums_are_those_of_the_events(
    of: twins.ToyEvents, seed: int, everything: float, factor: float
) -> None:
    """In any blocks. Strata and shared interactions together too, and fractions above 1."""
    m = len(of.table)
    fractions = factor * drawn_fractions(seed, m)
    sums = RateSums(of.table, Scales(np.full(m, factor), everything, of.stratum), 3)
    cut = seed % (m + 1)
    sums.add(slice(0, cut), fractions[:cut])
    sums.add(np.arange(cut, m), fractions[cut:])
    hz, variance = twins.sums_of_events(of, fractions)
    found = sums.result()
    assert found[0] == pytest.approx(everything * hz, rel=1e-12)
    assert found[1] == pytest.approx(everything**2 * variance, rel=1e-9, abs=1e-12)


@given(events, st.integers(0, 2**32))
def test_sums_of_weights_are_exact(of: twins.ToyEvents, seed: int) -> None:
    fractions = drawn_fractions(seed, len(of.table), 1)
    sums = RateSums(of.table, Scales(np.ones(len(of.table))), 1)
    sums.add(slice(0, len(fractions)), fractions)
    each = zip(of.weight.tolist(), fractions[of.row, 0].tolist(), strict=True)
    assert sums.result()[0][0] == float(sum(Fraction(w) * Fraction(f) for w, f in each))


def test_where_all_or_nothing_of_a_stratum_is_accepted_there_is_no_error() -> None:
    of = twins.toy_events(1, 40, shared=True, strata=True)
    sums = RateSums(of.table, Scales(np.ones(len(of.table)), 1.0, of.stratum), 1)
    sums.add(slice(0, len(of.table)), (of.table.stratum == 1).astype(np.float64)[:, None])
    hz, variance = sums.result()
    assert hz[0] > 1
    assert variance[0] < 1e-12


@pytest.mark.parametrize(
    ("triggers", "seed", "size"), [(30, None, BLOCK), (2000, None, 1048), (100, "a", 838), (3000, "a", 16)]
)
def test_blocks_cover_the_table(triggers: int, seed: str | None, size: int) -> None:
    """In order; smaller ones where there are many triggers, or pairs of them."""
    each = [SimpleNamespace(seed=seed)] * triggers
    menu = SimpleNamespace(triggers=each, enabled=each)
    blocks = list(pattern_blocks(range(10_000), menu))  # type: ignore[arg-type]
    assert [row for block in blocks for row in range(10_000)[block]] == list(range(10_000))
    assert {block.stop - block.start for block in blocks[:-1]} == {size}


@pytest.mark.parametrize("largest", [0.5, 1.0, 1.5, 2.0, 3.0, 1e4])
def test_no_factor_is_above_the_unit(largest: float) -> None:
    """Exact sums take fractions up to 1; differences of menus are the largest."""
    scales, one = Scales(np.array([0.0, largest]), everything=0.5), np.ones(2)
    assert np.abs(scales.judged(slice(None), one, -one)).max() <= scales.unit == 2.0 * scales.hz
    assert scales.of_pairs(slice(None)).max() <= 1.0
