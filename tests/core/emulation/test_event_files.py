"""Event tables in files, as other libraries read them."""

from __future__ import annotations

import json
from pathlib import Path

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import uproot
from toys import memory_catalogue, menu_from, toy_events

from trigemu import TrigemuError, event_table
from trigemu.base.mapping import Engine
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.table_files import write_events

MENU = """
[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 20.0
prescale = 4
unit = "GeV"

[[trigger]]
name = "C"
kind = "combination"
legs = [{ object = "muon" }]
"""


@pytest.fixture
def table(tmp_path: Path) -> EventTable:
    catalogue = memory_catalogue({"a": toy_events(1, 70), "b": toy_events(2, 50)})
    return event_table(menu_from(tmp_path, MENU), catalogue, executor=Engine(chunk_events=30))


def write(path: Path, table: EventTable) -> Path:
    seen: list[int] = []
    assert write_events(path, table, "1.0", seen.append) == 120
    assert sum(seen) == 120
    return path


def test_parquet(tmp_path: Path, table: EventTable) -> None:
    file, expected = write(tmp_path / "events.parquet", table), table.arrays()
    frame, array = pd.read_parquet(file), ak.from_parquet(file)
    assert [*frame] == ak.fields(array) == [column.name for column in table.columns]
    assert frame["sample"].tolist() == ak.to_list(array["sample"]) == ["a"] * 70 + ["b"] * 50
    for name in [*expected][1:]:
        assert frame[name].dtype == expected[name].dtype
        np.testing.assert_array_equal(frame[name], expected[name])
        np.testing.assert_array_equal(ak.to_numpy(array[name]), expected[name])
    schema = pyarrow.parquet.read_schema(file)
    assert schema.field("weight").metadata[b"unit"] == b"Hz"
    assert schema.field("score_M").metadata[b"unit"] == b"GeV"
    about = json.loads(schema.metadata[b"trigemu"])
    assert (about["menu"], about["version"], about["fired"]) == ("menu", "1.0", None)


def test_root(tmp_path: Path, table: EventTable) -> None:
    file, expected = write(tmp_path / "events.root", table), table.arrays()
    with uproot.open(file) as found:
        about = json.loads(found["about"])
        arrays = found["events"].arrays(library="np")
    assert about["samples"] == {"0": "a", "1": "b"}
    assert about["columns"]["weight"] == {"unit": "Hz", "description": "the rate that the event stands for"}
    assert [*arrays] == [*expected] == [*about["columns"]]
    for name, values in expected.items():
        assert arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(arrays[name], values)


@pytest.mark.parametrize("ending", ["parquet", "root"])
def test_equal_tables_are_equal_bytes(tmp_path: Path, table: EventTable, ending: str) -> None:
    """Under one name, which a ROOT file holds too."""
    file = tmp_path / f"events.{ending}"
    assert write(file, table).read_bytes() == write(file, table).read_bytes()


@pytest.mark.parametrize("ending", ["parquet", "root"])
def test_no_event(tmp_path: Path, ending: str) -> None:
    table = event_table(menu_from(tmp_path, MENU), memory_catalogue({"a": []}), fired="M and C")
    file = tmp_path / f"events.{ending}"
    assert write_events(file, table, "1.0", lambda n: None) == 0
    if ending == "parquet":
        assert len(pd.read_parquet(file)) == 0
    else:
        assert uproot.open(file)["events"].num_entries == 0


@pytest.mark.parametrize("ending", ["parquet", "root"])
def test_nothing_is_half_written(tmp_path: Path, table: EventTable, ending: str) -> None:
    """It fails after the first parts; what was there before stays."""
    file = tmp_path / f"events.{ending}"
    file.write_text("before")

    def fails(events: int) -> None:
        nonlocal done
        done += events
        if done > 50:
            raise KeyboardInterrupt

    done = 0
    with pytest.raises(KeyboardInterrupt):
        write_events(file, table, "1.0", fails)
    assert file.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name, "menu.toml"]


@pytest.mark.parametrize("name", ["events.csv", "events", "no/events.root"])
def test_what_cannot_be_written(tmp_path: Path, table: EventTable, name: str) -> None:
    with pytest.raises(TrigemuError, match=r"should end in .parquet or .root|there is no folder"):
        write_events(tmp_path / name, table, "1.0", lambda n: None)
