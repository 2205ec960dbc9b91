"""Calls accept paths, arrays and emulations, and list what they accept in the error for anything else."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import pytest
from toys import memory_catalogue, toy_events

from trigemu import Catalogue, TrigemuError, emulate
from trigemu_latency import Stream, bench

EVENTS = toy_events(11, 150)
MENU = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
total_rate_hz = 300.0
[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 20.0
"""


@pytest.fixture
def menu(tmp_path: Path) -> Path:
    (tmp_path / "menu.toml").write_text(MENU)
    return tmp_path / "menu.toml"


@pytest.fixture(scope="module")
def samples() -> Catalogue:
    return memory_catalogue({"toy": EVENTS})


def test_a_path_or_an_emulation_is_the_menu(menu: Path, samples: Catalogue) -> None:
    inputs = ((str(menu), samples), (menu, samples), (emulate(menu, samples),))
    result = [bench(*arguments, batches=(8,), events=16).rates.triggers for arguments in inputs]
    assert result[0] == result[1] == result[2]


def test_an_emulation_has_its_samples(menu: Path, samples: Catalogue) -> None:
    with pytest.raises(TrigemuError, match="the emulation already has samples: give samples with menus"):
        bench(emulate(menu, samples), samples)


def test_a_stream_needs_events(menu: Path, samples: Catalogue) -> None:
    with pytest.raises(TrigemuError, match=r"the events: got an awkward\.Array; expected Events"):
        Stream(emulate(menu, samples).plan, ak.Array(EVENTS))  # type: ignore[arg-type]
