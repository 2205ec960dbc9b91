"""Decisions in a file of their own, for a sample of two files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toys import engine, toy_events, write_root

from trigemu import open_catalogue, read_menu
from trigemu.samples import SampleError, with_decisions
from trigemu_validation.decisions import check_decisions

EVENTS = toy_events(3, 300)
MENU = '[[trigger]]\nname = "{}"\nkind = "threshold"\nobservable = "met"\nabove = 20.0\n'
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


def decisions(events: Any = EVENTS) -> dict[str, Any]:
    """As a plain loop makes them, from the numbers as they are stored."""
    return {"HIGH": pa.array([bool(np.float32(event["met"]) > 20.0) for event in events])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_root(tmp_path / "1.root", EVENTS[:110])
    write_root(tmp_path / "2.root", EVENTS[110:])
    (tmp_path / "catalogue.toml").write_text(CATALOGUE)
    (tmp_path / "menu.toml").write_text(MENU.format("HIGH"))
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


@pytest.mark.parametrize("flipped", [(), (5, 109, 110, 299)])
@pytest.mark.parametrize("workers", [1, 2])
def test_decisions_lie_anywhere(folder: Path, flipped: tuple[int, ...], workers: int) -> None:
    """Each is that of its event, in both files, here and in other processes."""
    given = decisions()["HIGH"].to_numpy(zero_copy_only=False)
    given[list(flipped)] ^= True
    pq.write_table(pa.table({"HIGH": given}), folder / "elsewhere" / "d.parquet")
    plain = open_catalogue(folder / "catalogue.toml")
    assert plain.samples[0].sources[0].stored == ()
    with engine(40, workers) as executor:
        catalogue = with_decisions(plain, folder / "elsewhere" / "d.parquet")
        result = check_decisions(read_menu(folder / "menu.toml"), catalogue, executor=executor)
    (trigger,) = result.triggers
    assert trigger.differ == len(flipped)
    assert result.crossings == 300


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (lambda: decisions(EVENTS[:299]), "it has 299 events, and sample 'a' has 300$"),
        (lambda: {"met": pa.array(np.ones(300))}, "it has no decisions: columns of booleans"),
    ],
)
def test_a_file_of_other_events_is_refused(
    folder: Path, table: Callable[[], dict[str, Any]], message: str
) -> None:
    pq.write_table(pa.table(table()), folder / "d.parquet")
    with pytest.raises(SampleError, match=message):
        with_decisions(open_catalogue(folder / "catalogue.toml"), folder / "d.parquet")


def test_decisions_are_of_one_sample(folder: Path) -> None:
    second = CATALOGUE[CATALOGUE.index("[[sample]]") :].replace('"a"', '"b"')
    (folder / "catalogue.toml").write_text(CATALOGUE + second)
    with pytest.raises(SampleError, match=r"d\.parquet: decisions are of one sample, and .* has a, b"):
        with_decisions(open_catalogue(folder / "catalogue.toml"), folder / "d.parquet")
