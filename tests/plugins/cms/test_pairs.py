"""Menus and vectors that belong together, by names; what is printed and written of several."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from toys import memory_catalogue, menu_from
from trigemu_cms.imported import LeftOut
from trigemu_cms.pairs import CheckedPair, CheckedPairs, find_pairs
from trigemu_validation import Checked, DecisionCheck
from view_checks import check_html, check_texts

from trigemu import TrigemuError


@pytest.mark.parametrize(
    ("menu", "vector", "together"),
    [
        ("L1Menu_A_v8_m2.xml.xz", "TestVector_L1Menu_A_v8.txt.xz", True),
        ("L1Menu_A_v9_m2.xml.xz", "TestVector_L1Menu_A_v8.txt.xz", False),
        ("L1Menu_A_v2_1_0_rebuilt.xml", "TestVector_L1Menu_A_v2_1_0.txt.gz", True),
        ("L1Menu_A_v2_1_0.xml", "TestVector_L1Menu_A_v2_1.txt", False),
        ("L1Menu_A_v1.toml", "L1Menu_A_v12.txt", False),
        ("L1Menu_A_v1x.toml", "L1Menu_A_v1.txt", False),
        ("toy.toml", "TestVector_toy.txt", True),
        ("toy.toml", "toy_2.txt", False),
        ("toy.yaml", "toy.txt", False),
    ],
)
def test_names_are_the_same_up_to_the_version(tmp_path: Path, menu: str, vector: str, together: bool) -> None:
    for name in (menu, vector):
        (tmp_path / name).touch()
    if together:
        assert find_pairs(tmp_path) == (((tmp_path / menu, tmp_path / vector),), ())
    else:
        with pytest.raises(TrigemuError, match="no pairs of menu and vector"):
            find_pairs(tmp_path)


def test_every_pair_is_found_once_and_the_others_are_named(tmp_path: Path) -> None:
    menus = ["A_v1.toml", "A_v1_m2.xml", "B.toml", "C.toml"]
    vectors = ["A_v1.txt", "A_v1_data.txt", "B.txt.gz", "notes.txt"]
    for name in (*menus, *vectors, "README.md"):
        (tmp_path / name).touch()
    (tmp_path / "C.txt").mkdir()
    os.mkfifo(tmp_path / "TestVector_C.txt")
    pairs, alone = find_pairs(tmp_path)
    assert [(menu.name, vector.name) for menu, vector in pairs] == [
        ("A_v1.toml", "A_v1.txt"),
        ("A_v1.toml", "A_v1_data.txt"),
        ("A_v1_m2.xml", "A_v1.txt"),
        ("A_v1_m2.xml", "A_v1_data.txt"),
        ("B.toml", "B.txt.gz"),
    ]
    assert [file.name for file in alone] == ["C.toml", "notes.txt"]


def test_what_there_is_instead_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match=r"menus: none; vectors: none$"):
        find_pairs(tmp_path)
    for n in range(12):
        (tmp_path / f"a{n:02d}.toml").touch()
    with pytest.raises(TrigemuError, match=r"menus: a00.toml, .*, a09.toml and 2 more; vectors: none$"):
        find_pairs(tmp_path)
    with pytest.raises(TrigemuError, match=r"nowhere: cannot be read"):
        find_pairs(tmp_path / "nowhere")


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
        CheckedPair(Path("a.xml"), Path("a.txt"), (), replace(result, triggers=triggers[:1])),
        CheckedPair(Path(f"{HOSTILE}.toml"), Path("b.txt"), left_out, result),
    ]


def test_what_it_shows(pairs: list[CheckedPair], tmp_path: Path) -> None:
    result = CheckedPairs(tuple(pairs), (Path("x.toml"), Path("y.txt")))
    check_texts(result)
    check_html(result)
    shown, text = r"<b>=1+1\x1b[31m.toml", " ".join(str(result).split())
    for messages in (
        "a.xml a.txt 1 0 1 1 0 0",
        f"{shown} b.txt 4 1 2 1 1 2",
        f"{shown} on b.txt: differs: B on 2 of 8 crossings, 1 only emulated, 1 only stored.",
        f"{shown} on b.txt: B: differences of triggers that look at neighbouring crossings mean nothing",
        f"{shown} on b.txt: left out of the import: AXO is not in vectors: E.",
        f"{shown} on b.txt: skipped: it is random: C, D.",
        f"{shown} on b.txt: not compared on 2 crossings at the ends of files: B.",
        "Without a counterpart of the same name: x.toml, y.txt.",
    ):
        assert messages in text
