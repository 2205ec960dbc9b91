"""Events that firmware is held against."""

from __future__ import annotations

import numpy as np
import pytest
from firmware_toys import toy
from tree_toys import fixed_walk, inputs
from trigemu_firmware import verify
from trigemu_firmware.verify import around, make_vectors


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("EVENTS", 400), ("AROUND", 50)):
        monkeypatch.setattr(verify, name, count)


@pytest.mark.parametrize(("sample", "taken"), [(100, 100), (900, 400)])
def test_there_are_enough_of_both(sample: int, taken: int) -> None:
    fixed, x = toy(), inputs(sample, seed=4) + np.float32(1000)
    result, of_sample = make_vectors(fixed, x)
    assert (len(result), of_sample) == (taken + 50, taken)
    rows = [row for row in result.x.tolist() if row[0] > 500]
    assert sorted(rows) == sorted(x[np.linspace(0, sample - 1, taken).astype(int)].tolist())


def test_words_and_scores_are_those_of_the_rows() -> None:
    fixed = toy()
    result, _ = make_vectors(fixed, inputs(200))
    assert result.scores.tolist() == fixed_walk(fixed, result.x)[0]
    expected = [
        fixed.precision.input.quantise(result.x[:, i].astype(float) * 2.0**s)
        for i, s in enumerate(fixed.scales)
    ]
    assert (result.words == np.column_stack(expected)).all()
    few = result.take(result.spread(90))
    assert len(few) == 90
    assert few.scores.tolist() == fixed_walk(fixed, few.x)[0]


def test_rows_lie_on_thresholds_next_to_them_and_beyond_the_type() -> None:
    fixed = toy("ap_fixed<9,5,AP_TRN,AP_SAT>")
    x, trees = around(fixed, 5000), fixed.ensemble
    assert np.isfinite(x).all()
    words, overflows = fixed.inputs(x), fixed.overflows(x)
    for feature in range(3):
        cuts = set(fixed.cuts[trees.feature == feature].tolist())
        seen = set(words[:, feature].tolist())
        inside = {cut for cut in cuts if abs(cut) < 250}
        assert inside
        assert {word + by for word in inside for by in (-1, 0, 1)} <= seen
        assert {*fixed.precision.input.words} <= seen
        assert overflows.inputs[feature] > 0
