"""Packed bits against the decisions of each trigger alone; what a plan shares, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import columns, memory_catalogue, menu_from, toy_events

from trigemu import TrigemuError, decide, make_events, make_plan
from trigemu.base.errors import PluginError
from trigemu.counting.decisions import raw_decisions
from trigemu.emulation.plan import Plan, PlannedTrigger
from trigemu.menus.menu import Menu
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled

EVENTS = toy_events(31, 500)


def events_of(events: list[dict[str, Any]]) -> Events:
    c = columns(events)
    return make_events("toy", c.weight, c.collections, c.scalars, id=c.id + np.uint64(1000))


WHOLE = events_of(EVENTS)


def threshold(name: str, observable: str, above: float, more: str = "") -> str:
    head = f'[[trigger]]\nname = "{name}"\nkind = "threshold"\n'
    return f'{head}observable = "{observable}"\nabove = {above}\n{more}\n'


def bits(words: np.ndarray, number: int) -> list[list[bool]]:
    """Bit b of each event, taken out of the words with Python's integers."""
    patterns = [sum(int(word) << (64 * i) for i, word in enumerate(row)) for row in words]
    assert all(pattern >> number == 0 for pattern in patterns)
    return [[bool(pattern >> b & 1) for pattern in patterns] for b in range(number)]


@pytest.mark.parametrize("number", [1, 63, 64, 65, 130])
def test_bit_b_is_the_decision_of_trigger_b(tmp_path: Path, number: int) -> None:
    thresholds = [5.0 + 0.7 * i for i in range(number)]
    plan = make_plan(
        [menu_from(tmp_path, "".join(threshold(f"T{i}", "jet[0].pt", c) for i, c in enumerate(thresholds)))]
    )
    words = decide(WHOLE, plan)
    assert words.shape == (len(EVENTS), -(-number // 64))
    assert words.dtype == np.uint64
    expected = [[bool(e["jet"]) and e["jet"][0]["pt"] > value for e in EVENTS] for value in thresholds]
    assert bits(words, number) == expected


def test_any_range_of_events_gives_its_part(tmp_path: Path) -> None:
    text = (
        threshold("A", "jet[0].pt", 20) + threshold("B", "m(muon[0], muon[1])", 5) + threshold("C", "mht", 10)
    )
    plan = make_plan([menu_from(tmp_path, text)])
    whole = decide(WHOLE, plan)
    for start, stop in ((0, 500), (0, 1), (499, 500), (123, 321), (7, 7)):
        np.testing.assert_array_equal(decide(WHOLE[start:stop], plan), whole[start:stop])


def test_menus_share_what_is_equal(tmp_path: Path) -> None:
    """Equal means: the same after all names are resolved."""
    objects = '[objects.NAME]\nfrom = "jet"\npt = { min = 20.0 }\n'
    first = menu_from(tmp_path, objects.replace("NAME", "jet") + threshold("A", "jet[0].pt", 30))
    second = menu_from(
        tmp_path,
        objects.replace("NAME", "hard")
        + threshold("SAME", "hard[ 0 ].pt", 30, "prescale = 7")
        + threshold("OTHER", "jet[0].pt", 30)
        + threshold("HIGHER", "hard[0].pt", 31)
        + '[[trigger]]\nname = "BITS"\nkind = "logic"\nexpression = "SAME"\n',
    )
    plan = make_plan([first, second])
    assert len(plan.slots) == 3
    assert plan.bits[0] == {"A": plan.bits[1]["SAME"]}
    assert len(set(plan.bits[1].values())) == 3
    assert "BITS" not in plan.bits[1]
    for menu, of_menu in zip((first, second), plan.bits, strict=True):
        alone = make_plan([menu])
        for name, bit in of_menu.items():
            together = bits(decide(WHOLE, plan), 3)[bit]
            assert together == bits(decide(WHOLE, alone), len(alone.slots))[alone.bits[0][name]]


def test_a_menu_without_events_kinds_has_one_empty_word(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, '[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 1\n')])
    assert (plan.words, plan.slots, plan.bits) == (1, (), ({},))
    assert not decide(WHOLE, plan).any()


def test_a_disabled_trigger_that_nobody_uses_needs_nothing(tmp_path: Path) -> None:
    off = "enabled = false"
    unused = threshold("OFF", "muon[0].eta", 1, off) + (
        f'[[trigger]]\nname = "ALSO"\nkind = "logic"\nexpression = "OFF"\n{off}\n'
    )
    text = threshold("READ", "n_jet", 1, off) + threshold("A", "met", 1, 'seed = "READ"') + unused
    menu = menu_from(tmp_path, text)
    assert [trigger.name for trigger in menu.used] == ["READ", "A"]
    plan = make_plan([menu])
    assert set(plan.needs) == {("", "met"), ("jet", "pt")}
    assert plan.bits[0].keys() == {"READ", "A"}
    without = make_plan([menu_from(tmp_path, text.removesuffix(unused))])
    assert bits(decide(WHOLE, plan), 2) == bits(decide(WHOLE, without), 2)
    raw = raw_decisions(decide(WHOLE, plan), menu, plan.bits[0])
    assert {name: decided.tolist() for name, decided in raw.items()} == {
        "READ": [len(e["jet"]) > 1 for e in EVENTS],
        "A": [len(e["jet"]) > 1 and e["met"] > 1 for e in EVENTS],
    }


