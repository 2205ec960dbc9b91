"""A sample is told where it may have been missed by chance, not where it cannot enter."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from toys import memory_catalogue, menu_from, toy_event

from trigemu import emulate, rates_of
from trigemu.api import MenuRates

MET = '[[trigger]]\nname = "MET"\nkind = "threshold"\nobservable = "met"\nabove = 50\n'
ANY = '[[trigger]]\nname = "ANY"\nkind = "threshold"\nobservable = "met"\nabove = 10\nprescale = 1000\n'


def events(n: int, passing: int, weight: float, met: float = 20.0) -> list[dict[str, Any]]:
    """So many of equal weight, of which some have much MET."""
    plain = toy_event(random.Random(1), weight)
    return [plain | {"met": 100.0 if i < passing else met} for i in range(n)]


def result(folder: Path, samples: dict[str, list[dict[str, Any]]], text: str = MET) -> MenuRates:
    return rates_of(emulate([menu_from(folder, text)], memory_catalogue(samples)))


def told(folder: Path, soft: list[dict[str, Any]], text: str = MET) -> tuple[str, ...]:
    """Where 100 events of 1 Hz of another sample enter: 100 ± 10 Hz of 10 kHz."""
    return result(folder, {"hard": events(10_000, 100, 1.0), "soft": soft}, text).triggers[0].total.unseen


@pytest.mark.parametrize(
    ("n", "weight", "expected"),
    [
        (200, 20.0, ("soft",)),  # 40 Hz if it passed like the others: two events
        (200, 9.0, ()),  # one more would not change the error
        (400, 20.0, ()),  # four events: it does not pass like the others
        (100_000, 20.0, ()),
        (1, 5000.0, ("soft",)),
    ],
)
def test_few_heavy_events_may_be_missed_by_chance(
    tmp_path: Path, n: int, weight: float, expected: tuple[str, ...]
) -> None:
    assert told(tmp_path, events(n, 0, weight)) == expected


def test_what_has_an_event_is_not_unseen(tmp_path: Path) -> None:
    assert told(tmp_path, events(200, 1, 20.0)) == ()


def test_events_that_the_menu_accepts_show_what_one_would_weigh(tmp_path: Path) -> None:
    """Quiet events are heavy, and no trigger asks for them: those that any trigger accepts are light."""
    soft = [*events(100, 0, 100.0, met=1.0), *events(100, 0, 5.0)]
    assert told(tmp_path, soft) == ("soft",)
    assert told(tmp_path, soft, MET + ANY) == ()


def test_a_prescaled_event_weighs_less(tmp_path: Path) -> None:
    """20 Hz with an error of 2: one event in five is accepted, which would be 4 Hz, or 1.6 Hz."""
    text = MET + "prescale = 5\n"
    assert told(tmp_path, events(200, 0, 20.0), text) == ("soft",)
    assert told(tmp_path, events(200, 0, 8.0), text) == ()


def test_a_sample_alone_is_seen(tmp_path: Path) -> None:
    assert result(tmp_path, {"soft": events(100, 3, 1.0)}).triggers[0].total.unseen == ()


def test_all_rates_of_a_menu_are_marked_each_for_itself(tmp_path: Path) -> None:
    """Of heavy crossings that pass at 10 GeV and not at 50."""
    low = '[[trigger]]\nname = "LOW"\nkind = "threshold"\nobservable = "met"\nabove = 10\n'
    samples = {"hard": events(10_000, 100, 1.0), "soft": events(200, 0, 20.0)}
    found = result(tmp_path, samples, MET + low)
    assert {t.name: t.total.unseen for t in found.triggers} == {"MET": ("soft",), "LOW": ()}
    assert found.rate.unseen == ()
