"""Decisions in a file of their own, for a sample of two files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from toys import engine, toy_events, write_root
from trigemu_cms.recorded import with_decisions

from trigemu import open_catalogue, read_menu, run
from trigemu.base.errors import SampleError

EVENTS = toy_events(3, 300)
#: Decisions as they are made and as they are stored, and where they differ.
MENU = """
[[trigger]]
name = "HIGH"
kind = "threshold"
observable = "met"
above = 20.0
[[trigger]]
name = "STORED"
kind = "stored"
decision = "L1_HIGH"
[[trigger]]
name = "DIFFER"
kind = "logic"
expression = "(HIGH and not STORED) or (STORED and not HIGH)"
"""
CATALOGUE = """
[catalogue]
name = "parts"
convention = "crossing"
[[sample]]
name = "a"
role = "background"
rate_hz = 1.0
files = ["1.root", "2.root"]
"""


def decided(events: Any = EVENTS) -> Any:
    """As a plain loop makes them, from the numbers as they are stored."""
    return np.array([bool(np.float32(event["met"]) > 20.0) for event in events])


def write(file: Path, **columns: Any) -> Path:
    with uproot.recreate(file) as root:
        root["Events"] = columns
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_root(tmp_path / "1.root", EVENTS[:110])
    write_root(tmp_path / "2.root", EVENTS[110:])
    (tmp_path / "catalogue.toml").write_text(CATALOGUE)
    (tmp_path / "menu.toml").write_text(MENU)
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


@pytest.mark.parametrize("flipped", [(), (5, 109, 110, 299)])
@pytest.mark.parametrize("workers", [1, 2])
def test_decisions_lie_anywhere(folder: Path, flipped: tuple[int, ...], workers: int) -> None:
    """Each is that of its event, in both files, here and in other processes."""
    given = decided()
    given[list(flipped)] ^= True
    file = write(folder / "elsewhere" / "d.root", L1_HIGH=given)
    plain = open_catalogue(folder / "catalogue.toml")
    assert plain.samples[0].sources[0].stored == ()
    executor = engine(40, workers)
    found = run(read_menu(folder / "menu.toml"), with_decisions(plain, file), executor=executor)
    assert found["STORED"].total.events == given.sum()
    assert found["DIFFER"].total.events == len(flipped)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"L1_HIGH": decided(EVENTS[:299])}, "it has 299 events, but sample 'a' has 300$"),
        ({"MET_pt": np.ones(300)}, "it has no decisions: columns of booleans"),
    ],
)
def test_a_file_of_other_events_is_refused(folder: Path, columns: dict[str, Any], message: str) -> None:
    file = write(folder / "d.root", **columns)
    with pytest.raises(SampleError, match=message):
        with_decisions(open_catalogue(folder / "catalogue.toml"), file)


def test_decisions_are_of_one_sample(folder: Path) -> None:
    first, second = CATALOGUE.replace(', "2.root"', ""), CATALOGUE[CATALOGUE.index("[[sample]]") :]
    second = second.replace('"a"', '"b"').replace('"1.root", ', "")
    (folder / "catalogue.toml").write_text(first + second)
    with pytest.raises(SampleError, match=r"d\.root: decisions belong to one sample, but .* has a, b"):
        with_decisions(open_catalogue(folder / "catalogue.toml"), folder / "d.root")