def test_needs_name_the_triggers_that_have_them(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, threshold("A", "ht", 1) + threshold("B", "jet[0].eta", 1))])
    assert {need: [trigger.name for trigger in of] for need, of in plan.needs.items()} == {
        ("jet", "pt"): ["A", "B"],
        ("jet", "eta"): ["B"],
    }


def test_every_trigger_that_needs_a_column_is_named(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, "".join(threshold(f"T{n}", f"met_ph + {n}", n) for n in range(11)))
    (sample,) = memory_catalogue({"toys": EVENTS}).samples
    place = tmp_path / "menu.toml"
    for number, end in (
        (2, f"; 'T1' ({place}:7) needs it too"),
        (3, f"; 'T1' ({place}:7), 'T2' ({place}:13) need it too"),
        (11, f"'T8' ({place}:49) and 2 more need it too"),
    ):
        with pytest.raises(TrigemuError) as error:
            make_plan([replace(menu, triggers=menu.triggers[:number])]).check(sample)
        assert str(error.value).endswith(end)
        assert str(error.value).startswith(f"{place}:1: trigger 'T0': sample 'toys' has no observable")


def test_a_collection_that_a_sample_lacks_is_reported_once(tmp_path: Path) -> None:
    """With all triggers that need any of its columns."""
    text = (
        threshold("A", "jets[0].eta", 1) + threshold("B", "jets[0].pt", 1) + threshold("C", "jets[1].pt", 1)
    )
    (sample,) = memory_catalogue({"toys": EVENTS}).samples
    with pytest.raises(TrigemuError) as error:
        make_plan([menu_from(tmp_path, text)]).check(sample)
    (line,) = str(error.value).splitlines()
    place = tmp_path / "menu.toml"
    assert line.startswith(
        f"{place}:1: trigger 'A': sample 'toys' has no collection 'jets'; did you mean 'jet'?"
    )
    assert line.endswith(f"; 'B' ({place}:7), 'C' ({place}:13) need it too")


@dataclass(frozen=True)
class Made(Compiled):
    """A compiled trigger that gives whatever a test wants."""

    give: Callable[[int], Any]
    threshold: float | None = None

    def evaluate(self, work: Any) -> Any:
        return self.give(len(work.events))


def plan_of(menu: Menu, compiled: Made) -> Plan:
    return Plan((PlannedTrigger(compiled, menu.triggers[0]),), ({"T": 0},), {})


def _raise(n: int) -> None:
    raise ValueError("no model")


def _nan(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 10 == 7, np.nan, 1.0)


@pytest.mark.parametrize(
    ("compiled", "message"),
    [
        (Made(_raise), "failed on sample 'toy', from event 1000: ValueError: no model"),
        (Made(lambda n: None), "gave a NoneType, expected bool[500]"),
        (Made(lambda n: [True] * n), "gave a list, expected bool[500]"),
        (Made(lambda n: np.ones(n)), "gave float64[500], expected bool[500]"),
        (Made(lambda n: np.ones(n - 1, bool)), "gave bool[499], expected bool[500]"),
        (Made(lambda n: np.ones((n, 1), bool)), "gave bool[500, 1], expected bool[500]"),
        (Made(lambda n: np.ones(n, bool), 0.0), "gave bool[500], expected float64[500]"),
        (Made(lambda n: np.ones(n, "f4"), 0.0), "gave float32[500], expected float64[500]"),
        (Made(_nan, 0.0), "its score is not a number (NaN) in sample 'toy', event 1007"),
    ],
)
def test_a_kind_that_breaks_its_contract(tmp_path: Path, compiled: Made, message: str) -> None:
    menu = menu_from(tmp_path, threshold("T", "ht", 1))
    with pytest.raises(PluginError) as error:
        decide(WHOLE, plan_of(menu, compiled))
    assert message in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'menu.toml'}:1: trigger 'T'")


def test_scores_may_be_infinite(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, threshold("T", "ht", 1))
    score = np.array([-np.inf, np.inf, 0.0, -0.0, 1e-300])
    words = decide(WHOLE[:5], plan_of(menu, Made(lambda n: score, 0.0)))
    assert words[:, 0].tolist() == [0, 1, 0, 0, 1]
