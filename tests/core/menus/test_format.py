"""Menus of this format, and of newer ones."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomlkit

from trigemu import TrigemuError, read_menu
from trigemu.menus.write import write_calibrated

TRIGGER = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 100.0
"""


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


def test_a_menu_without_a_head_gets_one(tmp_path: Path) -> None:
    file = tmp_path / "menu.toml"
    file.write_text(f"# jets{TRIGGER}")
    write_calibrated(read_menu(file), tmp_path / "new.toml", "toy")
    new = tomlkit.parse((tmp_path / "new.toml").read_text())
    assert new == tomllib.loads(TRIGGER) | {"menu": {"format": 1}}
