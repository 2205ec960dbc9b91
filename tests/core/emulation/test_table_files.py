"""Tables of events in files: as other libraries read them, read back, and damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uproot
from likeness import alike
from toys import combination, memory_catalogue, menu_from, threshold, toy_events

from trigemu import (
    Catalogue,
    Menu,
    TrigemuError,
    emulate,
    event_table,
    rates_of,
    read_scores,
    score_table,
    write_scores,
)
from trigemu.base.mapping import Engine
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.table_files import DIGEST, PARQUET_ABOUT, SUMS

MENU = (
    threshold("J", "jet[0].pt", 30.0, 'unit = "GeV"')
    + threshold("J_PS", "jet[0].pt", 20.0, "prescale = 7")
    + combination("MU", '{ object = "muon" }')
)


@pytest.fixture(scope="module")
def menu(tmp_path_factory: pytest.TempPathFactory) -> Menu:
    return menu_from(tmp_path_factory.mktemp("menu"), MENU)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    samples = {"a": toy_events(1, 200), "b": [e | {"parent": 5} for e in toy_events(2, 60)]}
    return memory_catalogue(samples, signals={"s": toy_events(3, 40)})


@pytest.fixture(scope="module")
def scores(menu: Menu, catalogue: Catalogue) -> EventTable:
    return score_table(menu, catalogue, vary={"J": (20, 60), "J_PS": (20, 40)}, signals="s")


@pytest.fixture(scope="module")
def events(menu: Menu, catalogue: Catalogue) -> EventTable:
    return event_table(menu, catalogue, executor=Engine(chunk_events=30))


@pytest.fixture
def file(tmp_path: Path, scores: EventTable) -> Path:
    path = tmp_path / "scores.parquet"
    write_scores(path, scores, "1.0")
    return path


@pytest.mark.parametrize("made", ["scores", "events"])
def test_pandas_and_awkward_read_it(
    tmp_path: Path, made: str, request: pytest.FixtureRequest, catalogue: Catalogue
) -> None:
    table, path = request.getfixturevalue(made), tmp_path / "table.parquet"
    expected = table.arrays()
    assert write_scores(path, table, "1.0") == len(expected["id"]) > 0
    frame, array, schema = pd.read_parquet(path), ak.from_parquet(path), pq.read_schema(path)
    assert [*frame] == ak.fields(array) == [column.name for column in table.columns]
    names = [catalogue.samples[number].name for number in expected["sample"]]
    assert frame["sample"].tolist() == ak.to_list(array["sample"]) == names
    for name in [*expected][1:]:
        assert frame[name].dtype == expected[name].dtype
        np.testing.assert_array_equal(frame[name], expected[name])
        np.testing.assert_array_equal(ak.to_numpy(array[name]), expected[name])
    said = {name: schema.field(name).metadata for name in expected}
    assert (said["weight"][b"unit"], said["score_J"][b"unit"]) == (b"Hz", b"GeV")
    about = json.loads(schema.metadata[b"trigemu"])
    assert (about["menu"], about["version"], about["fired"]) == ("menu", "1.0", None)
    if made == "scores":
        assert said["score_J"][b"description"].decode() == "score of J, J_PS; −inf where it is not above 20"
        assert said["fired_MU"][b"description"] == b"decision of MU, before prescale and seed"


def test_root(tmp_path: Path, events: EventTable) -> None:
    file, expected = tmp_path / "events.root", events.arrays()
    write_scores(file, events, "1.0")
    with uproot.open(file) as found:
        about = json.loads(found["about"])
        arrays = found["events"].arrays(library="np")
    assert about["samples"] == {"0": "a", "1": "b"}
    assert about["columns"]["weight"]["unit"] == "Hz"
    assert about["columns"]["weight"]["description"] == "the rate that the event stands for"
    assert [*arrays] == [*expected] == [*about["columns"]]
    for name, values in expected.items():
        assert arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(arrays[name], values)


@pytest.mark.parametrize("ending", ["parquet", "root"])
def test_files_are_whole_and_equal_for_equal_tables(
    tmp_path: Path, menu: Menu, catalogue: Catalogue, ending: str
) -> None:
    """A ROOT file also has its name. After a failure, what was there before stays."""

    def fails(events: int) -> None:
        if (done := sum(seen)) > 50:
            raise KeyboardInterrupt(done)
        seen.append(events)

    file, seen, how = tmp_path / f"events.{ending}", list[int](), Engine(chunk_events=30)
    assert (
        write_scores(file, event_table(menu, catalogue, executor=replace(how, progress=seen.append)), "1.0")
        == 260
    )
    assert sum(seen) == 260
    before = file.read_bytes()
    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        write_scores(file, event_table(menu, catalogue, executor=replace(how, progress=fails)), "1.0")
    assert file.read_bytes() == before
    assert [*tmp_path.iterdir()] == [file]
    assert write_scores(file, event_table(menu, catalogue, executor=how), "1.0") == 260
    assert file.read_bytes() == before
    nothing = event_table(menu, memory_catalogue({"a": []}), fired="J and MU")
    assert write_scores(file, nothing, "1.0") == 0
    assert (
        len(pd.read_parquet(file)) == 0
        if ending == "parquet"
        else uproot.open(file)["events"].num_entries == 0
    )


@pytest.mark.parametrize("name", ["events.csv", "events", "no/events.root", "no/scores.parquet"])
def test_what_cannot_be_written(tmp_path: Path, events: EventTable, name: str) -> None:
    with pytest.raises(TrigemuError, match=r"should end in .parquet or .root|there is no folder"):
        write_scores(tmp_path / name, events, "1.0")
    assert [*tmp_path.iterdir()] == []


def test_what_is_read_back_is_the_same(
    menu: Menu, catalogue: Catalogue, scores: EventTable, file: Path
) -> None:
    back = read_scores(file, menu, catalogue)
    assert rates_of(emulate(menu, back)).to_dict() == rates_of(emulate(menu, scores)).to_dict()
    assert (back.stored, back.made_with) == (scores.stored, scores.made_with)
    assert back.threshold_ranges == scores.threshold_ranges
    for found, expected in ((back.table, scores.table), (back.signals["s"], scores.signals["s"])):
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            assert found[name].dtype == values.dtype
            np.testing.assert_array_equal(found[name], values)


def test_tables_with_acceptances_are_read_as_samples(
    menu: Menu, catalogue: Catalogue, events: EventTable, scores: EventTable, tmp_path: Path
) -> None:
    file, expected = tmp_path / "events.parquet", rates_of(emulate(menu, catalogue))
    write_scores(file, events, "1.0")
    assert alike(rates_of(emulate(menu, read_scores(file, menu, catalogue))).to_dict(), expected.to_dict())
    menu = menu_from(tmp_path, f"[menu]\ncrossing_rate_hz = 80e6\n{MENU}".replace("30.0", "12.0"))
    higher = read_scores(file, menu, catalogue)  # at another crossing rate and threshold
    write_scores(file, event_table(menu, catalogue), "1.0")
    for table in (higher, read_scores(file, menu, catalogue)):
        assert alike(rates_of(emulate(menu, table)).to_dict(), rates_of(emulate(menu, catalogue)).to_dict())
        assert alike(table.by_half().weight, scores.by_half().weight)
    write_scores(file, event_table(menu, catalogue, fired="J or MU"), "1.0")
    with pytest.raises(TrigemuError, match="the table has only events that pass J or MU"):
        emulate(menu, read_scores(file, menu, catalogue))
    seeded = menu_from(tmp_path, f'{MENU}seed = "J"\n')
    with pytest.raises(
        TrigemuError, match="trigger 'MU': the table has only decisions that include its seed"
    ):
        emulate(seeded, event_table(seeded, catalogue))
    with pytest.raises(TrigemuError, match="the table has no events of 'a'"):
        emulate(menu, event_table(menu, catalogue, samples=["b", "s"]))


def rewritten(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    held = pq.read_metadata(file).metadata
    kept = {key: held[key] for key in (PARQUET_ABOUT, SUMS, DIGEST)}
    pq.write_table(change(pq.read_table(file).replace_schema_metadata(kept)), file)


def about(change: Callable[[dict[str, Any]], None]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        metadata = table.schema.metadata
        held = json.loads(metadata[PARQUET_ABOUT])
        change(held)
        text = json.dumps(held).encode()
        digest = hashlib.sha256(text + metadata[SUMS]).hexdigest().encode()
        return table.replace_schema_metadata({**metadata, PARQUET_ABOUT: text, DIGEST: digest})

    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace_schema_metadata({}), "it is not a score table; trigemu scores makes one"),
        (
            lambda t: t.replace_schema_metadata({**t.schema.metadata, PARQUET_ABOUT: b"{"}),
            "its metadata are damaged: make the table again",
        ),
        (about(lambda m: m.update(format=3)), "format = 3, expected 5"),
        (about(lambda m: m["contents"].pop("b")), "it was made without the sample 'b'"),
        (about(lambda m: m["contents"].update(c="0")), "it was made from a sample 'c' that differs"),
        (about(lambda m: m["contents"].update(a="0")), "it was made from a sample 'a' that differs"),
        (lambda t: t.slice(1), "it includes 299 events of samples with 300: make the table again"),
    ],
)
def test_other_files_end_with_a_message(
    menu: Menu, catalogue: Catalogue, file: Path, change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    rewritten(file, change)
    with pytest.raises(TrigemuError, match=message) as raised:
        read_scores(file, menu, catalogue)
    assert str(raised.value).startswith(str(file))


def test_every_flipped_bit_is_noticed_or_harmless(
    menu: Menu, catalogue: Catalogue, scores: EventTable, file: Path
) -> None:
    whole, expected = file.read_bytes(), rates_of(emulate(menu, scores)).to_dict()
    for position in range(0, len(whole), 97):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        try:
            back = read_scores(file, menu, catalogue)
        except TrigemuError:
            continue
        assert rates_of(emulate(menu, back)).to_dict() == expected


def test_what_is_no_whole_file_of_these_samples_is_refused(
    menu: Menu, catalogue: Catalogue, file: Path, tmp_path: Path
) -> None:
    whole, samples = file.read_bytes(), {"a": toy_events(1, 201), "b": toy_events(2, 60)}
    other = memory_catalogue(samples, signals={"s": toy_events(3, 40)})
    with pytest.raises(TrigemuError, match="made from a sample 'a' that differs from that of toy"):
        read_scores(file, menu, other)
    for cut in (0, 3, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(TrigemuError, match="cannot be read as a score table"):
            read_scores(file, menu, catalogue)
    file.write_bytes(whole[:200] + b"damaged" + whole[207:])  # in a page of numbers
    with pytest.raises(TrigemuError):
        read_scores(file, menu, catalogue)
    with pytest.raises(TrigemuError, match="cannot be read"):
        read_scores(file.with_name("none.parquet"), menu, catalogue)


def test_infinite_scores_are_in_no_table(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = menu_from(tmp_path, MENU.replace('"jet[0].pt"', '"jet[0].pt * 1e200 * 1e200"', 1))
    scores = score_table(menu, catalogue, vary={"J": (20, 60), "J_PS": (20, 40)})
    with pytest.raises(TrigemuError, match=r"sample 'a', event .*: the score of a trigger .* is infinite"):
        _ = scores.table
