"""The probabilities of patterns: against the rates of menus, with halves of samples and negative weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from counters_menus import TWO_LEVELS, as_toml, catalogue_of, toy_samples
from counters_twin import Toy
from hypothesis import given, strategies as st
from live_toys import toy
from toys import even_events, memory_catalogue, menu_from
from trigemu_live.patterns import aliases, menu_arrays, to_draw, weigh

from trigemu import TrigemuError, emulate, rates_of

FITTED = """
[[trigger]]
name = "J30"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
[[trigger]]
name = "MET"
kind = "threshold"
observable = "met"
total_rate_hz = 100.0
"""


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda p: sum(p) > 1e-6))
def test_aliases_have_the_probabilities(weights: list[float]) -> None:
    probability = np.array(weights) / sum(weights)
    keep, other = aliases(probability)
    found = keep / len(keep)
    np.add.at(found, other, (1 - keep) / len(keep))
    assert found == pytest.approx(probability, abs=1e-12)


def test_rates_of_triggers_follow(tmp_path: Path) -> None:
    """Without seeds and prescales, the rate of a trigger is the share of the patterns in which it fires."""
    menu = menu_from(tmp_path, as_toml(TWO_LEVELS))
    emulation = emulate(menu, catalogue_of(TWO_LEVELS, toy_samples(TWO_LEVELS, 3, 300, 20)))
    arrays = menu_arrays(emulation.menus[0])
    weighed = weigh(arrays, [emulation])
    total = emulation.table.weight.sum()
    assert weighed.share.sum() == pytest.approx(1)
    assert not weighed.fires[0].any()
    for trigger in rates_of(emulation).triggers:
        if not menu.trigger(trigger.name).seed and trigger.kind != "random":
            column = arrays.names.index(trigger.name)
            hz = weighed.share[0] @ weighed.fires[:, column] * total / menu.trigger(trigger.name).prescale
            assert hz == pytest.approx(trigger.total.hz)


def test_fitted_triggers_have_their_rates(tmp_path: Path) -> None:
    """J30 has its rate of all events, MET that of the unseen half."""
    menu, catalogue = menu_from(tmp_path, FITTED), memory_catalogue({"all": even_events(2, 2000)})
    emulation = emulate(menu, catalogue)
    rates = rates_of(emulation)
    assert rates.half
    weighed = weigh(menu_arrays(emulation.menus[0]), [emulation])
    names, total = [t.name for t in menu.enabled], emulation.table.weight.sum()
    for name in names:
        hz = weighed.share[0] @ weighed.fires[:, names.index(name)] * total
        assert hz == pytest.approx(rates[name].total.hz, rel=1e-2 if weighed.negative else 1e-9)
    either = (1 - weighed.share[0, 0]) * total
    assert either == pytest.approx(rates.rate.hz, rel=2e-2)


def test_negative_weights_cancel_within_a_pattern(tmp_path: Path) -> None:
    triggers = [Toy("A"), Toy("B")]
    menu, catalogue = toy(tmp_path, triggers, {"A": 0.02, "B": 0.01, "A B": 0.001})
    events = catalogue.samples[0].sources[0].events
    events.append({**events[0], "weight": -0.5 * events[0]["weight"]})
    events.append({**events[2], "weight": -1.001 * events[2]["weight"]})
    for source in catalogue.samples[0].sources:
        source.__post_init__()
    emulation = emulate(menu, catalogue)
    weighed = weigh(menu_arrays(emulation.menus[0]), [emulation])
    assert 0 < weighed.negative < 1e-3
    share = {tuple(f): s for f, s in zip(weighed.fires.tolist(), weighed.share[0], strict=True)}
    assert share[True, False] / share[False, True] == pytest.approx(1)
    assert (True, True) not in share


def test_too_many_negative_weights_are_refused(tmp_path: Path) -> None:
    menu, catalogue = toy(tmp_path, [Toy("A"), Toy("B")], {"A": 0.02, "B": -0.01})
    emulation = emulate(menu, catalogue)
    with pytest.raises(TrigemuError, match="patterns with negative weights have"):
        weigh(menu_arrays(emulation.menus[0]), [emulation])


def test_rates_cannot_exceed_the_crossings(tmp_path: Path) -> None:
    menu, catalogue = toy(tmp_path, [Toy("A", prescale=10)], {"A": 0.5})
    emulation = emulate(menu, catalogue)
    weighed = weigh(menu_arrays(emulation.menus[0]), [emulation])
    assert to_draw(weighed, 2.0).chance == 1.0
    with pytest.raises(TrigemuError, match="in 50 % of the crossings: that rate cannot be scaled by 3"):
        to_draw(weighed, 3.0)


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
