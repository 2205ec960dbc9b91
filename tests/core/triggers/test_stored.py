"""Stored decisions as triggers, those that the format reads, in every format; and bits of words, one a
crossing, against Python's own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from real_data import real_file
from toys import menu_from, trigger

from trigemu import Events, decisions, make_events, make_plan, run
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.emulation.plan import decide
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import samples_of
from trigemu.samples.opening import catalogue_of

#: Missing ET, and the stored decision "L1_M", of a trigger above 20 GeV, which is wrong in
#: crossing 2.
CROSSINGS = [(15.0, False), (20.5, True), (22.0, False), (45.0, True), (0.0, False), (38.5, True)]


def stored(*names: str) -> str:
    """A menu of stored decisions."""
    return "".join(trigger(f"stored{n}", "stored", f"decision = '{name}'") for n, name in enumerate(names))


@pytest.fixture
def recorded(tmp_path: Path) -> Catalogue:
    met, fired = zip(*CROSSINGS, strict=True)
    return catalogue_of(write(tmp_path / "r.root", MET_pt=met, L1_M=fired))


def write(file: Path, **columns: Sequence[float] | Sequence[bool]) -> Path:
    with uproot.recreate(file) as root:
        root["Events"] = {name: np.array(values) for name, values in columns.items()}
    return file


def agrees(folder: Path, catalogue: Catalogue, names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Triggers give what the format reads, bool[n, names], which is returned."""
    plan = make_plan([menu_from(folder, stored(*names))])
    (sample,) = catalogue.samples
    (file,) = sample.sources
    plan.check(sample)
    events = sample.read(0, 0, sample.entries, plan.needs, plan.margin)
    read = file.read_stored(0, sample.entries, names)
    expected = np.column_stack([read[name] for name in names])
    words = decide(events, plan)
    np.testing.assert_array_equal(words[:, 0], expected @ (1 << np.arange(len(names))))
    return expected


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


def test_a_recorded_file(tmp_path: Path) -> None:
    catalogue = catalogue_of(real_file("root", "nano_dy.root"))
    names = sorted(catalogue.samples[0].stored)
    chosen = tuple(names[:: max(1, len(names) // 60)][:60])
    assert agrees(tmp_path, catalogue, chosen).any(axis=0).sum() >= 20


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("L1_N", r"menu.*:1: trigger 'stored0': sample 'r' has no stored decision 'L1_N'; did you mean"),
        ("met", r"has no stored decision 'met'"),
    ],
)
def test_a_decision_that_is_not_stored(tmp_path: Path, recorded: Catalogue, name: str, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        run(menu_from(tmp_path, stored(name)), recorded)


def test_a_sample_without_any(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"sample 'soft' .* has no stored decision 'L1_A'; it stores none"):
        run(menu_from(tmp_path, stored("L1_A")))


RNG = random.Random(4)
WORDS = [[RNG.getrandbits(64) for _ in range(40)] for _ in range(2)]


def word_events() -> Events:
    scalars = {f"external_{i}": np.array(words, np.uint64).view(np.int64) for i, words in enumerate(WORDS)}
    return make_events("toy", np.ones(40), {}, scalars | {"flags_0": np.arange(40, dtype=np.int32)})


def external(keys: str) -> str:
    return trigger("T", "external", keys)


@pytest.mark.parametrize("bit", [0, 31, 32, 63, 64, 100, 127])
@pytest.mark.parametrize("crossing", [-2, 0, 1])
def test_a_bit_of_a_crossing(tmp_path: Path, bit: int, crossing: int) -> None:
    plan = make_plan([menu_from(tmp_path, external(f"bit = {bit}\ncrossing = {crossing}"))])
    assert plan.margin == abs(crossing)
    assert set(plan.needs) == {("", f"external_{bit // 64}")}
    words = WORDS[bit // 64]
    expected = [0 <= i + crossing < 40 and words[i + crossing] >> (bit % 64) & 1 == 1 for i in range(40)]
    assert 0 < sum(expected) < 40
    assert (decide(word_events(), plan)[:, 0] == 1).tolist() == expected


def test_another_word(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, external('bit = 3\nword = "flags"'))])
    assert decide(word_events(), plan)[:, 0].tolist() == [i >> 3 & 1 for i in range(40)]


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("stored", "decision = ''", "decision = '': expected a string of length >= 1"),
        ("stored", "decision = 3", "decision = 3: expected a string, got an integer"),
        ("stored", "", "decision"),
        ("external", "bit = -1", "bit = -1: expected an integer >= 0"),
        ("external", "bit = 1\ncrossing = 3", "crossing = 3: expected an integer <= 2"),
        ("external", 'bit = 1\nword = ""', "word = '': expected a string of length >= 1"),
    ],
)
def test_mistakes(tmp_path: Path, kind: str, keys: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        menu_from(tmp_path, trigger("T", kind, keys))


def test_a_sample_without_such_words(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, external("bit = 200"))])
    with pytest.raises(SampleError, match=r"has no 'external_3'; did you mean 'external_[01]'"):
        decide(word_events(), plan)
