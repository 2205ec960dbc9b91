"""Menus with the thresholds of their budgets written in; parts of menus, and numbers of triggers by their
paths; menus as calls are given them."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from plugin_toys import write_card
from project import CORE_MENUS, ROOT
from toys import even_events, memory_catalogue, menu_from, threshold

from trigemu import Catalogue, Menu, TrigemuError, read_menu
from trigemu.base.errors import WrongTypeError
from trigemu.base.toml import Document, Key, TomlTable, read_table
from trigemu.emulation.budgets import solve_budgets
from trigemu.menus.read import menu_of, menus_of
from trigemu.menus.write import full_path, number_path, table_of, with_numbers, with_values, write_calibrated

TRIGGER = threshold("J", "jet[0].pt", 100.0)


def written(tmp_path: Path, head: str, rest: str = TRIGGER) -> Path:
    file = tmp_path / "menu.toml"
    file.write_text(f"# comment\n[menu]\n{head}\n{rest}")
    return file


def test_a_newer_menu_is_refused_with_one_sentence(tmp_path: Path) -> None:
    """What else this trigemu does not know there, it does not call a mistake."""
    file = written(tmp_path, 'name = "a"\nformat = 2\nnew_key = 3', TRIGGER + 'new_key = "x"\n')
    with pytest.raises(TrigemuError) as caught:
        read_menu(file)
    expected = f"{file}:4: [menu]: format = 2: written for a newer trigemu; this one reads format 1"
    assert str(caught.value) == f"{expected}: install a newer one"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[menu]\nname = "a"\nplugins = []\n', '[menu]\nname = "a"\nformat = 1\nplugins = []\n'),
        ("[menu]\nplugins = [] # c\n\n# jets\n", "[menu]\nplugins = [] # c\nformat = 1\n\n# jets\n"),
        ("[menu]\nformat = 1 # c\n", "[menu]\nformat = 1 # c\n"),
        ('menu = { name = "a" }\n', 'menu = { name = "a", format = 1}\n'),
    ],
)
def test_a_calibrated_menu_gives_its_format(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "menu.toml"
    file.write_text(before + TRIGGER)
    write_calibrated(read_menu(file), tmp_path / "new.toml", "toy")
    assert (tmp_path / "new.toml").read_text() == after + TRIGGER


EVENTS = even_events(1, 220)


# ---- a menu with the thresholds written in
MENU = """\
# A menu with budgets.
[menu]   # the head
name = "written"
crossing_rate_hz = 3e7
plugins = ["carded"]

[objects.jet]
from = "jet"
pt = { min = 12.0 }   # soft ones are noise

# ---- jets
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 35   # a whole number
prescale = 2.0

[[trigger]]
  name = "A"   # the first
  kind = "threshold"
  unique_rate_hz   =   3_0.0   # what it may take
  observable = "met"

# ---- a model
[[trigger]]
total_rate_hz = 12
name = 'B'
kind = "carded"
card = "models/card.toml"  # beside the menu
requires = "n_jet >= 1"
# trailing
[[trigger]]
name = "OFF"
kind = "threshold"
observable = "met"
unique_rate_hz = 1.0  # stays
enabled = false
# the end
"""


@pytest.fixture
def menu_file(tmp_path: Path, carded: None) -> Path:
    write_card(tmp_path / "here" / "models" / "card.toml", {"met": 1.0, "n_jet": 0.5})
    file = tmp_path / "here" / "menu.toml"
    file.write_text(MENU)
    return file


def write(menu_file: Path, new: Path, catalogue: Catalogue) -> Menu:
    (menu,) = solve_budgets([read_menu(menu_file)], catalogue)
    new.parent.mkdir(exist_ok=True)
    write_calibrated(menu, new, catalogue.table.name)
    return menu


def test_a_calibrated_menu_is_the_old_one_but_for_its_cuts(menu_file: Path, tmp_path: Path) -> None:
    catalogue = memory_catalogue({"a": EVENTS})
    new = tmp_path / "there" / "new.toml"
    menu = write(menu_file, new, catalogue)
    thresholds = {t.name: t.solution.threshold for t in menu.triggers if t.solution}
    expected = MENU
    for old, put in (
        ('name = "written"\n', 'name = "written"\nformat = 1\n'),
        (
            "  unique_rate_hz   =   3_0.0   # what it may take\n",
            f"  above   =   {thresholds['A']!r}   # found from unique_rate_hz = 30 (what it may take)\n"
            'fitted_on = "toy"\n',
        ),
        (
            "total_rate_hz = 12\n",
            f'above = {thresholds["B"]!r}  # found from total_rate_hz = 12\nfitted_on = "toy"\n',
        ),
        ('card = "models/card.toml"', 'card = "../here/models/card.toml"'),
    ):
        assert old in expected
        expected = expected.replace(old, put)

    def without_blanks(text: str) -> list[str]:
        return [" ".join(line.replace("=", " = ").split()) for line in text.splitlines()]

    assert without_blanks(new.read_text()) == without_blanks(expected)
    assert menu_file.read_text() == MENU


def test_in_its_own_folder_paths_stay(menu_file: Path) -> None:
    catalogue = memory_catalogue({"a": EVENTS})
    write(menu_file, menu_file.with_name("new.toml"), catalogue)
    assert 'card = "models/card.toml"  # beside the menu' in menu_file.with_name("new.toml").read_text()
    write(menu_file, menu_file, catalogue)  # over the old one
    assert not read_menu(menu_file).budgeted


@pytest.mark.parametrize(
    "text",
    [
        """\
# inline
trigger = [
    { name = "A", kind = "threshold", unique_rate_hz = 30.0, observable = "met" },  # first
    { name = "B", kind = "threshold", observable = "met", above = 50, prescale = 2 },
    { name = "C", kind = "threshold", observable = "ht", total_rate_hz = 10 }
]
""",
        '[[trigger]]\nname = "A"\nkind = "threshold"\nobservable = "met"\n"total_rate_hz" = 3e1',
        '[[trigger]]\nname = "A"\ntotal_rate_hz = 9\nfitted_on = "x"\nkind = "threshold"\nobservable = "ht"',
        '[[trigger]]\r\nname = "A"\r\nkind = "threshold"\r\nobservable = "met"\r\ntotal_rate_hz = 30\r\n',
    ],
    ids=["inline", "last line", "fitted before", "line ends"],
)
def test_ways_to_write_a_menu(tmp_path: Path, text: str) -> None:
    file, new = tmp_path / "menu.toml", tmp_path / "new.toml"
    file.write_bytes(text.encode())
    menu = write(file, new, memory_catalogue({"a": EVENTS}))
    expected = tomllib.loads(text)
    for table, trigger in zip(expected["trigger"], menu.triggers, strict=True):
        if trigger.budget and trigger.solution:
            del table[trigger.budget.key]
            table |= {"above": trigger.solution.threshold, "fitted_on": "toy"}
    assert tomllib.loads(new.read_text()) == expected | {"menu": {"format": 1}}
    before, after = (
        [line.partition("#")[2] for line in t.splitlines() if "#" in line] for t in (text, new.read_text())
    )
    origins = [comment for comment in after if comment.startswith(" found from ")]
    assert [comment for comment in after if comment not in origins] == before
    assert len(origins) == text.count("[[trigger]]")  # an inline table holds no comment


# ---- parts of menus, and numbers by their paths

LIMITED = """
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
    return menu_from(folder, LIMITED.format(low=low, high=high))


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


@pytest.mark.parametrize("given", [5, None, {"trigger": []}, Menu, b"a.toml", [["a.toml"]]])
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
