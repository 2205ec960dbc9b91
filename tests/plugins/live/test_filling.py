"""Filling schemes: positions in trains, rates, descriptions; files and texts, and their mistakes."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from trigemu_live import Filling, every_slot, read_filling, spread
from trigemu_live.filling import ORBIT, ORBIT_HZ, slots_of_pattern

from trigemu import TrigemuError

#: What the filling scheme tool of the LHC programme writes, shortened.
LPC = """INJECTION SCHEME : test
Collisions at IP1&5: 2

HEAD ON COLLISIONS FOR B1
B1 bucket number,IP1,IP2,IP5,IP8
1,1,-,1,-
11,-,8921,-,-
35631,35631,-,35631,-

HEAD ON COLLISIONS FOR B2
B2 bucket number,IP1,IP2,IP5,IP8
1,1,-,1,-
21,-,-,-,-
"""
BEAMS = "Scheme name,test\nB1 filled buckets,1,11,21\nB2 filled buckets,11,21,31\n"


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_file_may_be_called_like_a_pattern(tmp_path: Path) -> None:
    assert read_filling(written(tmp_path, "8b4e.csv", LPC)).slots.tolist() == [0, 3563]
    with chdir(tmp_path):
        assert read_filling("8b4e.csv").slots.tolist() == [0, 3563]
    with pytest.raises(TrigemuError, match=r"cannot read 8b4e_1972b\.csv"):
        read_filling("8b4e_1972b.csv")


def test_buckets_of_both_beams(tmp_path: Path) -> None:
    assert read_filling(written(tmp_path, "a.csv", BEAMS)).slots.tolist() == [1, 2]


@pytest.mark.parametrize(("point", "slots"), [("", [0, 3563]), ("@IP5", [0, 3563]), ("@IP2", [1])])
def test_the_tables_of_an_interaction_point(tmp_path: Path, point: str, slots: list[int]) -> None:
    filling = read_filling(f"{written(tmp_path, 'a.csv', LPC)}{point}")
    assert (filling.name, filling.slots.tolist()) == (f"a{point}", slots)
    with pytest.raises(TrigemuError, match="there are no colliding bunches in IP8"):
        read_filling(f"{tmp_path}/a.csv@IP8")


@pytest.mark.parametrize("key", ["beam", "schemebeam"])
def test_beams_as_json(tmp_path: Path, key: str) -> None:
    """A bunch of beam 1 meets that of beam 2 in the same slot in IP 1 and 5, 891 slots later in IP 2, 2670 in
    IP 8; also past the end of the orbit."""
    beams = {f"{key}1": [0, 5, 3000], f"{key}2": [5, 891, 3000 + 891 - 3564, 2670]}
    text = json.dumps({name: [int(slot in slots) for slot in range(3564)] for name, slots in beams.items()})
    path = written(tmp_path, "a.json", text)
    found = {point: read_filling(f"{path}{point}").slots.tolist() for point in ("", "@IP1", "@IP2", "@IP8")}
    assert found == {"": [5], "@IP1": [5], "@IP2": [0, 3000], "@IP8": [0]}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=25))
def test_patterns_are_their_runs(runs: list[tuple[int, int]]) -> None:
    bits = [bit for b, e in runs for bit in [True] * b + [False] * e]
    text = " ".join(f"{b}b {e}e" for b, e in runs)
    if any(bits):
        assert slots_of_pattern(text).tolist() == np.flatnonzero(bits).tolist()


def test_patterns_repeat() -> None:
    assert slots_of_pattern("2(3(2b 1e)4e)1b").tolist() == [0, 1, 3, 4, 6, 7, 13, 14, 16, 17, 19, 20, 26]
    assert len(slots_of_pattern("39(72b 8e)")) == 39 * 72


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3565b", "it has 3565 slots, an orbit 3564"),
        ("72b 3493e", "it has 3565 slots"),
        ("45(72b 8e)", "it has 3600 slots"),
        ("3564b 3(2(1b 1e) 99999e)", "it has 99999 slots"),
        ("99999(99999(1b))", "it has 99999 slots"),
        ("²b", "expected a file"),
        ("٣b 1e", "expected a file"),
        ("3(72b", "a bracket is not closed"),
        ("72b)", r"at '\)': expected 72b, 8e or 39\(72b 8e\)"),
        ("72b 8x", "at '8x'"),
        ("8e", "no bunch"),
        ("lhc-2018", "did you mean 'lhc-2018-2544'"),
    ],
)
def test_texts_with_mistakes(text: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        read_filling(text)


@pytest.mark.parametrize(("name", "text", "message"), [
    ("a.csv", "a,b\n1,2\n", "there are no colliding bunches"),
    ("a.csv", LPC.replace("35631,35631", "35641,35641"),
     r"a.csv:8: bucket 35641: .* an orbit has 3564 slots"),
    ("a.csv", LPC.replace("11,-,8921", "²,11,8921"), "a.csv:7: bucket ²: expected 1, 11, 21"),
    ("a.csv", LPC.replace("1,1,-,1,-", "1,²,-,1,-", 1), "a.csv:6: bucket ²: expected 1, 11, 21"),
    ("a.csv", BEAMS.replace("1,11,21", "1,٣1"), "a.csv:2: bucket ٣1: expected 1, 11, 21"),
    ("a.csv", BEAMS.replace("1,11,21", "1,12"), "a.csv:2: bucket 12: expected 1, 11, 21"),
    ("a.json", "{", r"a.json: .*: expected beam1 and beam2, each with a 0 or a 1 for each of 3564 slots"),
    ("a.json", '{"beam1": [1], "beam2": [1]}', "of length >= 3564"),
    ("a.json", '{"beam1": 3}', "expected beam1 and beam2"),
    ("a.toml", "[filling]\ntrains = [[1, 48], [40, 90]]", r"a.toml:2: .* overlaps the train before it"),
    ("a.toml", "[filling]\ntrains = [[1, 3565]]", "from 1 to 3564"),
    ("a.toml", "[filling]\nname = 'x'", "the key 'trains' is missing"),
    ("a.toml", "[filling]\ntrains = []", "expected a train"),
    ("a.toml", "[fillings]\n", "known: filling"),
    ("none.csv", None, "none.csv"),
])  # fmt: skip
def test_files_with_mistakes(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(TrigemuError, match=message):
        read_filling(path)


@given(st.sets(st.integers(0, ORBIT - 1), min_size=1))
def test_positions_count_the_bunches_before(slots: set[int]) -> None:
    filling = Filling("", np.array(sorted(slots)))
    expected = []
    for slot in sorted(slots):
        before = 0
        while (slot - 1 - before) % ORBIT in slots and before < len(slots):
            before += 1
        expected.append(0 if before == len(slots) else before)
    assert filling.position.tolist() == expected


def test_a_full_orbit_has_no_trains() -> None:
    filling = every_slot(40e6)
    assert not filling.position.any()
    assert filling.crossing_rate_hz == pytest.approx(40e6)
    assert filling.description == "every slot filled"


@pytest.mark.parametrize("colliding", [1, 2, 2544, ORBIT])
def test_bunches_are_spread_evenly(colliding: int) -> None:
    filling = spread(colliding)
    gaps = np.diff(np.append(filling.slots, filling.slots[0] + ORBIT))
    assert len(filling.slots) == colliding
    assert np.ptp(gaps) <= 1
    assert filling.crossing_rate_hz == colliding * ORBIT_HZ
    with pytest.raises(TrigemuError, match="1 to 3564 slots"):
        spread(ORBIT + 1)


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("lhc-2018-2544", "2544 colliding bunches in 53 trains of up to 48"),
        ("lhc-2024-2340", "2340 colliding bunches in 65 trains of up to 36"),
        ("lhc-2748", "2748 colliding bunches in 39 trains of up to 72"),
        ("lhc-8b4e-1960", "1960 colliding bunches in 245 trains of up to 8"),
        ("3(1b 9e)", "3 colliding bunches, none beside another"),
        ("2b 3560e 2b", "4 colliding bunches in 1 train of up to 4"),
    ],
)
def test_descriptions(scheme: str, text: str) -> None:
    assert read_filling(scheme).description == text
