"""Stored decisions as triggers: those that the format reads, in batches and streams, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from l1_toys import jet, vector_line
from real_data import real_file
from toys import menu_from

from trigemu import compare, decisions, make_plan, run
from trigemu.emulation.plan import decide
from trigemu.samples import Catalogue, SampleError, catalogue_of, samples_of, with_decisions
from trigemu.support.errors import TrigemuError
from trigemu_latency.stream.stream import Stream
from trigemu_validation.decisions import check_decisions

#: pT of the leading jet as the hardware has it, and the stored decision "3", of a trigger above 20 GeV, which
#: is wrong in crossing 2.
CROSSINGS = [(30, False), (41, True), (44, False), (90, True), (0, False), (77, True)]
EMULATED = """
[[trigger]]
name = "J20"
stored = "3"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
"""


def stored(*names: str) -> str:
    """A menu of stored decisions."""
    return "".join(
        f"[[trigger]]\nname = \"stored{n}\"\nkind = 'stored'\ndecision = '{name}'\n"
        for n, name in enumerate(names)
    )


@pytest.fixture
def vector(tmp_path: Path) -> Catalogue:
    lines = [vector_line(i, jets=[jet(pt)], algorithms=on << 3) for i, (pt, on) in enumerate(CROSSINGS)]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    return catalogue_of(tmp_path / "v.txt")


def agrees(folder: Path, catalogue: Catalogue, names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Batches and streams give what the format reads, bool[n, names], which is returned."""
    plan = make_plan([menu_from(folder, stored(*names))])
    (sample,) = catalogue.samples
    (file,) = sample.sources
    plan.check(sample)
    events = sample.read(0, 0, sample.entries, plan.needs, plan.margin)
    read = file.read_stored(0, sample.entries, names)
    expected = np.column_stack([read[name] for name in names])
    words = decide(events, plan)
    np.testing.assert_array_equal(words[:, 0], expected @ (1 << np.arange(len(names))))
    np.testing.assert_array_equal(Stream(plan, events).decide_many(0, len(events)), words)
    return expected


def test_a_vector(tmp_path: Path, vector: Catalogue) -> None:
    found = agrees(tmp_path, vector, ("3", "511"))
    assert found.tolist() == [[on, False] for _, on in CROSSINGS]


def test_parquet(tmp_path: Path) -> None:
    columns = {"HLT_A": [1, 0, 2], "L1_B": [False, True, True], "fired": [True, True, False]}
    (tmp_path / "p").mkdir()
    pq.write_table(pa.table({**columns, "met": [1.0, 2.0, 3.0]}), tmp_path / "p" / "a.parquet")
    found = agrees(tmp_path, catalogue_of(tmp_path / "p"), tuple(columns))
    assert found.T.tolist() == [[bool(value) for value in column] for column in columns.values()]


def test_events_in_memory(tmp_path: Path) -> None:
    """Both as a sample, and as they are."""
    array = ak.Array({"L1_A": [True, False, True], "n": [0, 2, 1], "met": [1.0, 2.0, 3.0]})
    found = agrees(tmp_path, samples_of(array), ("L1_A", "n"))
    assert found.T.tolist() == [[True, False, True], [False, True, True]]
    menu = menu_from(tmp_path, stored("L1_A", "n"))
    fired = decisions(menu, array)
    assert [column.tolist() for column in fired.values()] == found.T.tolist()
    with pytest.raises(SampleError, match="has no stored decision 'met'"):
        decisions(menu_from(tmp_path, stored("met")), array)


@pytest.mark.parametrize(
    ("file", "some"),
    [
        (("root", "nano_dy.root"), 20),
        (("root", "uproot-physlite-rntuple_v1-0-0-0.root"), 1),
        (("cms_l1", "TestVector_L1Menu_Collisions2025_v1_0_0_data.txt.xz"), 20),
    ],
)
def test_recorded_files(tmp_path: Path, file: tuple[str, ...], some: int) -> None:
    catalogue = catalogue_of(real_file(*file))
    names = sorted(catalogue.samples[0].stored)
    chosen = tuple(names[:: max(1, len(names) // 60)][:60])
    assert agrees(tmp_path, catalogue, chosen).any(axis=0).sum() >= some


def test_recorded_and_emulated_are_compared(tmp_path: Path, vector: Catalogue) -> None:
    """Rates and overlap by hand: of six crossings of equal weight."""
    weight = 40e6 / len(CROSSINGS)
    both = [pt > 40 and on for pt, on in CROSSINGS]
    result = run(menu_from(tmp_path, EMULATED + stored("3")), vector)
    assert result["J20"].total.hz == pytest.approx(4 * weight)
    assert result["stored0"].total.hz == pytest.approx(3 * weight)
    assert result["J20"].unique.hz == pytest.approx(weight)
    assert result.overlap[0, 1] == pytest.approx(sum(both) * weight)
    recorded = menu_from(tmp_path, '[menu]\nname = "recorded"\n' + stored("3"))
    emulated = menu_from(tmp_path, '[menu]\nname = "emulated"\n' + EMULATED)
    change = compare([recorded, emulated], vector)
    assert "stored0" in str(change)
    assert run(recorded, vector).rate.hz == pytest.approx(3 * weight)


def test_decisions_of_another_file(tmp_path: Path, vector: Catalogue) -> None:
    """Where they are given apart from the events, these are meant."""
    pq.write_table(pa.table({"S": [i == 2 for i in range(6)]}), tmp_path / "d.parquet")
    catalogue = with_decisions(vector, tmp_path / "d.parquet")
    assert decisions(menu_from(tmp_path, stored("S")), catalogue)["stored0"].tolist() == [
        i == 2 for i in range(6)
    ]
    named = stored("S").replace("[[trigger]]", '[[trigger]]\nstored = "S"')
    assert check_decisions(menu_from(tmp_path, named), catalogue).differ == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("512", r"menu.*:1: trigger 'stored0': sample 'v' has no stored decision '512'; did you mean"),
        ("jet", r"has no stored decision 'jet' \(known: 0, 1, 10"),
    ],
)
def test_a_decision_that_is_not_stored(tmp_path: Path, vector: Catalogue, name: str, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        run(menu_from(tmp_path, stored(name)), vector)


def test_a_sample_without_any(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match="sample 'soft' has no stored decision 'L1_A'; it stores none"):
        run(menu_from(tmp_path, stored("L1_A")))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("decision = ''", "decision = '': expected the name of a stored decision"),
        ("decision = 3", "decision = 3: expected a string, got an integer"),
        ("", "decision"),
    ],
)
def test_mistakes(tmp_path: Path, keys: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        menu_from(tmp_path, f"[[trigger]]\nname = 'T'\nkind = 'stored'\n{keys}\n")
