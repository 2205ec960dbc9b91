"""Menus without the triggers that samples cannot feed: the same as menus written without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu import Menu, TrigemuError, fed_menu, run
from trigemu.menus.menu import LeftOut
from trigemu.samples.catalogue import Catalogue

GOOD = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
group = "a"

[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 15.0
seed = "J"

[[trigger]]
name = "G"
kind = "combination"
legs = [{ object = "photon", pt = { min = 9.0 } }]
"""
BAD = """
[[trigger]]
name = "TAU"
kind = "combination"
legs = [{ object = "jet" }, { object = "tau" }]

[[trigger]]
name = "ISO"
kind = "threshold"
observable = "photon[0].isolation"
above = 0.1
group = "a"

[[trigger]]
name = "N"
kind = "threshold"
observable = "n_vertex"
above = 3

[[trigger]]
name = "STORED"
kind = "stored"
decision = "L1_A"

[[trigger]]
name = "EITHER"
kind = "logic"
expression = "J or THIRD"

[[trigger]]
name = "THIRD"
kind = "threshold"
observable = "jet[2].pt"
above = 5.0
seed = "TAU or J"

[[trigger]]
name = "OFF"
kind = "threshold"
observable = "tau[0].pt"
above = 5.0
enabled = false

[[trigger]]
name = "SEEDED"
kind = "threshold"
observable = "jet[0].pt"
above = 5.0
seed = "OFF"
"""
MISSING = {
    "TAU": "tau",
    "ISO": "photon.isolation",
    "N": "n_vertex",
    "STORED": "stored decision L1_A",
    "EITHER": "reads THIRD",
    "THIRD": "reads TAU",
    "OFF": "tau",
    "SEEDED": "reads OFF",
}


@pytest.fixture(scope="module")
def samples() -> Catalogue:
    return memory_catalogue({"one": toy_events(3, 200), "two": toy_events(4, 100)})


def menus(folder: Path, *texts: str) -> list[Menu]:
    return [menu_from(folder, text) for text in texts]


def test_what_is_left_out_and_what_remains(tmp_path: Path, samples: Catalogue) -> None:
    mixed, good = menus(tmp_path, BAD + GOOD, GOOD)
    fed = fed_menu(mixed, samples)
    assert {out.name: out.missing for out in fed.left_out} == MISSING
    assert [t.name for t in fed.triggers] == ["J", "M", "G"]
    ours, expected = run(fed, samples), run(good, samples)
    assert [(t.name, t.total, t.unique) for t in ours.triggers] == [
        (t.name, t.total, t.unique) for t in expected.triggers
    ]
    assert (ours.rate, ours.groups) == (expected.rate, expected.groups)
    assert ours.rate.events > 0


def test_the_result_says_so(tmp_path: Path, samples: Catalogue) -> None:
    mixed, good = menus(tmp_path, BAD + GOOD, GOOD)
    result = run(fed_menu(mixed, samples), samples)
    assert result.to_dict()["menu"]["left_out"] == [
        {"name": name, "missing": missing} for name, missing in MISSING.items()
    ]
    text = " ".join(str(result).split())
    assert (
        "Left out: 8 of 11 triggers, since the samples lack what they need: TAU (tau), ISO (photon." in text
    )
    assert "left_out" not in run(good, samples).to_dict()["menu"]


def test_a_menu_with_everything_stays_as_it_is(tmp_path: Path, samples: Catalogue) -> None:
    (good,) = menus(tmp_path, GOOD)
    assert fed_menu(good, samples) is good


def test_a_menu_of_which_nothing_remains(tmp_path: Path, samples: Catalogue) -> None:
    bad = menu_from(tmp_path, BAD + GOOD).part(["TAU", "ISO"])
    with pytest.raises(
        TrigemuError, match=r"menu\.toml: .* none of its triggers: TAU \(tau\), ISO \(photon\."
    ):
        fed_menu(bad, samples)


def test_equal_triggers_that_read_neighbouring_crossings(tmp_path: Path, samples: Catalogue) -> None:
    legs = 'kind = "combination"\nlegs = [{ object = "jet" }, { object = "jet", crossing = -1 }]\n'
    before = "".join(f'[[trigger]]\nname = "{name}"\n{legs}' for name in ("B1", "B2"))
    fed = fed_menu(menu_from(tmp_path, before + GOOD), samples)
    assert fed.left_out == tuple(LeftOut(name, "neighbouring crossings") for name in ("B1", "B2"))
