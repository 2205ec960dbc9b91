"""Files of scores: what other libraries and trigemu read, and files that are damaged."""

from __future__ import annotations

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

from trigemu import Catalogue, Menu, TrigemuError, rates_of, read_scores, score_table, write_scores
from trigemu.emulation.score_files import KEY
from trigemu.emulation.scores import Scores

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
    found, expected = rates_of(back.emulation()), rates_of(scores.emulation())
    assert found.to_dict() == expected.to_dict()
    assert back.threshold_ranges == scores.threshold_ranges
    assert back.stored == scores.stored
    assert back.made_with == scores.made_with
    for found, expected in ((back.table, scores.table), (back.signals["s"], scores.signals["s"])):
        for name in ("sample", "half", "stratum", "id", "parent", "weight", "scores", "words"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_pandas_and_awkward_read_it(scores: Scores, file: Path) -> None:
    frame, array = pd.read_parquet(file), ak.from_parquet(file)
    names = ["sample", "id", "parent", "half", "stratum", "weight", "score_J", "fired_MU"]
    assert [*frame] == ak.fields(array) == names
    assert len(frame) == len(array) == len(scores.table) + 40
    background = frame[frame["sample"] != "s"]
    np.testing.assert_array_equal(background["score_J"], scores.score("J"))
    np.testing.assert_array_equal(ak.to_numpy(array["score_J"]), frame["score_J"])
    assert background["fired_MU"].tolist() == (scores.table.words[:, 0] & 1 != 0).tolist()
    schema = pq.read_schema(file)
    said = {name: schema.field(name).metadata for name in names}
    assert said["weight"][b"unit"] == b"Hz"
    assert said["score_J"] == {
        b"unit": b"GeV",
        b"description": "score of J, J_PS; −inf where it is not above 20".encode(),
    }
    assert said["fired_MU"][b"description"] == b"decision of MU, before prescale and seed"


def rewritten(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    held = {KEY: pq.read_metadata(file).metadata[KEY]}
    pq.write_table(change(pq.read_table(file).replace_schema_metadata(held)), file)


def about(change: Callable[[dict[str, Any]], None]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        held = json.loads(table.schema.metadata[KEY])
        change(held)
        return table.replace_schema_metadata({KEY: json.dumps(held).encode()})

    return changed


def column(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, pa.array(values(table[name])))

    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace_schema_metadata({}), "it is not a score table; trigemu scores makes one"),
        (lambda t: t.replace_schema_metadata({KEY: b"{"}), "its metadata are damaged"),
        (lambda t: t.replace_schema_metadata({KEY: b"[" * 100_000}), "its metadata are damaged"),
        (about(lambda m: m.update(format=1)), "format = 1, expected 3"),
        (about(lambda m: m.update(columns=m["columns"][::-1])), "scores come before decisions"),
        (about(lambda m: m["background"].pop("b")), "it was made without the sample 'b'"),
        (about(lambda m: m["background"].update(c="0")), "it was made from a sample 'c' that differs"),
        (about(lambda m: m["background"].update(a="0")), "it was made from a sample 'a' that differs"),
        (
            about(lambda m: m["rest"][0].update(sample=9)),
            r"the sample is 9, expected one of \[0, 1, 2\]",
        ),
        (about(lambda m: m["rest"][0].update(largest=-1.0)), "the largest weight is -1, expected 0 or more"),
        (about(lambda m: m["rest"][0].update(weight=[2**80] * 43)), "its metadata are damaged"),
        (lambda t: t.drop_columns("score_J"), "the column 'score_J' is missing"),
        (lambda t: t.drop_columns("sample"), "the column 'sample' is missing"),
        (column("fired_MU", lambda c: np.zeros(len(c))), "the column 'fired_MU' is float64, expected bool"),
        (column("half", lambda c: np.full(len(c), 2, np.int8)), "the half is 2, expected 0 or 1"),
        (
            about(lambda m: m["offers"].update(J=[-1e308, 1e308])),
            "the range from -1e.308 .* is too wide",
        ),
        (
            about(lambda m: m["offers"].update(J=[60, 20])),
            "expected LOW ≤ HIGH, both finite, not 60 and",
        ),
        (about(lambda m: m["offers"].update(J=[10, 20])), "'J' has thresholds from 10, but scores"),
        (about(lambda m: m["columns"][0].update(name="weight")), "two columns are called 'weight'"),
        (about(lambda m: m["rest"][0].update(n=1)), "it includes .* events of sample"),
        (lambda t: t.append_column("id", t["id"]), "there are 2 columns 'id', expected one"),
        (lambda t: t.slice(1), "it includes 199 events of sample 'a', which has 200"),
        (lambda t: pa.concat_tables([t, t, t]), "but the samples of .* have 300"),
        (lambda t: t.set_column(0, "sample", pa.nulls(len(t))), "does not hold names of samples"),
        (column("id", lambda c: pa.array([None, *c.to_pylist()[1:]])), "'id' has 1 events without a value"),
        (column("score_J", lambda c: np.full(len(c), np.nan)), "the column 'score_J' is nan, expected a"),
        (column("score_J", lambda c: np.full(len(c), np.inf)), "the column 'score_J' is inf, expected a"),
        (column("score_J", lambda c: np.full(len(c), 20.0)), "'score_J' is 20, expected .* above 20"),
        (
            column("weight", lambda c: np.full(len(c), 1e300)),
            "'weight' is 1e.300, expected less",
        ),
        (column("weight", lambda c: np.full(len(c), np.nan)), "the column 'weight' is nan, expected less"),
    ],
)
def test_damaged_files_end_with_a_message(
    menu: Menu, catalogue: Catalogue, file: Path, change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    rewritten(file, change)
    with pytest.raises(TrigemuError, match=message) as raised:
        read_scores(file, menu, catalogue)
    assert str(raised.value).startswith(str(file))


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
    with pytest.raises(TrigemuError, match="pipe is not an ordinary file"):
        read_scores(tmp_path / "pipe", menu, catalogue)


def test_infinite_scores_are_in_no_table(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = menu_from(tmp_path, MENU.replace('"jet[0].pt"', '"jet[0].pt * 1e200 * 1e200"', 1))
    with pytest.raises(TrigemuError, match=r"sample 'a', event .*: the score of a trigger .* is infinite"):
        score_table(menu, catalogue, vary={"J": (20, 60), "J_PS": (20, 40)})
