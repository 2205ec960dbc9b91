from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from project import ROOT

from trigemu import Menu, TrigemuError, read_menu
from trigemu.base.errors import WrongTypeError
from trigemu.menus.read import menu_of, menus_of

PRIMARY = ROOT / "menus" / "primary.toml"


def test_a_path_of_either_type_and_a_menu_are_the_same() -> None:
    menu = read_menu(PRIMARY)
    assert menu_of(PRIMARY) == menu_of(str(PRIMARY)) == menu
    assert menu_of(menu) is menu


def test_one_menu_or_several(tmp_path: Path) -> None:
    shutil.copy(PRIMARY, tmp_path / "a.toml")
    shutil.copy(PRIMARY, tmp_path / "b.toml")
    menu = read_menu(PRIMARY)
    assert menus_of(menu) == menus_of([PRIMARY]) == (menu,)
    assert menus_of((menu, str(PRIMARY))) == (menu, menu)
    assert {menu.path.name for menu in menus_of(tmp_path.glob("*.toml"))} == {"a.toml", "b.toml"}
    assert menus_of([]) == ()


def test_a_path_is_relative_to_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(PRIMARY.parent)
    assert menu_of("primary.toml").name == "primary"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrigemuError, match=rf"no menu primary\.toml in the current folder, {tmp_path}"):
        menu_of("primary.toml")
    with pytest.raises(TrigemuError, match=rf"^there is no menu {tmp_path}/x\.toml$"):
        menu_of(tmp_path / "x.toml")


def test_a_folder_names_its_menus(tmp_path: Path) -> None:
    shutil.copy(PRIMARY, tmp_path / "a.toml")
    with pytest.raises(TrigemuError, match=r"is a folder: give the path of one menu in it \(a\.toml\)$"):
        menu_of(tmp_path)


def test_text_is_no_path() -> None:
    with pytest.raises(TrigemuError, match=r"'\[menu\]' … is not a path: write the menu to a file"):
        menu_of("[menu]\nname = 'x'\n")


@pytest.mark.parametrize("given", [5, None, {"trigger": []}, {"a.toml"}, Menu, b"a.toml", [["a.toml"]], [5]])
def test_anything_else_is_refused(given: Any) -> None:
    with pytest.raises(WrongTypeError, match=r"got .*; expected the path of a menu"):
        menus_of(given)


def test_a_part_of_a_menu_has_what_it_reads() -> None:
    menu = read_menu(PRIMARY.with_name("two-level.toml"))
    seeded = next(trigger for trigger in menu.triggers if trigger.seed)
    part = menu.part([seeded.name])
    assert {trigger.name for trigger in part.triggers} >= {seeded.name, *seeded.inputs()}
    assert len(part.triggers) < len(menu.triggers)
    assert [name for name in menu.order if name in part.order] == list(part.order)
    assert {trigger.name for trigger in part.triggers} == set(part.order)
    alone = next(trigger for trigger in menu.triggers if not trigger.inputs())
    assert menu.part([alone.name]).triggers == (alone,)
    with pytest.raises(TrigemuError, match="unknown trigger 'X'"):
        menu.part(["X"])
