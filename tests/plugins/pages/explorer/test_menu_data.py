"""The menus of a page, compared with the menus."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_truth import unpacked
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages.explorer.make import all_enabled, page_data
from trigemu_pages.explorer.menu_data import decision_of

from trigemu import Menu, TrigemuError, score_table
from trigemu.api import BitKind, BoolArray


def entry_of(menu: Menu, events: int = 40) -> tuple[dict[str, Any], dict[str, Any]]:
    """The data of a page of a menu, and the entry of the menu."""
    catalogue = memory_catalogue({"a": toy_events(5, events)})
    scores = score_table(all_enabled([menu]), catalogue)
    data = unpacked(page_data(menu, scores, "0").block)
    return data, data["menus"][0]


LEVELS = """
[menu]
name = "m"
crossing_rate_hz = 20e6
levels = ["L1", "HLT"]

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
level = "L1"
coherent = "c"
prescale = 2

[[trigger]]
name = "H"
kind = "threshold"
observable = "n_jet"
above = 0.5
level = "HLT"
seed = "J and not C"
group = "g"
unit = "jets"
enabled = false

[[trigger]]
name = "R"
kind = "random"
rate_hz = 100
level = "L1"

[[trigger]]
name = "C"
kind = "combination"
legs = [{ object = "muon" }]
level = "HLT"
"""


def test_content_of_the_page(tmp_path: Path) -> None:
    data, entry = entry_of(menu_from(tmp_path, LEVELS), 400)
    assert (entry["name"], entry["scale"], entry["levels"]) == ("m", 0.5, ["L1", "HLT"])
    assert entry["order"].index("H") > max(map(entry["order"].index, "JC"))
    jet, high, random, combination = entry["triggers"]
    assert (jet["prescale"], jet["coherent"], jet["level"], jet["on"]) == (2.0, "c", "L1", True)
    assert (high["group"], high["unit"], high["on"]) == ("g", "jets", False)
    assert high["seed"] == {"and": ["J", {"not": "C"}]}
    assert {0.5, 1.5, 2.5} <= {*data["scores"][high["decision"]["score"]]["steps"]}
    assert random["decision"] == {"always": True}
    assert (random["prescale"], random["factor"]) == (1, 20e6 / 100)
    assert entry["pick"] == "J"  # the largest share among those with a threshold that can be moved
    assert [trigger["fixed"] for trigger in (jet, random, combination)] == [
        None,
        "It does not depend on events.",
        "The kind 'combination' has no score with a single threshold.",
    ]


def test_a_prescale_that_switches_off(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, LEVELS)
    off = tuple(replace(t, prescale=math.inf, enabled=False) if t.name == "J" else t for t in menu.triggers)
    _, entry = entry_of(replace(menu, triggers=off))
    assert (entry["triggers"][0]["prescale"], entry["triggers"][0]["on"]) == (None, False)


def test_a_table_without_a_trigger_is_refused(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, LEVELS)
    catalogue = memory_catalogue({"a": toy_events(5, 40)})
    scores = score_table(menu.part(["J", "C"]), catalogue)
    with pytest.raises(TrigemuError, match="score table was made without this trigger"):
        page_data(all_enabled([menu]), scores, "0")


@dataclass(frozen=True)
class Place:
    name: str = "M"
    kind: str = "majority"
    place: str = "menu.toml:1"


class Majority(BitKind, frozen=True):
    """Half of some triggers or more."""

    of: tuple[str, ...]

    def inputs(self) -> tuple[str, ...]:
        return self.of

    def decide(self, raw: Any, n: int) -> BoolArray:
        return np.sum([raw[name] for name in self.of] or np.zeros((1, n)), axis=0) >= len(self.of) / 2  # type: ignore[no-any-return]


def test_kinds_of_plugins_that_read_other_triggers() -> None:
    assert decision_of(Place(), Majority(of=())) == {"always": True}  # type: ignore[arg-type]
    with pytest.raises(TrigemuError, match=r"'M' .*reads other triggers: a page supports this for the kind"):
        decision_of(Place(), Majority(of=("a",)))  # type: ignore[arg-type]
