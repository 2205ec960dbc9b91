"""Validations of several menus as they are printed and written, as text and as a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from printing import text_of
from toys import memory_catalogue, menu_from
from trigemu_cms.imported import LeftOut
from trigemu_cms.pairs import CheckedPair, Pair, pairs_page, validation_page
from trigemu_validation import Checked, DecisionCheck

HOSTILE = "<b>=1+1\x1b[31m"


@pytest.fixture
def pairs(tmp_path: Path) -> list[CheckedPair]:
    """One of which all agree, and one with everything else; its name is hostile."""
    menu = menu_from(tmp_path, '[[trigger]]\nname = "A"\nkind = "random"\nrate_hz = 1.0\n')
    triggers = (
        Checked("A", agree=10),
        Checked("B", agree=6, only_emulated=1, only_stored=1, margin=1, not_compared=2),
        Checked("C", skipped="it is random"),
        Checked("D", skipped="it is random"),
    )
    result = DecisionCheck(menu, memory_catalogue({"all": []}), 10, triggers)
    left_out = (LeftOut("E", 5, 17, "AXO is not in vectors"),)
    return [
        CheckedPair(Pair(Path("a.xml"), Path("a.txt")), (), replace(result, triggers=triggers[:1])),
        CheckedPair(Pair(Path(f"{HOSTILE}.toml"), Path("b.txt")), left_out, result),
    ]


def test_what_is_printed(pairs: list[CheckedPair]) -> None:
    text = text_of(pairs_page(pairs, [Path("x.toml"), Path("y.txt")]))
    lines = [line.rstrip() for line in text.splitlines()]
    shown = r"<b>=1+1\x1b[31m.toml"
    assert lines[0].split(maxsplit=2)[:2] == ["menu", "vector"]
    assert [line.split() for line in lines[1:3]] == [
        ["a.xml", "a.txt", "1", "0", "1", "1", "0", "0"],
        [shown, "b.txt", "4", "1", "2", "1", "1", "2"],
    ]
    text = " ".join(" ".join(lines[3:]).split())
    for messages in (
        f"{shown} on b.txt: differs: B on 2 of 8 crossings, 1 only emulated, 1 only stored.",
        f"{shown} on b.txt: B: differences of triggers that look at neighbouring crossings mean nothing",
        f"{shown} on b.txt: left out of the import: AXO is not in vectors: E.",
        f"{shown} on b.txt: skipped: it is random: C, D.",
        f"{shown} on b.txt: not compared on 2 crossings at the ends of files: B.",
        "Without a counterpart of the same name: x.toml, y.txt.",
    ):
        assert messages in text


def test_the_page(pairs: list[CheckedPair]) -> None:
    page = validation_page(pairs, [Path("x.toml")])
    assert page.lower().startswith("<!doctype html>")
    assert "<b>" not in page
    assert "\x1b" not in page
    for messages in ("a.txt", "AXO is not in vectors", "only emulated", "it is random", "x.toml", "C, D"):
        assert messages in page
