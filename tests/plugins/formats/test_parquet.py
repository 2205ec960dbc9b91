"""What awkward writes to Parquet is read back, by whichever names the columns have."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import given, strategies as st
from real_data import real_file
from toys import threshold
from trigemu_formats import parquet
from trigemu_formats.parquet import Parquet

from trigemu import catalogue_of, open_catalogue, run
from trigemu.api import SampleError
from trigemu.base.mapping import Engine
from trigemu.samples.events import make_events

pq = pytest.importorskip("pyarrow.parquet")
N = 100
NEEDS = [("jet", column) for column in ("pt", "eta", "hwQual")] + [("", "met"), ("", "met_phi")]


def toy(seed: int, n: int = N) -> dict[str, Any]:
    """jet: columns of one raggedness; met, met_phi: an event each."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, n)
    total = int(counts.sum())
    jet = {
        "pt": ak.unflatten(rng.exponential(40, total).astype("f4"), counts),
        "eta": ak.unflatten(rng.uniform(-3, 3, total), counts),
        "hwQual": ak.unflatten(rng.integers(0, 9, total, "i4"), counts),
    }
    return {"jet": jet, "met": rng.exponential(20, n), "met_phi": rng.uniform(-3, 3, n)}


def records(columns: dict[str, Any]) -> ak.Array:
    return ak.Array({"jet": ak.zip(columns["jet"])} | {k: columns[k] for k in ("met", "met_phi")})


def flat_lists(columns: dict[str, Any]) -> ak.Array:
    lists = {f"Jet_{name}": values for name, values in columns["jet"].items()}
    return ak.Array(lists | {"MET_pt": columns["met"], "MET_phi": columns["met_phi"]})


def records_of_lists(columns: dict[str, Any]) -> ak.Array:
    jet = ak.zip(columns["jet"], depth_limit=1)
    return ak.Array({"jet": jet, "MET": ak.zip({"pt": columns["met"], "phi": columns["met_phi"]})})


LAYOUTS = {"records": records, "flat lists": flat_lists, "records of lists": records_of_lists}


def check(read: Any, columns: dict[str, Any], start: int, stop: int) -> None:
    part = {name: values[start:stop] for name, values in columns["jet"].items()}
    order = ak.argsort(part["pt"], ascending=False, stable=True)
    for name, values in part.items():
        assert read.collections["jet"].columns[name].tolist() == ak.flatten(values[order]).tolist()
    assert np.diff(read.collections["jet"].offsets).tolist() == ak.num(part["pt"]).tolist()
    for name in ("met", "met_phi"):
        assert read.scalars[name].tolist() == columns[name][start:stop].tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("start", "stop"), [(0, N), (29, 31)])
def test_columns_are_those_that_were_written(tmp_path: Path, layout: str, start: int, stop: int) -> None:
    columns = toy(1)
    ak.to_parquet(LAYOUTS[layout](columns), tmp_path / "a.parquet", row_group_size=30)
    source = Parquet(str(tmp_path / "a.parquet"))
    assert source.boundaries == (0, 30, 60, 90, 100)
    assert source.schema.collections == {"jet": {"pt", "eta", "hwQual"}}
    read = source.read(start, stop, NEEDS)
    check(read, columns, start, stop)
    assert read.id.tolist() == read.parent.tolist() == list(range(start, stop))
    assert read.weight.tolist() == [1] * (stop - start)
    events = make_events("a", read.weight, read.collections, read.scalars)
    arrays = [*events.collections["jet"].columns.values(), *events.scalars.values()]
    assert all(array.flags.writeable for array in arrays)


