"""What a user of `trigemu gate` sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(place: Any) -> Path:
    text = (place.folder / "menu.toml").read_text()
    for name, pt in (("old.toml", "30.0"), ("new.toml", "40.0")):
        place.write(name, text.replace("30.0", pt))
    return Path(place.folder)


@pytest.fixture
def gate(folder: Path, trigemu: Command) -> Command:
    return lambda *arguments: trigemu("gate", "old.toml", *arguments, "--samples", "catalogue.toml")


def test_identical_menus_pass(gate: Command) -> None:
    status, text = gate("old.toml")
    assert (status, "8 quantities compared, 0 changed, 0 by more" in " ".join(text.split())) == (0, True)


def test_a_threshold_that_moved_fails(folder: Path, gate: Command) -> None:
    status, text = gate("new.toml", "--json", "g.json", "--junit", "g.xml", "--markdown", "g.md")
    assert (status, "8 quantities compared, 6 changed, 6 by more" in " ".join(text.split())) == (1, True)
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith("J30 ")]
    assert rows[:2] == [["J30", "total"], ["J30", "unique"]]
    assert json.loads((folder / "g.json").read_text())["passed"] is False
    assert ElementTree.parse(folder / "g.xml").getroot().get("failures") == "6"
    assert "| J30 | total |" in (folder / "g.md").read_text()


def test_tolerances_let_it_pass(folder: Path, gate: Command) -> None:
    (folder / "t.toml").write_text("[default]\npercent = 1\n[trigger.J30]\npercent = 1e6\n")
    status, text = gate("new.toml", "--tolerances", "t.toml")
    rows = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert (status, "MU" in rows, "total" in text) == (1, True, False)
    (folder / "t.toml").write_text("[default]\npercent = 1e6\n")
    assert gate("new.toml", "--tolerances", "t.toml")[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[default]\npercnt = 1", "t.toml:2: unknown key 'percnt'; did you mean 'percent'?"),
        ("[trigger.J10]", "tolerances: [trigger.J10]: no menu has such a trigger; did you mean 'J30'?"),
    ],
)
def test_mistakes_leave_nothing(folder: Path, gate: Command, text: str, message: str) -> None:
    (folder / "t.toml").write_text(text)
    before = sorted(folder.iterdir())
    status, output = gate("new.toml", "--tolerances", "t.toml", "--json", "g.json")
    assert (status, output.startswith(f"trigemu: {message}")) == (2, True)
    assert sorted(folder.iterdir()) == before


def test_outputs_are_no_inputs(folder: Path, gate: Command) -> None:
    status, text = gate("new.toml", "--markdown", "new.toml")
    assert (status, "new.toml" in text) == (2, True)
    assert "40.0" in (folder / "new.toml").read_text()
