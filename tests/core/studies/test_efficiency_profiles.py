"""The file of profiles: what it says, and every mistake in it with its line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from toys import memory_catalogue, toy_events

from trigemu.base.toml import TableError
from trigemu.samples.sample import Sample
from trigemu.studies.efficiency_profiles import ProfileSet, Reference, read_profiles
from trigemu.studies.intervals import Profile

MENU = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 30\n'
HARD = '[objects.hard]\nfrom = "jet"\npt = { min = 40.0 }\n'
FULL = """\
[profile]
name = "mine"
menus = ["first.toml", "second.toml"]
samples = ["yy"]
require = "n_hard >= 1"
triggers = ["J"]

[[observable]]
expression = "hard[0].pt"
label = "leading pT"
unit = "GeV"
bins = "0:100:50"

[[observable]]
expression = "met"
bins = [0, 20.5, 100]

[[category]]
condition = "n_hard == 1"
label = "one"

[[category]]
condition = "n_hard > 1"

[[reference]]
menu = "other"
trigger = "J"
quantity = "total_hz"
value = 18.5e3
source = "a paper"

[[reference]]
menu = "first"
quantity = "rate_hz"
value = 20e3
source = "a paper"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "first.toml").write_text(MENU + HARD)
    (tmp_path / "second.toml").write_text(MENU + '[menu]\nname = "other"\n')
    return tmp_path


def read(folder: Path, text: str, samples: Sequence[Sample] = ()) -> ProfileSet:
    (folder / "profiles.toml").write_text(text)
    return read_profiles(folder / "profiles.toml", samples)


def test_it_says_what_is_wanted(folder: Path) -> None:
    found = read(folder, FULL)
    assert (found.name, found.samples, found.require, found.triggers) == (
        "mine", ("yy",), "n_hard >= 1", ("J",)
    )  # fmt: skip
    assert found.menus == (folder / "first.toml", folder / "second.toml")
    assert [*found.observables] == [
        Profile("hard[0].pt", (0.0, 50.0, 100.0)), Profile("met", (0.0, 20.5, 100.0))
    ]  # fmt: skip
    assert [(o.name, o.unit) for o in found.observables] == [("leading pT", "GeV"), ("met", "")]
    of_other, rate = found.references
    assert of_other.menu == "other"
    assert rate == Reference(menu="first", quantity="rate_hz", value=20e3, source="a paper")
    assert found.scope is None
    assert len(found.sha256) == 64
    assert read(folder, FULL.replace('name = "mine"\n', "")).name == "profiles"  # as its file


def test_its_own_objects_say_what_names_mean(folder: Path) -> None:
    (folder / "first.toml").write_text(MENU)
    sample = memory_catalogue({"yy": toy_events(1, 9)}).samples[0]
    with pytest.raises(TableError) as caught:
        read(folder, FULL, [sample])
    assert "profiles.toml:9: 'hard[0].pt': sample 'yy' has no collection 'hard' (known" in str(caught.value)
    found = read(folder, HARD + FULL)
    assert found.scope is not None
    assert found.scope.has_object("hard")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[profile]", "[profiles]", 1, "unknown key 'profiles'; did you mean 'profile'?"),
        ("samples = ", "sample = ", 4, "[profile]: unknown key 'sample'; did you mean 'samples'?"),
        ('samples = ["yy"]', "samples = []", 4, "length >= 1"),
        ('"first.toml", ', '"nowhere.toml", ', 3, "nowhere.toml: cannot read: No such file or directory"),
        ('"n_hard >= 1"', '"n_hard >="', 5, "'n_hard >=': "),
        ('"hard[0].pt"', '"n_hard > 1"', 9, "'n_hard > 1': "),
        ("0:100:50", "0:100", 12, "values '0:100': expected FIRST:LAST:STEP"),
        ("0:100:50", "0:40:50", 12, "bins '0:40:50': expected at least two ascending bin edges"),
        ("[0, 20.5, 100]", "[0, 20.5, 20.5]", 16, "expected at least two ascending bin edges"),
        ("[0, 20.5, 100]", "[1]", 16, "expected at least two ascending bin edges"),
        ("[0, 20.5, 100]", "{ a = 1 }", 16, "bins = {'a': 1}: expected "),
        ("[0, 20.5, 100]", '[0, "a"]', 16, "bins = [0, 'a']: expected "),
        ('"n_hard > 1"', '"n_hard"', 23, "'n_hard': "),
        ('menu = "other"', 'menu = "ohter"', 26, "menu = 'ohter': unknown menu; did you mean 'other'?"),
        ('trigger = "J"', 'trigger = "K"', 27, "trigger = 'K': unknown trigger of 'other' (known: J)"),
        ('"total_hz"', '"total"', 28, "quantity = 'total': expected 'rate_hz' or 'total_hz' or"),
        ('"total_hz"', '"rate_hz"', 28, "rate_hz is for a menu, the others for a trigger"),
        ("18.5e3", '"18"', 29, "value = '18': expected a number, got a string"),
        ('source = "a paper"', 'source = ""', 30, "source = ''"),
        ('quantity = "rate_hz"', 'quantity = "unique_hz"', 34, "rate_hz is for a menu, the others for"),
    ],
)  # fmt: skip
def test_every_mistake_has_its_line(folder: Path, old: str, new: str, line: int, message: str) -> None:
    text = FULL.replace(old, new, 1)
    assert text != FULL
    with pytest.raises(TableError) as caught:
        read(folder, text)
    assert any(p.line == line and message in str(p) for p in caught.value.problems), caught.value


def test_a_menu_with_mistakes_is_for_its_reader_to_tell(folder: Path) -> None:
    """Also one whose names are no names: what depends on it is not checked."""
    for content in ("[objects.jet]\nform = 1\n" + MENU, "menu = 3\ntrigger = 4\n", "[[trigger]]\nname = 3\n"):
        (folder / "first.toml").write_text(content)
        text = (
            FULL.replace('menu = "first"', 'menu = "other"').replace("n_hard", "n_jet").replace("hard", "jet")
        )
        assert read(folder, text).name == "mine"
