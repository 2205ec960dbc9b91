"""What is read equals what uproot and awkward give."""

from __future__ import annotations

import pickle
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
from toys import COLUMNS, toy_events, write_root

from trigemu.errors import SampleError
from trigemu.samples.nanoaod import NanoAOD

NEEDS = [("jet", c) for c in COLUMNS] + [("muon", "charge"), ("", "met"), ("", "met_phi")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("nano") / "a.root"
    write_root(file, toy_events(3, 250), basket=100)
    return str(file)


def test_the_schema_uses_the_names_of_menus(path: str) -> None:
    schema = NanoAOD(path).schema
    assert set(schema.collections) == {"jet", "photon", "muon"}
    assert schema.collections["jet"] == set(COLUMNS)
    assert {"met", "met_phi", "genWeight", "event"} <= schema.scalars


@pytest.mark.parametrize(("start", "stop"), [(0, 250), (0, 1), (99, 101), (137, 242), (250, 250)])
def test_columns_equal_uproots(path: str, start: int, stop: int) -> None:
    read = NanoAOD(path).read(start, stop, NEEDS)
    tree = uproot.open(path)["Events"]
    for name in ("jet", "muon"):
        for column, values in read.collections[name].columns.items():
            expected = tree[f"{name.title()}_{column}"].array(entry_start=start, entry_stop=stop)
            assert values.tolist() == ak.flatten(expected).tolist()
            assert np.diff(read.collections[name].offsets).tolist() == ak.num(expected).tolist()
    assert read.scalars["met"].tolist() == tree["MET_pt"].array()[start:stop].tolist()
    assert read.weight.tolist() == tree["genWeight"].array()[start:stop].tolist()
    assert read.id.tolist() == read.parent.tolist() == list(range(start, stop))


def test_boundaries_are_those_of_the_baskets(path: str) -> None:
    assert NanoAOD(path).boundaries == (0, 100, 200, 250)


def test_a_source_travels_without_its_open_file(path: str) -> None:
    source = NanoAOD(path)
    assert source.entries == 250
    copy = pickle.loads(pickle.dumps(source))
    assert copy.read(0, 10, NEEDS).weight.tolist() == source.read(0, 10, NEEDS).weight.tolist()


def test_objects_are_sorted_by_falling_pt(tmp_path: Path) -> None:
    jets = ak.Array([[10.0, 30.0, 20.0], [], [5.0, 6.0]])
    labels = ak.Array([[1, 3, 2], [], [5, 6]])
    with uproot.recreate(tmp_path / "a.root") as file:
        arrays = {"Jet": ak.zip({"pt": ak.values_astype(jets, np.float32), "label": labels})}
        kinds = {"Jet": arrays["Jet"].type.content}
        file.mktree("Events", kinds, counter_name=lambda n: f"n{n}", field_name=lambda a, b: f"{a}_{b}")
        file["Events"].extend(arrays)
    read = NanoAOD(str(tmp_path / "a.root")).read(0, 3, [("jet", "label")])
    assert read.collections["jet"].columns["label"].tolist() == [3, 2, 1, 6, 5]
    assert read.collections["jet"].columns["pt"].tolist() == [30.0, 20.0, 10.0, 6.0, 5.0]


def test_a_parent_is_read_where_there_is_one(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        file.mktree("Events", {"event": "u8", "parent": "u8"})
        file["Events"].extend({"event": np.arange(3, dtype="u8"), "parent": np.array([7, 7, 2**63], "u8")})
    read = NanoAOD(str(tmp_path / "a.root")).read(1, 3, [])
    assert read.id.tolist() == [1, 2]
    assert read.parent.tolist() == [7, 2**63]


def test_a_file_without_events_says_what_it_has(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        file.mktree("Data", {"x": "f8"})
    with pytest.raises(SampleError, match="no tree 'Events'"):
        _ = NanoAOD(str(tmp_path / "a.root")).entries
