"""The probabilities of patterns: against the rates of menus, with halves of samples and negative weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from counters_twin import Toy
from hypothesis import given, strategies as st
from live_toys import toy
from toys import even_events, memory_catalogue, menu_from, threshold
from trigemu_live.patterns import Patterns, aliases, menu_arrays, patterns_of

from trigemu import TrigemuError, emulate, rates_of
from trigemu.emulation.loop import Emulation

FITTED = threshold("J30", "jet[0].pt", 30.0) + threshold("MET", "met", None, "total_rate_hz = 100.0")


def probabilities(keep: np.ndarray, other: np.ndarray) -> np.ndarray:
    found = keep / len(keep)
    np.add.at(found, other, (1 - keep) / len(keep))
    return found


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda p: sum(p) > 1e-6))
def test_aliases_have_the_probabilities(weights: list[float]) -> None:
    probability = np.array(weights) / sum(weights)
    assert probabilities(*aliases(probability)) == pytest.approx(probability, abs=1e-12)


def patterns(emulation: Emulation, factor: float = 1.0) -> tuple[Patterns, dict[str, float]]:
    """The patterns, and the rate of each trigger before its prescale."""
    arrays = menu_arrays(emulation.menus[0])
    made = patterns_of(arrays, emulation, factor)
    hz = made.fires @ probabilities(made.keep, made.other) * made.chance * emulation.table.weight.sum()
    return made, dict(zip(arrays.names, hz.tolist(), strict=True))


def test_fitted_triggers_have_their_rates(tmp_path: Path) -> None:
    """J30 has its rate of all events, MET that of the unseen half."""
    menu, catalogue = menu_from(tmp_path, FITTED), memory_catalogue({"all": even_events(2, 2000)})
    emulation = emulate(menu, catalogue)
    rates = rates_of(emulation)
    assert rates.half
    made, hz = patterns(emulation)
    for name, of_trigger in hz.items():
        assert of_trigger == pytest.approx(rates[name].total.hz, rel=1e-2 if made.negative else 1e-9)
    assert made.chance * emulation.table.weight.sum() == pytest.approx(rates.rate.hz, rel=2e-2)


def test_negative_weights_cancel_within_a_pattern(tmp_path: Path) -> None:
    menu, catalogue = toy(tmp_path, [Toy("A"), Toy("B")], {"A": 0.02, "B": 0.01, "A B": 0.001})
    events = catalogue.samples[0].sources[0].events
    events.append({**events[0], "weight": -0.5 * events[0]["weight"]})
    events.append({**events[2], "weight": -1.001 * events[2]["weight"]})
    for source in catalogue.samples[0].sources:
        source.__post_init__()
    made, _ = patterns(emulate(menu, catalogue))
    assert 0 < made.negative < 1e-3
    share = {
        tuple(f): s for f, s in zip(made.fires.T.tolist(), probabilities(made.keep, made.other), strict=True)
    }
    assert share[True, False] / share[False, True] == pytest.approx(1)
    assert (True, True) not in share


@pytest.mark.parametrize(
    ("shares", "factor", "message"),
    [
        ({"A": 0.02, "B": -0.01}, 1.0, "patterns with negative weights have"),
        ({"A": 0.5, "B": 0.0}, 3.0, "in 50 % of the crossings: that rate cannot be scaled by 3"),
    ],
)
def test_what_cannot_be_drawn(tmp_path: Path, shares: dict[str, float], factor: float, message: str) -> None:
    menu, catalogue = toy(tmp_path, [Toy("A", prescale=10), Toy("B")], shares)
    with pytest.raises(TrigemuError, match=message):
        patterns(emulate(menu, catalogue), factor)


def test_counters_that_need_each_other_are_refused(tmp_path: Path) -> None:
    """D of the set of A reads C, and B of the set of C reads A: neither counter can be run first."""
    triggers = [
        Toy("A", prescale=2, coherent="s"),
        Toy("C", prescale=3, coherent="t"),
        Toy("D", prescale=4, coherent="s", seed="C"),
        Toy("B", prescale=5, coherent="t", seed="A"),
    ]
    menu, _ = toy(tmp_path, triggers, {"A B C D": 0.1})
    with pytest.raises(TrigemuError, match="read each other through their coherent sets"):
        menu_arrays(menu)
    assert len(menu_arrays(toy(tmp_path, triggers[:3], {"A C D": 0.1})[0]).counters) == 2
