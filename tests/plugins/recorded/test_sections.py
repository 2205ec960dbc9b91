"""Masks against coffea, tables of sections against loops, and mistakes in both kinds of files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from coffea.lumi_tools import LumiMask as Coffea
from hypothesis import HealthCheck, given, settings, strategies as st
from trigemu_recorded.sections import SECTION_S, LumiMask, Sections

from trigemu.base.errors import TrigemuError

RUNS = st.integers(1, 6)
#: Ranges of a run that do not overlap: coffea assumes it.
ENDS = st.lists(st.integers(1, 40), min_size=2, max_size=10, unique=True).map(sorted)
RANGES = ENDS.map(lambda ends: [ends[i : i + 2] for i in range(0, len(ends) - 1, 2)])
EVENTS = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 45)), max_size=60)


def columns(events: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    run, section = np.array(events, np.uint32).reshape(-1, 2).T
    return np.ascontiguousarray(run), np.ascontiguousarray(section)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=st.dictionaries(RUNS.map(str), RANGES, min_size=1, max_size=5), events=EVENTS)
def test_masks_agree_with_coffea(tmp_path: Path, runs: dict[str, list[list[int]]], events: list) -> None:
    file = tmp_path / "mask.json"
    file.write_text(json.dumps(runs))
    run, section = columns(events)
    np.testing.assert_array_equal(LumiMask.read(file)(run, section), Coffea(str(file))(run, section))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ranges=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=8), events=EVENTS
)
def test_ranges_of_a_mask_may_overlap(tmp_path: Path, ranges: list, events: list) -> None:
    file = tmp_path / "mask.json"
    file.write_text(json.dumps({"3": [[first, first + length] for first, length in ranges]}))
    expected = [r == 3 and any(a <= s <= a + n for a, n in ranges) for r, s in events]
    assert LumiMask.read(file)(*columns(events)).tolist() == expected


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.sets(st.tuples(RUNS, st.integers(1, 40)), min_size=1), events=EVENTS)
def test_sections_are_found(tmp_path: Path, table: set[tuple[int, int]], events: list) -> None:
    file = tmp_path / "sections.csv"
    file.write_text("run,section,live_s\n" + "".join(f"{r},{s},{r + s / 64}\n" for r, s in table))
    sections = Sections.read(file)
    assert [*zip(sections.run, sections.section, strict=True)] == sorted(table)
    np.testing.assert_array_equal(sections.live_s, sections.run + sections.section / 64)
    row_of = {key: row for row, key in enumerate(sorted(table))}
    assert sections.index(*columns(events)).tolist() == [row_of.get(event, -1) for event in events]


BRILCALC = """\
#Data tag : 22v1 , Norm tag: normtag_BRIL
#run:fill,ls,time,beamstatus,E(GeV),delivered({unit}),recorded({unit}),avgpu,source
273158:4915,2:2,05/11/16 19:00:23,STABLE BEAMS,6500,20000.0,19000.0,17.5,PXL
273158:4915,1:1,05/11/16 19:00:00,STABLE BEAMS,6500,20000.0,10000.0,17.0,PXL
273158:4915,3:0,05/11/16 19:00:46,STABLE BEAMS,6500,0.0,0.0,0.0,PXL
#Summary:
#nfill,nrun,nls,ncms,totdelivered({unit}),totrecorded({unit})
#1,1,3,3,40000.0,29000.0
"""


@pytest.mark.parametrize(("unit", "in_pb"), [("/ub", 1e-6), ("/nb", 1e-3), ("/pb", 1.0), ("/fb", 1e3)])
def test_tables_of_brilcalc(tmp_path: Path, unit: str, in_pb: float) -> None:
    """Live time is the fraction of the delivered luminosity that was recorded, of 2¹⁸ orbits."""
    (file := tmp_path / "lumi.csv").write_text(BRILCALC.format(unit=unit))
    sections = Sections.read(file)
    assert sections.section.tolist() == [1, 2, 3]
    np.testing.assert_allclose(sections.live_s, np.array([0.5, 0.95, 0.0]) * SECTION_S)
    np.testing.assert_allclose(sections.luminosity, np.array([10000.0, 19000.0, 0.0]) * in_pb)
    assert sections.pileup.tolist() == [17.0, 17.5, 0.0]
    assert 23.31 < SECTION_S < 23.32


MASKS = [
    ("", "it is not JSON"),
    ('{"1": [[1, 2]', "it is not JSON"),
    ("[" * 10**5, "it is not JSON"),
    ("[[1, 2]]", "expected {"),
    ("5", "expected {"),
    ("{}", "certifies no section"),
    ('{"1": []}', "certifies no section"),
    ('{\n"1": [[1, 5]],\n"2": [[9, 5]]}', r":3: run 2: \[9, 5\] ends before it begins"),
    ('{"1": [[1]]}', "run 1: .*length 2, got 1"),
    ('{"1": [[0, 5]]}', "run 1: .*>= 1"),
    ('{"1": [[1, 2.5]]}', "run 1: .*`int`, got `float`"),
    ('{"1": [[true, 5]]}', "run 1: .*`int`, got `bool`"),
    ('{"1": 5}', "run 1: Expected `array`, got `int`.*; expected {"),
    ('{"1": {"a": 5}}', "run 1: Expected"),
    ('{"run": [[1, 5]]}', "run run: expected {"),
    ('{"99999999999": [[1, 5]]}', "run 99999999999: expected {"),
]
TABLES = [
    ("", "it has no heading"),
    ("a,b\n1,2\n", "it has no heading"),
    ("run,live_s\n1,2\n", "it has no heading"),
    ("run,section,live_s\n", "it has no sections"),
    ("run,section,live_s\n1,1,-23\n", ":2: live_s = '-23': expected a number of at least 0"),
    ("run,section,live_s\n1,1,long\n", ":2: live_s = 'long'"),
    ("run,section,live_s\n1,1,nan\n", ":2: live_s = 'nan'"),
    ("run,section,live_s\n1,1.5,2\n", ":2: run 1, section 1.5: expected integers"),
    ("run,section,live_s\n1,1,2\n1,2\n", ":3: 2 fields, its heading has 3"),
    ("run,section,live_s\n1,1,2\n1,1,3\n", ":3: section 1 of run 1 is there twice"),
    ("run,section,luminosity(hz/ub)\n1,1,2\n", ":1: luminosity in hz/ub: expected one of /mb"),
    ("run,ls,delivered(/ub),recorded(/nb)\n1,1,2,1\n", "expected one of"),
    ("run,ls,delivered(/ub),recorded(/ub)\n1,1,2,3\n", ":2: recorded 3 is more than delivered 2"),
]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [*((LumiMask.read, *case) for case in MASKS), *((Sections.read, *case) for case in TABLES)],
)
def test_mistakes_in_files(tmp_path: Path, read: Callable[[Path], object], text: str, message: str) -> None:
    (file := tmp_path / "file").write_text(text)
    with pytest.raises(TrigemuError, match=message) as error:
        read(file)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("read", [LumiMask.read, Sections.read])
def test_files_that_cannot_be_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(TrigemuError, match=r"cannot read .*none: No such file"):
        read(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TrigemuError, match="not text in UTF-8"):
        read(tmp_path / "binary")
