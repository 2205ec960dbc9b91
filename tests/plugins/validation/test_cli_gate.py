"""What a user of `trigemu gate` sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from project import ROOT

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "menus/primary.toml").read_text()
    (tmp_path / "old.toml").write_text(text)
    (tmp_path / "new.toml").write_text(text.replace("100.0", "101.0"))
    return tmp_path


def test_identical_menus_pass(folder: Path, trigemu: Command) -> None:
    status, text = trigemu("gate", "old.toml", "old.toml")
    summary = "old.toml → old.toml: 8 quantities compared, 0 changed, 0 by more than is tolerated"
    assert (status, " ".join(text.split())) == (0, summary)


def test_a_threshold_that_moved_fails(folder: Path, trigemu: Command) -> None:
    documents = ("--json", "g.json", "--junit", "g.xml", "--markdown", "g.md")
    status, text = trigemu("gate", "old.toml", "new.toml", *documents)
    assert status == 1
    assert "8 quantities compared, 6 changed, 6 by more than is tolerated" in " ".join(text.split())
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("J100 ")][:2] == [
        ["J100", "total"],
        ["J100", "unique"],
    ]
    assert json.loads((folder / "g.json").read_text())["passed"] is False
    assert ElementTree.parse(folder / "g.xml").getroot().get("failures") == "6"
    assert "| J100 | total |" in (folder / "g.md").read_text()


def test_tolerances_let_it_pass(folder: Path, trigemu: Command) -> None:
    (folder / "t.toml").write_text("[default]\npercent = 1\n[trigger.J100]\npercent = 5\n")
    status, text = trigemu("gate", "old.toml", "new.toml", "--tolerances", "t.toml")
    assert (status, "menu  rate" in text, "J100" in text) == (1, True, False)
    (folder / "t.toml").write_text("[default]\npercent = 5\n")
    assert trigemu("gate", "old.toml", "new.toml", "--tolerances", "t.toml")[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[default]\npercnt = 1", "t.toml:2: [default]: unknown key 'percnt'; did you mean 'percent'?"),
        ("[trigger.J10]", "t.toml: [trigger.J10]: no menu has such a trigger; did you mean 'J100'?"),
    ],
)
def test_mistakes_leave_nothing(folder: Path, trigemu: Command, text: str, message: str) -> None:
    (folder / "t.toml").write_text(text)
    before = sorted(folder.iterdir())
    status, output = trigemu("gate", "old.toml", "new.toml", "--tolerances", "t.toml", "--json", "g.json")
    assert (status, output.startswith(f"trigemu: {message}")) == (2, True)
    assert sorted(folder.iterdir()) == before


def test_outputs_are_no_inputs(folder: Path, trigemu: Command) -> None:
    status, text = trigemu("gate", "old.toml", "new.toml", "--markdown", "new.toml")
    assert (status, "new.toml" in text) == (2, True)
    assert "101.0" in (folder / "new.toml").read_text()
