"""[integer] of a menu: what is said, and mistakes at their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import menu_from

from trigemu.base.toml import TableError
from trigemu.observables.hardware_scales import Digits, EtaScale, HardwareScale, LinearScale, PhiScale

TABLES = """[objects.hard]
from = "L1Jet"
pt = { min = 30.0 }
[objects.l1jet]
from = "L1Jet"
[integer.l1jet]
pt = { first = 0.0, step = 0.5, bins = 2046 }
eta = { step = 0.0435 }
phi = { bins = 144 }
[integer.muon]
pt = { first = -0.5, step = 0.5, bins = 511 }
eta = { step = 0.010875, centred = true }
[integer.digits]
l1jet-muon = { delta = 3 }
muon-muon = { pt = 1, mass = 1, trigonometry = 4 }
[[trigger]]
name = "T"
kind = "random"
rate_hz = 1
"""


def test_what_it_says(tmp_path: Path) -> None:
    """By collections of the sample: whatever is selected from them has the same scales."""
    integers = menu_from(tmp_path, TABLES).scope.integers
    assert integers is not None
    jet = HardwareScale(
        pt=LinearScale(first=0.0, step=0.5, bins=2046), eta=EtaScale(step=0.0435), phi=PhiScale(bins=144)
    )
    assert integers.scale("L1Jet") == jet
    assert integers.scale("l1jet") is None
    assert integers.of_pair("L1Jet", "muon") == integers.of_pair("muon", "L1Jet") == Digits(delta=3)
    assert integers.of_pair("muon", "muon") == Digits(pt=1, mass=1, trigonometry=4)
    assert integers.of_pair("L1Jet", "L1Jet") == Digits()


def test_a_menu_without(tmp_path: Path) -> None:
    assert menu_from(tmp_path, TABLES[TABLES.index("[[trigger]]") :]).scope.integers is None


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("[integer.muon]", "[integer.moun]", 10, "unknown object 'moun'; did you mean 'muon'?"),
        ("step = 0.5, bins = 511", "step = 0, bins = 511", 11, "expected a number > 0.0"),
        ("bins = 144", "bins = 0", 9, "expected an integer >= 1"),
        ("centred", "centered", 12, "unknown key 'centered'; did you mean 'centred'?"),
        ("delta = 3", "dalta = 3", 14, "unknown key 'dalta'; did you mean 'delta'?"),
        ("l1jet-muon", "jet-muon", 14, "jet-muon: no [integer.jet]; did you mean 'l1jet'?"),
        ("l1jet-muon", "l1jet", 14, "'l1jet': expected two objects, as in jet-muon"),
        ("[integer.muon]", "[integer.hard]", 10, "'L1Jet' already has a different scale above"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(TableError) as error:
        menu_from(tmp_path, TABLES.replace(old, new, 1))
    first = error.value.problems[0]
    assert first.line == line
    assert message in first.message


@pytest.mark.parametrize("text", ["integer = 3\n", "[integer]\ndigits = 3\n"])
def test_no_tables(tmp_path: Path, text: str) -> None:
    with pytest.raises(TableError, match="expected"):
        menu_from(tmp_path, text + TABLES[TABLES.index("[[trigger]]") :])
