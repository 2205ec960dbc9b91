"""What instructions work on: made once, laid out without gaps, and only what a float64 holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from stream_toys import OBJECTS, events_of, streamed
from toys import menu_from
from trigemu_latency import Stream
from trigemu_latency.stream import opcodes as do
from trigemu_latency.stream.program import Program, single

from trigemu import decide, make_plan


def test_what_is_equal_is_done_once(tmp_path: Path) -> None:
    """Four triggers on one selection, which begins with another; two sums of the same jets."""
    text = '[[trigger]]\nname = "T{}"\nkind = "threshold"\nobservable = "{}"\nabove = 10\n'
    observables = (
        "clean[0].pt",
        "clean[1].pt",
        "abs(clean[0].eta)",
        "m(clean[0], clean[1])",
        "mht",
        "phi(mht)",
    )
    heads = (text.format(number, observable) for number, observable in enumerate(observables))
    plan = make_plan([menu_from(tmp_path, OBJECTS + "".join(heads))])
    program = Program(events_of(1, 5))
    for bit, slot in enumerate(plan.slots):
        program.fire(bit, single(slot.compiled))
    done = Counter(instruction[0] for instruction in program._code)
    # clean, and hard that it is cleared of, of one collection each; pT, η, φ of two jets.
    expected = {do.CLEAR: 1, do.WINDOWS: 2, do.ALL: 2, do.ELEMENT: 6, do.MISSING: 1, do.PAIR_MASS: 1}
    assert {op: done[op] for op in expected} == expected
    assert done[do.FIRE] == len(observables)


@pytest.mark.parametrize("window", [f"any_of = [{2**53 + 1}]", "bits = 1"])
def test_integers_that_are_not_floats(tmp_path: Path, window: str) -> None:
    """2⁵³ and 2⁵³ + 1 are the same float64: such a window is left to the batch, which distinguishes them."""
    leg = f'{{ object = "jet", quality = {{ {window} }} }}'
    text = f'[[trigger]]\nname = "T"\nkind = "combination"\nlegs = [{leg}]\n'
    events, plan = events_of(5, 40), make_plan([menu_from(tmp_path, text)])
    quality = events.collections["jet"].columns["quality"]
    quality[::2], quality[1::2] = 2**53, 2**53 + 1
    words = decide(events, plan)
    assert 0 < words.sum() < len(events)
    np.testing.assert_array_equal(streamed(plan, events), words)


def test_alternatives_bits_and_scaled_columns_need_no_batch(tmp_path: Path) -> None:
    some = '{ object = "some", other_pt = { min = 15 }, crossing = 1 }'
    legs = f'[{some}, {{ object = "jet", quality = {{ bits = 2 }} }}]'
    text = f'[[trigger]]\nname = "T"\nkind = "combination"\nlegs = {legs}\n'
    events, plan = events_of(5, 200), make_plan([menu_from(tmp_path, OBJECTS + text)])
    words = decide(events, plan)
    assert 0 < words.sum() < len(events)
    assert Stream(plan, events)._unsupported == []
    np.testing.assert_array_equal(streamed(plan, events), words)
