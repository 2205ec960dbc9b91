"""Menus with the thresholds of their budgets written in: as they were but for their cuts; and formats."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from plugin_toys import write_card
from toys import even_events, memory_catalogue, threshold

from trigemu import Catalogue, Menu, TrigemuError, read_menu
from trigemu.emulation.budgets import solve_budgets
from trigemu.menus.write import write_calibrated

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


def test_a_huge_format_is_not_written_out(tmp_path: Path) -> None:
    """Python refuses to write such numbers in digits."""
    with pytest.raises(
        TrigemuError, match=r"format = a value of type int, too long to show: written for a newer"
    ):
        read_menu(written(tmp_path, f"format = 0x{'f' * 5000}"))


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
