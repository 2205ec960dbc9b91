"""Triggers that can be unique nowhere, since a lower threshold accepts all their events. That what is nested
indeed accepts nothing alone is in test_menu_rates.py."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu import emulate, rates_of
from trigemu.rates.results import MenuRates

JET = 'kind = "threshold"\nobservable = "jet[0].pt"\nabove = '
LEGS = 'kind = "leg_threshold"\nlegs = [{ object = "jet" }, { object = "muon" }]\nabove = '


def rates(folder: Path, *triggers: str) -> MenuRates:
    """The rates of a menu with the triggers A, B … and two random ones, R and S."""
    text = "".join(f'[[trigger]]\nname = "{n}"\n{keys}\n' for n, keys in zip("ABCD", triggers, strict=False))
    for name in "RS":
        text += f'[[trigger]]\nname = "{name}"\nkind = "random"\nrate_hz = 1000\n'
    return rates_of(emulate([menu_from(folder, text)], memory_catalogue({"a": toy_events(1, 60)})))


@pytest.mark.parametrize(
    ("first", "second", "nested"),
    [
        (f"{JET}10", f"{JET}20", True),
        (f"{JET}20", f"{JET}20", True),
        (f"{JET}20", f"{JET}10", False),
        (f"{LEGS}10", f"{LEGS}20", True),
        (f"{JET}10", f"{LEGS}1000", False),
        (f"{JET}10", f"{JET}20\nprescale = 20", True),
        (f"{JET}10\nprescale = 10", f"{JET}20\nprescale = 20", False),
        (f'{JET}10\nprescale = 10\ncoherent = "j"', f'{JET}20\nprescale = 20\ncoherent = "j"', True),
        (f'{JET}10\nprescale = 20\ncoherent = "j"', f'{JET}20\nprescale = 10\ncoherent = "j"', False),
        (f'{JET}10\nprescale = 10\ncoherent = "j"', f'{JET}20\nprescale = 20\ncoherent = "k"', False),
        (f"{JET}10", f'{JET}20\nseed = "R"', True),
        (f'{JET}10\nseed = "R"', f'{JET}20\nseed = "R"\nprescale = 2', True),
        (f'{JET}10\nseed = "R"', f'{JET}20\nseed = "S"', False),
        (f'{JET}10\nseed = "R"', f"{JET}1000", False),
    ],
)  # fmt: skip
def test_thresholds_prescales_and_seeds(tmp_path: Path, first: str, second: str, nested: bool) -> None:
    assert rates(tmp_path, first, second)["B"].unique.contained_in == (("A",) if nested else ())


def test_identical_triggers_contain_each_other(tmp_path: Path) -> None:
    combination = 'kind = "combination"\nlegs = [{ object = "muon" }]'
    result = rates(tmp_path, f"{JET}10", f"{JET}10", combination, combination)
    assert [t.unique.contained_in for t in result.triggers[:4]] == [("B",), ("A",), ("D",), ("C",)]
    assert all(t.unique.upper_limit_hz is None and t.total.hz > 0 for t in result.triggers[:4])


def test_a_limit_is_at_most_the_rate_of_a_wider_trigger(tmp_path: Path) -> None:
    """The rarest of those, though the first is named."""
    result = rates(tmp_path, f"{JET}10", f"{JET}60", f"{JET}1000", f"{LEGS}1000")
    limit, free = (result[name].total.upper_limit_hz for name in "CD")
    assert limit is not None
    assert free is not None
    assert math.isclose(limit, min(free, result["B"].total.hz))
    assert result["C"].unique.contained_in == ("A",)
