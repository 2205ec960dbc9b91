"""Exclusive rates against inclusion and exclusion over the OR of triggers, event by event."""

from __future__ import annotations

from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from toys import either, memory_catalogue, menu_from, toy_events

from trigemu import emulate, rates_of
from trigemu.studies.exclusive import exclusive_rates

TRIGGERS = (
    {"name": "J30", "observable": "jet[0].pt", "above": 30.0, "prescale": 4, "coherent": "jets"},
    {"name": "J50", "observable": "jet[0].pt", "above": 50.0, "prescale": 2, "coherent": "jets"},
    {"name": "2J", "observable": "jet[1].pt", "above": 10.0, "prescale": 1, "coherent": "jets"},
    {"name": "G", "observable": "photon[0].pt", "above": 15.0, "prescale": 3, "coherent": None},
    {"name": "MU", "observable": "muon[0].pt", "above": 10.0, "prescale": 1, "coherent": None},
    {"name": "MET", "observable": "met", "above": 40.0, "prescale": 1.5, "coherent": None},
)


def menu_text(triggers: Any = TRIGGERS) -> str:
    def line(key: str, value: Any) -> str:
        return f"{key} = {value!r}" if not isinstance(value, str) else f'{key} = "{value}"'

    tables = [
        '[[trigger]]\nkind = "threshold"\n' + "\n".join(line(k, v) for k, v in t.items() if v is not None)
        for t in triggers
    ]
    return "\n".join(tables)


def value(event: dict[str, Any], observable: str) -> float:
    if observable == "met":
        return float(event["met"])
    name, number = observable.removesuffix(".pt").rstrip("]").split("[")
    objects = event[name]
    return float(objects[int(number)]["pt"]) if len(objects) > int(number) else -1.0


def accepted(event: dict[str, Any]) -> dict[str, float]:
    return {t["name"]: (value(event, t["observable"]) > t["above"]) / t["prescale"] for t in TRIGGERS}


def truth(event: dict[str, Any], wanted: frozenset[str]) -> float:
    """Σ over U in the wanted of (−1)^(|wanted| − |U|) P(nothing outside of U accepts)."""
    a, total = accepted(event), 0.0
    subsets = chain.from_iterable(combinations(sorted(wanted), r) for r in range(len(wanted) + 1))
    for subset in subsets:
        outside = [t for t in TRIGGERS if t["name"] not in subset]
        total += (-1) ** (len(wanted) - len(subset)) * (1 - either(a, outside))
    return total


@pytest.fixture(scope="module")
def emulation(tmp_path_factory: pytest.TempPathFactory) -> Any:
    menu = menu_from(tmp_path_factory.mktemp("menu"), menu_text())
    return emulate([menu], memory_catalogue({"a": toy_events(1, 150), "b": toy_events(2, 100)}))


def test_rates_and_errors_are_those_of_inclusion_and_exclusion(emulation: Any) -> None:
    events = [*toy_events(1, 150), *toy_events(2, 100)]
    found = exclusive_rates(emulation, most=1000)
    assert found.others == 0
    names = {t["name"] for t in TRIGGERS}
    told = {frozenset(c.triggers): (c.hz, c.error_hz) for c in found.largest}
    for r in range(1, len(names) + 1):
        for wanted in map(frozenset, combinations(sorted(names), r)):
            terms = [(event["weight"], truth(event, wanted)) for event in events]
            hz = sum(w * f for w, f in terms)
            error = sum((w * f) ** 2 for w, f in terms) ** 0.5
            assert told.get(wanted, (0.0, 0.0)) == pytest.approx((hz, error), rel=1e-9, abs=1e-9), wanted


def test_they_fall_and_add_up_to_the_menu(emulation: Any) -> None:
    every = exclusive_rates(emulation, most=1000)
    assert [c.hz for c in every.largest] == sorted((c.hz for c in every.largest), reverse=True)
    some = exclusive_rates(emulation, most=5)
    assert some.largest == every.largest[:5]
    assert some.others == len(every.largest) - 5
    total = sum(c.hz for c in some.largest) + some.others_hz
    assert total == pytest.approx(rates_of(emulation).rate.hz, rel=1e-12)


def test_a_menu_that_takes_nothing_has_none(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, menu_text([TRIGGERS[5] | {"above": 1e9}]))
    found = exclusive_rates(emulate([menu], memory_catalogue({"a": toy_events(5, 20)})))
    assert (found.largest, found.others, found.others_hz) == ((), 0, 0.0)


def test_each_menu_of_a_comparison_has_its_own(tmp_path: Path) -> None:
    one = menu_from(tmp_path, '[menu]\nname = "one"\n' + menu_text(TRIGGERS[:4]))
    two = menu_from(tmp_path, '[menu]\nname = "two"\n' + menu_text(TRIGGERS[3:]))
    catalogue = memory_catalogue({"a": toy_events(6, 200)})
    both = emulate([one, two], catalogue)
    for menu in (one, two):
        alone = exclusive_rates(emulate([menu], catalogue))
        found = exclusive_rates(both, menu)
        assert [c.triggers for c in found.largest] == [c.triggers for c in alone.largest]
        assert [c.hz for c in found.largest] == pytest.approx([c.hz for c in alone.largest], rel=1e-12)
