"""Menus and vectors that belong together, by names as they are given."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import pytest
from l1_toys import write_menu
from trigemu_cms import find_pairs, read_menu_of
from trigemu_cms.pairs import Pair

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
        assert find_pairs(tmp_path) == ((Pair(tmp_path / menu, tmp_path / vector),), ())
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
    assert [(pair.menu.name, pair.vector.name) for pair in pairs] == [
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


def test_a_menu_is_read_or_imported(tmp_path: Path) -> None:
    xml = write_menu(tmp_path, {"L1_Jet20": "JET20", "L1_AXO": "AXO"})
    packed = xml.with_suffix(".xml.xz")
    packed.write_bytes(lzma.compress(xml.read_bytes()))
    for file in (xml, packed):
        menu, left_out = read_menu_of(Pair(file, tmp_path))
        assert (menu.path, [trigger.name for trigger in menu.enabled]) == (file, ["L1_Jet20"])
        assert [out.name for out in left_out] == ["L1_AXO"]
    (tmp_path / "m.toml").write_text('[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 1.0\n')
    menu, left_out = read_menu_of(Pair(tmp_path / "m.toml", tmp_path))
    assert ([trigger.name for trigger in menu.enabled], left_out) == (["R"], ())
