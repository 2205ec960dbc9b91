"""Sums over a table against sums over its events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import counting_twins as twins
import numpy as np
import pytest
from counters_menus import any_menu, menu_with_bits, words_of
from counters_twin import ToyMenu, contributions
from hypothesis import given, settings, strategies as st

from trigemu.counting.sums import BLOCK, Counted, RateSums, pairs_of

events = st.builds(twins.toy_events, st.integers(0, 2**32), st.integers(1, 40), st.booleans(), st.booleans())


def counted(of: twins.ToyEvents, unseen: float = 1.0, everything: float = 1.0) -> Counted:
    return Counted(of.table, (), (), (), (), np.full(len(of.table), unseen), everything, of.stratum)


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
    sums = RateSums(counted(of, factor, everything), 3)
    cut = seed % (m + 1)
    sums.add(slice(0, cut), fractions[:cut])
    sums.add(slice(cut, m), fractions[cut:])
    hz, variance = twins.sums_of_events(of, fractions)
    found = sums.result()
    assert found[0] == pytest.approx(everything * hz, rel=1e-12)
    assert found[1] == pytest.approx(everything**2 * variance, rel=1e-9, abs=1e-12)


def test_where_all_or_nothing_of_a_stratum_is_accepted_there_is_no_error() -> None:
    of = twins.toy_events(1, 40, shared=True, strata=True)
    sums = RateSums(counted(of), 1)
    sums.add(slice(0, len(of.table)), (of.table.stratum == 1).astype(np.float64)[:, None])
    hz, variance = sums.result()
    assert hz[0] > 1
    assert variance[0] < 1e-12


@pytest.mark.parametrize(
    ("triggers", "seed", "size"), [(30, None, BLOCK), (8000, None, 4194), (100, "a", 838), (3000, "a", 16)]
)
def test_blocks_cover_the_table(triggers: int, seed: str | None, size: int) -> None:
    """In order; smaller ones where there are many triggers, or pairs of them."""
    each = [SimpleNamespace(seed=seed)] * triggers
    menu = SimpleNamespace(triggers=each, enabled=each)
    of: Any = range(40_000), (menu,), (), (), (), np.ones(0)
    blocks = list(Counted(*of).blocks())
    assert [row for block in blocks for row in range(40_000)[block]] == list(range(40_000))
    assert {block.stop - block.start for block in blocks[:-1]} == {size}


@settings(max_examples=80)
@given(any_menu, st.integers(0, 2**32), st.integers(1, 40), st.data())
def test_pairs_are_those_of_the_events(toy: ToyMenu, seed: int, n: int, data: st.DataObject) -> None:
    """Of a menu with itself, in one list or in two; with and without seeds, strata, shared interactions and
    fitted triggers."""
    menu, bits = menu_with_bits(toy)
    shared, strata, same, halves = (data.draw(st.booleans()) for _ in range(4))
    rng, t = np.random.default_rng(seed), len(menu.enabled)
    given = [{one.name: bool(rng.random() < 0.7) for one in toy.given} for _ in range(4)]
    of = twins.toy_events(seed, n, shared, strata, words=words_of(given))
    m = len(of.table)
    fitted = (rng.random(t) < 0.4) & halves
    unseen = np.where(rng.random(m) < 0.5, 0.0, 2.5) if halves else np.ones(m)
    judged = frozenset(one.name for one, apart in zip(menu.enabled, fitted, strict=True) if apart)
    times = 1 if same else 2
    known_part = (judged,) * times, (frozenset[str](),) * times
    found = pairs_of(
        Counted(of.table, (menu,) * times, (bits,) * times, *known_part, unseen, 0.3, of.stratum)
    )
    names = [one.name for one in toy.enabled]
    known = {
        words.tobytes(): contributions(toy, one).overlap
        for words, one in zip(words_of(given), given, strict=True)
    }
    joint = np.array(
        [[[float(known[words.tobytes()][a, b]) for b in names] for a in names] for words in of.table.words]
    ).reshape(m, t, t)
    hz, variance = twins.sums_of_events(
        of, joint * np.where(np.logical_or.outer(fitted, fitted), unseen[:, None, None], 1.0)
    )
    assert found[0] == pytest.approx(0.3 * hz, rel=1e-11, abs=1e-14)
    assert found[1] == pytest.approx(0.09 * variance, rel=1e-8, abs=1e-12)
    if not halves:  # two triggers that never accept together have no rate at all
        assert ((found[0] > 0) == joint.any(axis=0)).all()


def test_what_is_the_same_in_all_events_does_not_vary() -> None:
    """Columns with a constant part keep only the rest, and what rounding leaves counts as 0."""
    of, constant = twins.toy_events(1, 40, shared=True, strata=False), np.array([0.1, 0.25, 0.0])
    m = len(of.table)
    fractions = np.tile(constant, (m, 1))
    fractions[::2, 0] += 1e-16
    fractions[::2, 1:] = 0.5, 1.0
    sums = RateSums(counted(of), 3, constant)
    sums.add(slice(0, m), fractions)
    hz, variance = sums.result()
    expected_hz, squares = twins.sums_of_events(of, fractions)
    assert hz == pytest.approx(expected_hz, rel=1e-12)
    assert sums.squares[:3] == pytest.approx(squares, rel=1e-9)
    fractions[:, 0], fractions[1::2, 1:], fractions[::2, 1] = 0.0, 0.0, 0.25
    assert variance == pytest.approx(twins.sums_of_events(of, fractions)[1], rel=1e-9)
