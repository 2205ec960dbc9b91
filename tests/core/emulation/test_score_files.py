"""Files of scores: what other libraries and trigemu read, and files that are damaged."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toys import memory_catalogue, menu_from, toy_events

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
from trigemu.emulation.scores import Scores
from trigemu.emulation.table_files import DIGEST, KEY, write_events

MENU = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
unit = "GeV"

[[trigger]]
name = "J_PS"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
prescale = 7

[[trigger]]
name = "MU"
kind = "combination"
legs = [{ object = "muon" }]
"""


@pytest.fixture(scope="module")
def menu(tmp_path_factory: pytest.TempPathFactory) -> Menu:
    return menu_from(tmp_path_factory.mktemp("menu"), MENU)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    samples = {"a": toy_events(1, 200), "b": [e | {"parent": 5} for e in toy_events(2, 60)]}
    return memory_catalogue(samples, signals={"s": toy_events(3, 40)})


@pytest.fixture(scope="module")
def scores(menu: Menu, catalogue: Catalogue) -> Scores:
    return score_table(menu, catalogue, vary={"J": (20, 60), "J_PS": (20, 40)}, signals="s")


@pytest.fixture
def file(tmp_path: Path, scores: Scores) -> Path:
    path = tmp_path / "scores.parquet"
    write_scores(path, scores, "1.0")
    return path


def test_what_is_read_back_gives_the_same_rates(
    menu: Menu, catalogue: Catalogue, scores: Scores, file: Path
) -> None:
    back = read_scores(file, menu, catalogue)
    found, expected = rates_of(emulate(menu, back)), rates_of(emulate(menu, scores))
    assert found.to_dict() == expected.to_dict()
    assert back.threshold_ranges == scores.threshold_ranges
    assert back.stored == scores.stored
    assert back.made_with == scores.made_with
    for found, expected in ((back.table, scores.table), (back.signals["s"], scores.signals["s"])):
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            assert found[name].dtype == values.dtype
            np.testing.assert_array_equal(found[name], values)


def test_pandas_and_awkward_read_it(scores: Scores, file: Path) -> None:
    frame, array = pd.read_parquet(file), ak.from_parquet(file)
    names = ["sample", "id", "parent", "half", "weight", "stratum", "score_J", "fired_MU"]
    assert [*frame] == ak.fields(array) == names
    assert len(frame) == len(array) == len(scores.table["id"]) + 40
    background = frame[frame["sample"] != "s"]
    np.testing.assert_array_equal(background["score_J"], scores.table["score_J"])
    np.testing.assert_array_equal(ak.to_numpy(array["score_J"]), frame["score_J"])
    assert background["fired_MU"].tolist() == scores.table["fired_MU"].tolist()
    schema = pq.read_schema(file)
    said = {name: schema.field(name).metadata for name in names}
    assert said["weight"][b"unit"] == b"Hz"
    assert said["score_J"] == {
        b"unit": b"GeV",
        b"description": "score of J, J_PS; −inf where it is not above 20".encode(),
    }
    assert said["fired_MU"][b"description"] == b"decision of MU, before prescale and seed"


def rewritten(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    held = pq.read_metadata(file).metadata
    table = pq.read_table(file).replace_schema_metadata({key: held[key] for key in (KEY, DIGEST)})
    pq.write_table(change(table), file)


def about(change: Callable[[dict[str, Any]], None]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        held = json.loads(table.schema.metadata[KEY])
        change(held)
        text = json.dumps(held).encode()
        digest = hashlib.sha256(text).hexdigest().encode()
        return table.replace_schema_metadata({KEY: text, DIGEST: digest})

    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace_schema_metadata({}), "it is not a score table; trigemu scores makes one"),
        (
            lambda t: t.replace_schema_metadata({**t.schema.metadata, KEY: b"{"}),
            "its metadata are damaged: make the table again",
        ),
        (
            lambda t: t.replace_schema_metadata({KEY: b'{"format": 3}'}),
            "it has the format of an earlier version: make the table again",
        ),
        (about(lambda m: m.update(format=3)), "format = 3, expected 4"),
        (about(lambda m: m["background"].pop("b")), "it was made without the sample 'b'"),
        (about(lambda m: m["background"].update(c="0")), "it was made from a sample 'c' that differs"),
        (about(lambda m: m["background"].update(a="0")), "it was made from a sample 'a' that differs"),
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


def test_a_table_of_events_is_no_score_table(menu: Menu, catalogue: Catalogue, tmp_path: Path) -> None:
    write_events(tmp_path / "events.parquet", event_table(menu, catalogue), "1.0", lambda n: None)
    with pytest.raises(TrigemuError, match="it is not a score table; trigemu scores makes one"):
        read_scores(tmp_path / "events.parquet", menu, catalogue)


def test_every_flipped_bit_is_noticed_or_harmless(
    menu: Menu, catalogue: Catalogue, scores: Scores, file: Path
) -> None:
    whole, expected = file.read_bytes(), rates_of(emulate(menu, scores)).to_dict()
    for position in range(0, len(whole), 97):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        try:
            back = read_scores(file, menu, catalogue)
        except TrigemuError:
            continue
        assert rates_of(emulate(menu, back)).to_dict() == expected


def test_half_written_files_are_refused(menu: Menu, catalogue: Catalogue, file: Path) -> None:
    whole = file.read_bytes()
    for cut in (0, 3, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(TrigemuError, match="cannot be read as a score table"):
            read_scores(file, menu, catalogue)
    spoilt = bytearray(whole)
    spoilt[len(whole) // 4] ^= 0xFF
    file.write_bytes(spoilt)
    with pytest.raises(TrigemuError):
        read_scores(file, menu, catalogue)
    with pytest.raises(TrigemuError, match="cannot be read"):
        read_scores(file.with_name("none.parquet"), menu, catalogue)


def test_another_sample_of_the_same_name_is_refused(menu: Menu, file: Path) -> None:
    other = memory_catalogue(
        {"a": toy_events(1, 201), "b": toy_events(2, 60)}, signals={"s": toy_events(3, 40)}
    )
    with pytest.raises(TrigemuError, match="made from a sample 'a' that differs from that of toy"):
        read_scores(file, menu, other)


def test_a_failure_leaves_no_file(tmp_path: Path, scores: Scores) -> None:
    with pytest.raises(TrigemuError):
        write_scores(tmp_path / "none" / "scores.parquet", scores, "1.0")
    assert not (tmp_path / "none").exists()


def test_a_pipe_is_not_waited_for(menu: Menu, catalogue: Catalogue, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TrigemuError, match="pipe is a pipe, not a file"):
        read_scores(tmp_path / "pipe", menu, catalogue)


def test_infinite_scores_are_in_no_table(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = menu_from(tmp_path, MENU.replace('"jet[0].pt"', '"jet[0].pt * 1e200 * 1e200"', 1))
    scores = score_table(menu, catalogue, vary={"J": (20, 60), "J_PS": (20, 40)})
    with pytest.raises(TrigemuError, match=r"sample 'a', event .*: the score of a trigger .* is infinite"):
        _ = scores.table