def test_a_large_row_group_is_decoded_once_in_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ak.to_parquet(records(toy(2)), tmp_path / "a.parquet")
    samples = open_catalogue(tmp_path / "a.parquet")
    (tmp_path / "menu.toml").write_text(threshold("J", "jet[0].pt", 30.0))
    groups_read: list[list[int]] = []
    read_row_groups = pq.ParquetFile.read_row_groups

    def counted(self: Any, groups: list[int], **options: Any) -> Any:
        groups_read.append(groups)
        return read_row_groups(self, groups, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", counted)
    whole = run(tmp_path / "menu.toml", samples)
    assert groups_read == [[0]]
    parts = run(tmp_path / "menu.toml", samples, executor=Engine(chunk_events=20, workers=1))
    assert groups_read == [[0], [0]]
    assert parts["J"].total.events == whole["J"].total.events > 0


def test_ranges_within_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "CHUNK_EVENTS", 7)
    columns = toy(2)
    ak.to_parquet(records(columns), tmp_path / "a.parquet", row_group_size=30)
    source = Parquet(str(tmp_path / "a.parquet"))
    for start, stop in ((0, N), (3, 7), (25, 65), (60, 90), (N - 1, N), (50, 50)):
        check(source.read(start, stop, NEEDS), columns, start, stop)
    assert source.read(0, 5, [("", "met")]).scalars["met"].tolist() == columns["met"][:5].tolist()
    check(pickle.loads(pickle.dumps(source)).read(3, 7, NEEDS), columns, 3, 7)


def test_a_list_without_a_name_is_called_as_its_fields_begin(tmp_path: Path) -> None:
    jet = toy(1)["jet"]
    ak.to_parquet(ak.zip({f"L1Jet_{name}": values for name, values in jet.items()}), tmp_path / "a.parquet")
    source = Parquet(str(tmp_path / "a.parquet"))
    assert source.schema.collections == {"l1jet": {"pt", "eta", "hwQual"}}
    order = ak.argsort(jet["pt"], ascending=False, stable=True)
    got = source.read(0, N, [("l1jet", "hwQual")]).collections["l1jet"].columns["hwQual"]
    assert got.tolist() == ak.flatten(jet["hwQual"][order]).tolist()


def test_a_part_of_what_awkward_has_defined_is_read(tmp_path: Path) -> None:
    columns = toy(1)
    pq.write_table(ak.to_arrow_table(records(columns), extensionarray=True), tmp_path / "a.parquet")
    assert hasattr(pq.read_schema(tmp_path / "a.parquet").field("jet").type, "storage_type")
    got = Parquet(str(tmp_path / "a.parquet")).read(10, 60, [("jet", "pt")]).collections["jet"].columns
    expected = ak.sort(columns["jet"]["pt"][10:60], ascending=False)
    assert {name: values.tolist() for name, values in got.items()} == {"pt": ak.flatten(expected).tolist()}


def test_records_an_event_are_scalars_and_objects_without_pt_keep_their_order(tmp_path: Path) -> None:
    met = ak.zip({"pt": np.array([3.0, 4.0]), "phi": np.array([1.0, 2.0])})
    vertex = ak.Array([[{"z0": 3.0}, {"z0": 9.0}, {"z0": 1.0}], []])
    ak.to_parquet(ak.Array({"MET": met, "PV": vertex, "nVertex": [3, 0]}), tmp_path / "a.parquet")
    source = Parquet(str(tmp_path / "a.parquet"))
    assert source.schema.scalars == {"met", "met_phi", "nVertex"}
    read = source.read(0, 2, [("pv", "z0"), ("", "met"), ("", "met_phi")])
    assert read.collections["pv"].columns["z0"].tolist() == [3, 9, 1]
    assert (read.scalars["met"].tolist(), read.scalars["met_phi"].tolist()) == ([3, 4], [1, 2])


