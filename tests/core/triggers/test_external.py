"""Bits of words, one a crossing, against Python's own."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from toys import menu_from

from trigemu import Events, make_events, make_plan
from trigemu.base.errors import SampleError
from trigemu.emulation.plan import decide

RNG = random.Random(4)
WORDS = [[RNG.getrandbits(64) for _ in range(40)] for _ in range(2)]


def events() -> Events:
    scalars = {f"external_{i}": np.array(words, np.uint64).view(np.int64) for i, words in enumerate(WORDS)}
    return make_events("toy", np.ones(40), {}, scalars | {"flags_0": np.arange(40, dtype=np.int32)})


def trigger(keys: str) -> str:
    return f'[[trigger]]\nname = "T"\nkind = "external"\n{keys}\n'


@pytest.mark.parametrize("bit", [0, 31, 32, 63, 64, 100, 127])
@pytest.mark.parametrize("crossing", [-2, 0, 1])
def test_a_bit_of_a_crossing(tmp_path: Path, bit: int, crossing: int) -> None:
    plan = make_plan([menu_from(tmp_path, trigger(f"bit = {bit}\ncrossing = {crossing}"))])
    assert plan.margin == abs(crossing)
    assert set(plan.needs) == {("", f"external_{bit // 64}")}
    words = WORDS[bit // 64]
    expected = [0 <= i + crossing < 40 and words[i + crossing] >> (bit % 64) & 1 == 1 for i in range(40)]
    assert 0 < sum(expected) < 40
    assert (decide(events(), plan)[:, 0] == 1).tolist() == expected


def test_another_word(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, trigger('bit = 3\nword = "flags"'))])
    assert decide(events(), plan)[:, 0].tolist() == [i >> 3 & 1 for i in range(40)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("bit = -1", "bit = -1: expected an integer >= 0"),
        ("bit = 1\ncrossing = 3", "crossing = 3: expected an integer <= 2"),
        ('bit = 1\nword = ""', "word = '': expected a string of length >= 1"),
    ],
)
def test_mistakes(tmp_path: Path, keys: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        menu_from(tmp_path, trigger(keys))


def test_a_sample_without_such_words(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, trigger("bit = 200"))])
    with pytest.raises(SampleError, match=r"has no 'external_3'; did you mean 'external_[01]'"):
        decide(events(), plan)
