from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from toys import memory_catalogue, toy_events

from trigemu import Menu, TrigemuError, emulate, rates_of, read_menu
from trigemu.triggers import Random

MENU = """
[menu]
crossing_rate_hz = 30e6
[[trigger]]
name = "ANY"
kind = "random"
rate_hz = 1500.0
prescale = PRESCALE
"""


@pytest.fixture
def menu(tmp_path_factory: pytest.TempPathFactory) -> Menu:
    file = tmp_path_factory.mktemp("random") / "menu.toml"
    file.write_text(MENU.replace("PRESCALE", "3"))
    return read_menu(file)


@given(st.floats(1.0, 40e6), st.floats(40e6, 1e9))
def test_its_prescale_leaves_its_rate_of_all_crossings(rate: float, crossing: float) -> None:
    kind = Random(rate_hz=rate)
    assert crossing / kind.own_prescale(crossing) == pytest.approx(rate, rel=1e-12)
    assert kind.inputs() == ()
    assert kind.decide({}, 4).tolist() == [True] * 4


def test_its_rate_is_what_was_asked_for_over_its_prescale(menu: Menu) -> None:
    """Whatever is in the events, if their weights add up to all crossings."""
    events = toy_events(3, 200)
    total = sum(event["weight"] for event in events)
    scaled = [event | {"weight": event["weight"] * 40e6 / total} for event in events]
    result = rates_of(emulate([menu], memory_catalogue({"all": scaled})))
    assert result.triggers[0].total.hz == pytest.approx(500.0, rel=1e-9)
    assert result.rate.hz == pytest.approx(500.0, rel=1e-9)
    assert result.triggers[0].prescale == pytest.approx(60_000.0)


def test_interactions_are_no_crossings(menu: Menu) -> None:
    catalogue = memory_catalogue({"all": toy_events(3, 20)}, convention="luminosity")
    with pytest.raises(TrigemuError, match="random"):
        rates_of(emulate([menu], catalogue))


@pytest.mark.parametrize("rate", [0.0, -5.0])
def test_a_rate_is_above_zero(rate: float) -> None:
    assert [key for key, _ in Random(rate_hz=rate).mistakes()] == ["rate_hz"]
