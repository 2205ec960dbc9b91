"""Pairs that are summed for a few triggers at a time have the bits of all at once, which `test_shared`,
`test_menu_rates` and `test_reweight` hold against brute force."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pileup_toys import crossing_catalogue, crossings
from toys import memory_catalogue, menu_from, toy_events

from trigemu import emulate, rates_of
from trigemu.counting import pair_sums
from trigemu.counting.pair_sums import PairSums, SeededPairSums
from trigemu.emulation.reweight import at_pileup
from trigemu.studies.comparison import compare

MENU = """
[menu]
name = "{name}"
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = {jet}
prescale = 3
coherent = "c"
[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
above = 8
prescale = 2.5
coherent = "c"
[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 15
[[trigger]]
name = "ALL"
kind = "random"
rate_hz = 1e6
"""


def related(n: int) -> dict[str, list[dict[str, Any]]]:
    """Two samples of events that share parents."""
    rng = random.Random(3)
    return {
        name: [e | {"parent": rng.randrange(n // 3)} for e in toy_events(seed, n)]
        for seed, name in ((1, "a"), (2, "b"))
    }


@pytest.mark.parametrize("most", [1, 8])
def test_blocks_of_triggers_change_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    menus = [menu_from(tmp_path, MENU.format(name=name, jet=jet)) for name, jet in (("a", 20), ("b", 30))]
    emulation = emulate(menus, memory_catalogue(related(120)))
    whole = compare(emulation)
    monkeypatch.setattr(pair_sums, "_CELLS", most)
    parts = compare(emulation)
    assert parts.common == whole.common
    assert sum(common.error_hz > 0 for common in whole.common) > 9
    for a, b in zip(parts.variants, whole.variants, strict=True):
        assert a.overlap.tobytes() == b.overlap.tobytes()
        assert a.overlap_error.tobytes() == b.overlap_error.tobytes()


@pytest.mark.parametrize(("bound", "value"), [("_CELLS_OF_STRATA", 1), ("_LISTED", 50), ("BLOCK", 7)])
def test_nor_with_strata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    events = [e | {"parent": i // 3} for i, e in enumerate(crossings(4, 300))]
    emulation = emulate(
        [menu_from(tmp_path, MENU.format(name="a", jet=20))],
        at_pileup(crossing_catalogue({"a": events}), 2.0),
    )
    whole = rates_of(emulation)
    monkeypatch.setattr(pair_sums, bound, value)
    parts = rates_of(emulation)
    assert parts.overlap.tobytes() == whole.overlap.tobytes()
    assert parts.overlap_error.tobytes() == whole.overlap_error.tobytes()


def test_triggers_that_no_seed_connects_are_summed_as_if_there_were_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way of summing is taken for them."""
    emulation = emulate([menu_from(tmp_path, MENU.format(name="a", jet=20))], memory_catalogue(related(120)))
    whole = rates_of(emulation)

    def add(self: PairSums, rows: slice, pairs: Any) -> None:
        self._with_seeds = self._with_seeds or SeededPairSums(*self._of)
        self._with_seeds.add(rows, pairs)

    monkeypatch.setattr(PairSums, "add", add)
    other = rates_of(emulation)
    assert other.overlap.tobytes() == whole.overlap.tobytes()
    assert other.overlap_error.tobytes() == whole.overlap_error.tobytes()
    assert np.count_nonzero(whole.overlap) == 16
