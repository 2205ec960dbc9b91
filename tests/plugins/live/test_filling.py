"""Filling schemes: positions in trains, rates, descriptions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from trigemu_live import Filling, every_slot, read_filling, spread
from trigemu_live.filling import ORBIT, ORBIT_HZ

from trigemu import TrigemuError


@given(st.sets(st.integers(0, ORBIT - 1), min_size=1))
def test_positions_count_the_bunches_before(slots: set[int]) -> None:
    filling = Filling("", np.array(sorted(slots)))
    expected = []
    for slot in sorted(slots):
        before = 0
        while (slot - 1 - before) % ORBIT in slots and before < len(slots):
            before += 1
        expected.append(0 if before == len(slots) else before)
    assert filling.position.tolist() == expected


def test_a_train_may_pass_the_end_of_the_orbit() -> None:
    assert read_filling("2b 3560e 2b").position.tolist() == [2, 3, 0, 1]


def test_a_full_orbit_has_no_trains() -> None:
    filling = every_slot(40e6)
    assert not filling.position.any()
    assert filling.crossing_rate_hz == pytest.approx(40e6)
    assert filling.description == "every slot filled"


@pytest.mark.parametrize("colliding", [1, 2, 2544, ORBIT])
def test_bunches_are_spread_evenly(colliding: int) -> None:
    filling = spread(colliding)
    gaps = np.diff(np.append(filling.slots, filling.slots[0] + ORBIT))
    assert len(filling.slots) == colliding
    assert np.ptp(gaps) <= 1
    assert filling.crossing_rate_hz == colliding * ORBIT_HZ


@pytest.mark.parametrize("colliding", [0, ORBIT + 1])
def test_an_orbit_has_so_many_slots(colliding: int) -> None:
    with pytest.raises(TrigemuError, match="1 to 3564 slots"):
        spread(colliding)


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("lhc-2018-2544", "2544 colliding bunches in 53 trains of up to 48"),
        ("lhc-2024-2340", "2340 colliding bunches in 65 trains of up to 36"),
        ("lhc-2748", "2748 colliding bunches in 39 trains of up to 72"),
        ("lhc-8b4e-1960", "1960 colliding bunches in 245 trains of up to 8"),
        ("3(1b 9e)", "3 colliding bunches, none beside another"),
        ("2b 3560e 2b", "4 colliding bunches in 1 train of up to 4"),
    ],
)
def test_descriptions(scheme: str, text: str) -> None:
    assert read_filling(scheme).description == text