def test_numbers_with_a_pt_are_a_collection_of_one_object_too(tmp_path: Path) -> None:
    numbers = {"Sum_pt": np.array([3.0, 4.0]), "Sum_phi": np.array([1.0, 2.0]), "Other_x": np.array([1, 2])}
    ak.to_parquet(ak.Array(numbers), tmp_path / "a.parquet")
    source = Parquet(str(tmp_path / "a.parquet"))
    assert dict(source.schema.collections) == {"sum": {"pt", "phi"}}
    assert source.schema.scalars == {"Sum_pt", "Sum_phi", "Other_x"}
    read = source.read(0, 2, [("sum", "phi"), ("", "Sum_pt")])
    assert read.collections["sum"].offsets.tolist() == [0, 1, 2]
    assert read.collections["sum"].columns["pt"].tolist() == read.scalars["Sum_pt"].tolist() == [3, 4]
    assert read.collections["sum"].columns["phi"].tolist() == [1, 2]


def test_files_of_a_folder_stand_side_by_side(tmp_path: Path) -> None:
    columns = toy(1)
    folder = tmp_path / "events"
    folder.mkdir()
    ak.to_parquet(
        ak.zip({f"Jet_{k}": v for k, v in columns["jet"].items()}),
        folder / "x_jet.parquet",
        row_group_size=50,
    )
    ak.to_parquet(
        ak.Array({"met": columns["met"], "met_phi": columns["met_phi"]}),
        folder / "x_met.parquet",
        row_group_size=25,
    )
    ak.to_parquet(ak.Array({"L1_A": np.arange(N) % 3, "B": np.arange(N) % 2 == 1}), folder / "z.parquet")
    source = Parquet(str(folder))
    assert (source.entries, source.boundaries) == (N, (0, 100))
    check(source.read(20, 70, NEEDS), columns, 20, 70)
    assert source.stored == ("L1_A", "B")
    stored = source.read_stored(4, 8, source.stored)
    assert {name: got.tolist() for name, got in stored.items()} == {
        "L1_A": [True, True, False, True],
        "B": [False, True, False, True],
    }
    opened = catalogue_of(folder)
    assert (opened.samples[0].table.format, opened.samples[0].entries) == ("parquet", N)
    digest = opened.samples[0].digests[0]
    ak.to_parquet(ak.Array({"B": np.arange(N) % 2 == 0}), folder / "z.parquet")
    assert catalogue_of(folder).samples[0].digests[0] != digest


def test_files_that_follow_each_other_are_no_folder(tmp_path: Path) -> None:
    for name, n in (("a", 5), ("b", 6)):
        ak.to_parquet(ak.Array({name: np.arange(n)}), tmp_path / f"{name}.parquet")
    with pytest.raises(SampleError, match=r"equal numbers of events \(a\.parquet: 5, b\.parquet: 6\)"):
        _ = Parquet(str(tmp_path)).entries
    ak.to_parquet(ak.Array({"a": np.arange(5)}), tmp_path / "b.parquet")
    with pytest.raises(SampleError, match=r"a is in a\.parquet as a and in b\.parquet as a"):
        _ = Parquet(str(tmp_path)).schema


