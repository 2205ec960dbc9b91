"""The mark of an error that may be too small, in JSON and CSV as in the tables."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu import compare, emulate, rates_of
from trigemu.api import MenuRates, Table
from trigemu.base.shown import Shown, view_of
from trigemu.studies.scan import Steps, scan

MENU = """
[menu]
levels = ["L1", "HLT"]
[[trigger]]
name = "L1_J"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
level = "L1"
[[trigger]]
name = "J30"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
level = "HLT"
seed = "L1_J"
"""
CATALOGUE = memory_catalogue({"soft": toy_events(1, 150), "hard": toy_events(2, 100)})


def marked(result: MenuRates) -> MenuRates:
    """Return rates of which those of the menu and of the first level lack a sample."""
    first, *others = result.levels
    lacking: dict[str, Any] = {"unseen": ("soft", "hard")}
    level = replace(first, rate=replace(first.rate, **lacking))
    return replace(result, rate=replace(result.rate, **lacking), levels=(level, *others))


def rows(result: Shown) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(view_of(result).csv(result)))]


@pytest.fixture(scope="module")
def menu(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return menu_from(tmp_path_factory.mktemp("marks"), MENU)


def test_levels(menu: Any) -> None:
    document = marked(rates_of(emulate([menu], CATALOGUE))).to_dict()
    assert [level["unseen"] for level in document["menu"]["levels"]] == [["soft", "hard"], []]
    assert document["menu"]["unseen"] == ["soft", "hard"]


def test_a_comparison(menu: Any) -> None:
    other = replace(menu, name="other")
    result = compare(emulate([menu, other], CATALOGUE))
    first, second = result.variants
    made = rows(replace(result, variants=(marked(first), second)))
    found = {(row["a"], row["what"]): row["unseen"] for row in made if row["kind"] == "rate"}
    assert {key for key, unseen in found.items() if unseen == "soft;hard"} == {
        (menu.name, "menu"),
        (menu.name, "level L1"),
    }
    assert {row["unseen"] for row in made if row["kind"] != "rate"} == {""}


def test_the_level_that_changes_leads(menu: Any, tmp_path: Path) -> None:
    """Where the last level stays as it is; and the rejections say of which menu they are."""
    looser = MENU.replace("[menu]", '[menu]\nname = "looser"').replace("above = 20.0", "above = 25.0")
    other = menu_from(tmp_path, looser)
    result = compare(emulate([menu, other], CATALOGUE))
    page = view_of(result).page(result)
    changes = page.parts[0]
    assert isinstance(changes, Table)
    assert [row.values["what"] for row in changes.rows] == ["L1_J", "level L1", "level HLT"]
    assert [any(row.values["total"]) for row in changes.rows[1:]] == [True, False]
    said = [note for note in page.notes if "Rejection" in note]
    assert [note.partition(" from ")[0] for note in said] == [f"{menu.name}: Rejection", "looser: Rejection"]


def test_a_scan(menu: Any) -> None:
    result = scan(menu, [Steps("J30", (30.0, 40.0))], CATALOGUE)
    first, second = result.points
    made = rows(replace(result, points=(marked(first), second)))
    assert [row["menu rate_unseen"] for row in made] == ["soft;hard", ""]
    assert [row["L1 rate_unseen"] for row in made] == ["soft;hard", ""]


def test_legends_explain_the_marks_that_are_shown(tmp_path: Path) -> None:
    """A comparison explains each once for all menus, a scan only those of what it prints."""
    trigger = '[[trigger]]\nname = "{}"\nkind = "threshold"\nobservable = "{}"\nabove = {}\n'
    texts = [
        trigger.format("J20", "jet[0].pt", 20)
        + trigger.format("J40", "jet[0].pt", high)
        + trigger.format("NEVER", "met", 1e6)
        for high in (40, 50)
    ]
    menus = []
    for number, text in enumerate(texts):
        (folder := tmp_path / str(number)).mkdir()
        menus.append(menu_from(folder, text))
    compared = view_of(compare(menus, CATALOGUE)).page(compare(menus, CATALOGUE))
    lines = [line for line in compared.notes if line.startswith(("0:", "<:"))]
    assert len(lines) == 1
    assert lines[0].startswith("0: ")
    assert lines[0].count("J40 (J20)") == 1
    solved = trigger.format("B", "met", 1).replace("above = 1", "total_rate_hz = 25.0")
    both = []
    for number, high in enumerate((40, 50)):
        (folder := tmp_path / f"solved{number}").mkdir()
        both.append(menu_from(folder, solved + trigger.format("J", "jet[0].pt", high)))
    notes = view_of(compare(both, CATALOGUE)).page(compare(both, CATALOGUE)).notes
    assert sum(": threshold " in line for line in notes) == 1  # the same in both: without a name
    assert any(line.startswith("B: threshold ") for line in notes)
    scanned = scan(menus[0], Steps("J20", (20.0, 25.0)), CATALOGUE)
    assert not [line for line in view_of(scanned).page(scanned).notes if line.startswith(("0:", "<:"))]
