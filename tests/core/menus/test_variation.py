"""Parts of menus, numbers of triggers by their paths: found, and replaced as in a file that has others;
menus as calls are given them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from project import CORE_MENUS, ROOT
from toys import menu_from

from trigemu import Menu, TrigemuError, read_menu
from trigemu.base.errors import WrongTypeError
from trigemu.base.toml import Document, Key, TomlTable, read_table
from trigemu.menus.read import menu_of, menus_of
from trigemu.menus.write import full_path, number_path, table_of, with_numbers, with_values

MENU = """
[[trigger]]
name = "D"
kind = "combination"
prescale = 3
legs = [{{ object = "jet", pt = {{ min = {low}, max = {high} }} }}, {{ object = "jet" }}]
[[trigger]]
name = "H"
kind = "threshold"
observable = "ht"
above = 20
seed = "D"
"""


def read(folder: Path, low: float = 20, high: float = 60) -> Menu:
    return menu_from(folder, MENU.format(low=low, high=high))


def test_one_trigger_is_changed(tmp_path: Path) -> None:
    menu = read(tmp_path)
    low, high = (number_path(menu, "D", f"legs[0].pt.{limit}") for limit in ("min", "max"))
    for numbers, expected in (
        ({low: 25.5}, read(tmp_path, low=25.5)),
        ({low: 70.0, high: 80.0}, read(tmp_path, 70, 80)),
    ):
        changed = with_values(menu, "D", numbers)
        assert changed.triggers == expected.triggers
        assert (changed.path, changed.sha256, changed.order) == (menu.path, menu.sha256, menu.order)
    assert with_values(menu, "H", {"above": 40.0}).trigger("H").description.above == 40.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"legs[0].pt.min": 61.0}, r"menu\.toml:2: trigger 'D' with legs\[0\]\.pt\.min = 61: .*min = 61"),
        ({"legs[0].crossing": 0.5}, r"with legs\[0\]\.crossing = 0\.5: .*expected an integer, got a number"),
    ],
)
def test_a_number_that_is_not_allowed_is_named(
    tmp_path: Path, numbers: dict[str, float], message: str
) -> None:
    menu = read(tmp_path)
    with pytest.raises(TrigemuError, match=message):
        with_values(menu, "D", numbers)


class Limits(TomlTable, frozen=True):
    min: float | None = None
    max: float | None = None
    flag: bool = False


class Part(TomlTable, frozen=True):
    further: ClassVar[str | None] = "windows"

    name: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1
    windows: dict[str, Limits | tuple[Limits, ...]] = msgspec.field(default_factory=dict)


class Whole(TomlTable, frozen=True):
    parts: tuple[Part, ...]
    between: tuple[int, float] = (0, 1.0)
    limits: Limits | None = None
    other: Limits | None = None
    above: float | None = None
    told: bool = False
    names: dict[str, str] = msgspec.field(default_factory=dict)


WHOLE = Whole(
    parts=(
        Part(name="a", windows={"pt": Limits(min=3.0), "eta": (Limits(max=1.0), Limits(min=2.0, max=3.0))}),
        Part(name="b", count=2, windows={"phi-1": Limits(min=1.0, max=2.0)}),
    ),
    limits=Limits(max=7.0),
)


def made_of(table: dict[str, Any], kind: type[TomlTable]) -> TomlTable | None:
    document = Document(Path("made.toml"), {}, {}, "")
    made = read_table(document, table, kind, ("whole", 0), "")
    document.finish()
    return made


@pytest.mark.parametrize(
    ("path", "full"),
    [
        ("above", "above"),
        ("limits", "limits.max"),
        ("limits.min", "limits.min"),
        ("other", "other.min"),
        ("other.max", "other.max"),
        ("between[1]", "between[1]"),
        ("parts[0].pt", "parts[0].pt.min"),
        ("parts[0].pt.max", "parts[0].pt.max"),
        ("parts[1].pt", "parts[1].pt.min"),
        ("parts[0].eta[0]", "parts[0].eta[0].max"),
        ("parts[0].eta[1].max", "parts[0].eta[1].max"),
        ("parts[1].count", "parts[1].count"),
        ("parts[1].phi-1.max", "parts[1].phi-1.max"),
    ],
)
def test_a_number_is_found_and_changed_alone(path: str, full: str) -> None:
    assert full_path(WHOLE, path) == full
    key = tuple(int(part) if part.isdigit() else part for part in re.findall(r"[\w-]+", full))
    made = made_of(with_numbers(WHOLE, {full: 4.0}), Whole)
    assert made is not None
    before, after = dict(leaves(WHOLE)), dict(leaves(made))
    assert after.pop(key) == 4.0
    before.pop(key, None)
    assert after == before


def leaves(value: Any, key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """What is in a struct, without what is as by default."""
    if isinstance(value, TomlTable):
        struct = type(value)
        for name in struct.__struct_fields__:
            entry = getattr(value, name)
            yield from leaves(entry, key if name == struct.further else (*key, name))
    elif isinstance(value, dict | tuple):
        for part, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(entry, (*key, part))
    elif value not in (None, False):
        yield key, value


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("parts", r"parts is a list of 2: say which, parts\[0\]"),
        ("parts.pt", r"parts is a list of 2: say which, parts\[0\]"),
        ("parts[2].pt", r"parts\[2\]: parts has 2 entries, from 0"),
        ("parts[0]", r"parts\[0\] is no number"),
        ("parts[0].name", r"parts\[0\]\.name is no number"),
        ("parts[0].name.x", r"parts\[0\]\.name is no table: it has no key 'x'"),
        ("parts[0].eta", r"parts\[0\]\.eta is a list of 2: say which, parts\[0\]\.eta\[0\]"),
        ("parts[0].eta[1]", r"say which, parts\[0\]\.eta\[1\]\.min or parts\[0\]\.eta\[1\]\.max"),
        ("parts[0].pt[0]", r"parts\[0\]\.pt is no list"),
        ("parts[0].pt.flag", r"parts\[0\]\.pt\.flag is no number"),
        ("above[0]", "above = .*expected a number"),
        ("other[0]", "unknown key '0'"),
        ("above.x", "above = .*expected a number"),
        ("told", "told is no number"),
        ("names", "names is no number"),
        ("limit", r"unknown key 'limit'; did you mean 'limits'\?"),
        *((text, "expected the path of a number") for text in ("", ".", "a..b", "a[b]", "a[-1]", "[0]")),
        ("a[9999999]", "expected the path of a number"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_said(path: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        full_path(WHOLE, path)


def test_whole_numbers_stay_whole() -> None:
    key = "parts[0].count"
    assert made_of(with_numbers(WHOLE, {key: 3.0}), Whole).parts[0].count == 3  # type: ignore[union-attr]
    with pytest.raises(TrigemuError, match="expected an integer, got a number"):
        made_of(with_numbers(WHOLE, {key: 3.5}), Whole)


@pytest.mark.parametrize("path", CORE_MENUS, ids=lambda path: path.stem)
def test_the_table_of_a_trigger_is_read_as_the_same_trigger(path: Path) -> None:
    for trigger in read_menu(path).triggers:
        assert made_of(table_of(trigger.description), type(trigger.description)) == trigger.description


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