def test_weights_need_a_sum_over_all_generated_events(tmp_path: Path) -> None:
    array = ak.Array({"met": np.ones(4), "genWeight": [1.0, -1.0, 2.0, 3.0], "event": [9, 8, 7, 6]})
    ak.to_parquet(array, tmp_path / "a.parquet")
    entry = (
        '[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "a"\nrole = "background"\n'
        'format = "parquet"\nfiles = ["a.parquet"]\nrate_hz = 1000.0\n'
    )
    (tmp_path / "c.toml").write_text(entry)
    with pytest.raises(SampleError, match=r"sample 'a': .*a\.parquet: has weights .* give sum_of_weights"):
        open_catalogue(tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text(entry + "sum_of_weights = 50.0\n")
    events = open_catalogue(tmp_path / "c.toml").samples[0].read(0, 1, 4, ())
    assert events.weight.tolist() == [-20, 40, 60]
    assert events.id.tolist() == events.parent.tolist() == [8, 7, 6]


@pytest.mark.parametrize("lists", [[[1.0, None], []], [[1.0], None]])
def test_missing_entries_are_an_error(tmp_path: Path, lists: Any) -> None:
    ak.to_parquet(ak.Array({"Jet_pt": ak.Array(lists)}), tmp_path / "a.parquet")
    with pytest.raises(SampleError, match="Jet_pt has missing entries"):
        Parquet(str(tmp_path / "a.parquet")).read(0, 2, [("jet", "pt")])


@given(st.lists(st.lists(st.floats(0, 1000, width=32), max_size=4), min_size=1, max_size=12), st.data())
def test_lists_that_could_have_missing_entries_are_read_where_none_has(lists: Any, data: Any) -> None:
    """As pandas and Arrow write them: every column is nullable there."""
    import tempfile

    import pyarrow as pa

    start = data.draw(st.integers(0, len(lists)))
    stop = data.draw(st.integers(start, len(lists)))
    with tempfile.TemporaryDirectory() as folder:
        table = pa.table({"Jet_pt": pa.array(lists, pa.list_(pa.float32()))})
        pq.write_table(table, f"{folder}/a.parquet", row_group_size=3)
        read = Parquet(f"{folder}/a.parquet").read(start, stop, [("jet", "pt")])
    expected = [sorted(values, reverse=True) for values in lists[start:stop]]
    assert np.diff(read.collections["jet"].offsets).tolist() == [len(values) for values in expected]
    assert read.collections["jet"].columns["pt"].tolist() == [v for values in expected for v in values]


def test_without_the_package_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ak.to_parquet(records(toy(1)), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SampleError, match=r'sample \'a\': .*a\.parquet: .*pip install "trigemu\[formats\]"'):
        catalogue_of(tmp_path / "a.parquet")


def test_the_inputs_of_the_phase_2_tools_are_a_folder() -> None:
    folder = real_file("cms_phase2", "inputs")
    source = Parquet(str(folder))
    assert source.entries == 10_000
    for path in folder.glob("*.parquet"):
        array = ak.from_parquet(path)
        name = path.stem.rpartition("_")[2]
        if array.ndim == 1:
            continue
        pt = array[f"{name}_pt"] if f"{name}_pt" in array.fields else None
        column = "pt" if pt is not None else array.fields[0].partition("_")[2]
        got = source.read(0, 10_000, [(name.lower(), column)]).collections[name.lower()]
        values = array[f"{name}_{column}"]
        expected = values if pt is None else values[ak.argsort(pt, ascending=False, stable=True)]
        assert got.columns[column].tolist() == ak.flatten(expected).tolist()
        assert np.diff(got.offsets).tolist() == ak.num(values).tolist()


def test_events_twice_are_known_by_run_section_and_number(tmp_path: Path) -> None:
    """The number is the column that is `id` in menus."""
    for name, first in (("a", 0), ("b", 90)):
        columns = {
            "run": np.full(N, 362000),
            "luminosityBlock": np.ones(N, int),
            "event": first + np.arange(N),
        }
        ak.to_parquet(ak.Array({**columns, "met": np.full(N, first + 1.0)}), tmp_path / f"{name}.parquet")
    (warning,) = catalogue_of([tmp_path / "a.parquet", tmp_path / "b.parquet"]).repeated
    assert warning.startswith("10 events of 'a' are there twice")
    assert f"362000, 1, 90, is entry 90 of {tmp_path}/a.parquet and entry 0 of" in warning


def test_columns_with_different_numbers_of_objects(tmp_path: Path) -> None:
    lists = ak.Array({"Jet_pt": [[30.0], [40.0, 20.0], []], "Jet_eta": [[1.0], [2.0, 1.0], [0.0]]})
    ak.to_parquet(lists, tmp_path / "a.parquet")
    (sample,) = catalogue_of(tmp_path / "a.parquet").samples
    message = r"sample 'a': .*a\.parquet: event 2: jet\.(pt|eta) has [01] objects, jet\.(pt|eta) [01]"
    with pytest.raises(SampleError, match=message):
        sample.read(0, 1, 3, [("jet", "eta")])
