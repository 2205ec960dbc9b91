"""Bits before the point: enough, none to spare, what cannot be chosen; what a precision holds of events."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st
from tree_toys import (
    EVENTS,
    TREES,
    entered,
    fixed_walk,
    floating_walk,
    inputs,
    precision,
    random_trees,
)
from trigemu_anomaly.fixed_point import OVERFLOWS, ROUNDINGS, ApFixed
from trigemu_anomaly.precision import PrecisionTable
from trigemu_anomaly.trees import FixedEnsemble
from trigemu_firmware import PAPER_PRECISION, Change, choose
from trigemu_firmware.precision import ranges

from trigemu import TrigemuError

NAMES = ("a", "b", "c")


def fewer(fixed: FixedEnsemble, which: str) -> FixedEnsemble:
    """With one bit less before the point."""
    types, less = fixed.precision, {}
    for name in ("score",) if which == "score" else ("input", "threshold"):
        of = getattr(types, name)
        less[name] = replace(of, integer=of.integer - 1)
    return replace(fixed, precision=replace(types, **less))


def holds(fixed: FixedEnsemble, x: np.ndarray) -> bool:
    """Whether nothing overflows."""
    result = fixed.overflows(x)
    one = fixed.precision.score.overflows(np.array(1.0))
    return not (any(result.inputs) or result.scores or any(fixed.overflowing) or one)


@given(
    st.integers(6, 18),
    st.integers(6, 18),
    st.sampled_from(ROUNDINGS),
    st.sampled_from(["AP_WRAP", "AP_SAT_ZERO"]),
    st.tuples(*[st.sampled_from([0.001, 0.3, 1.0, 20.0])] * 3),
    st.integers(0, 50),
)
@example(6, 6, "AP_RND", "AP_WRAP", (0.001, 20.0, 0.001), 32)
def test_nothing_overflows_and_no_bit_is_spare(
    input_bits: int, score_bits: int, rounding: str, overflow: str, spread: tuple[float, ...], seed: int
) -> None:
    trees = random_trees(12, 3, seed=seed)
    assume(len(np.unique(trees.feature)) == 4)
    trees = replace(trees, threshold=trees.threshold * np.array([*spread, 0.0])[trees.feature])
    x = np.float32(inputs(seed=seed) * spread)
    types = Change(input_bits, score_bits, rounding, overflow).of(PAPER_PRECISION)
    fixed = choose(trees, x, NAMES, types)
    assert holds(fixed, x)
    assert not holds(fewer(fixed, "score"), x)
    assert min(fixed.scales) == 0
    for feature, scale in enumerate(fixed.scales):  # each alone uses the range
        scales = tuple(s + (i == feature) for i, s in enumerate(fixed.scales))
        assert not holds(replace(fixed, scales=scales), x), scale
    assert (fixed.precision.input.width, fixed.precision.score.width) == (input_bits, score_bits)


def test_inputs_that_saturate_hold_their_thresholds_with_the_same_decisions() -> None:
    trees, x = random_trees(12, 3), np.float32(inputs() * 100)
    types = precision("ap_fixed<24,1>", "ap_fixed<24,1>", "ap_fixed<24,1>")
    wrapping = choose(trees, x, NAMES, types)
    for mode in ("AP_SAT", "AP_SAT_SYM"):
        saturating = choose(trees, x, NAMES, Change(overflow=mode).of(types))
        assert saturating.precision.input.integer < wrapping.precision.input.integer
        assert any(saturating.overflows(x).inputs)
        assert saturating.overflowing == (0, 0)
        result = saturating.to_float(saturating.predict(x))
        assert result == pytest.approx(floating_walk(trees, x), abs=13 * saturating.precision.score.step)


def test_values_below_the_lowest_threshold_are_distinguished_from_it() -> None:
    """−4 is the lowest number of 3 bits before the point, and −5 would saturate there."""
    trees = replace(random_trees(1, 1, features=1, full=True), threshold=np.array([-4.0, 0.0, 0.0]))
    x = np.float32([[-5.0], [-4.0]])
    fixed = choose(trees, x, NAMES, Change(overflow="AP_SAT").of(PAPER_PRECISION))
    assert fixed.precision.input.integer == 4
    assert fixed.to_float(fixed.predict(x)) == pytest.approx(floating_walk(trees, x), abs=1e-3)


@pytest.mark.parametrize(
    ("base", "signed", "integer"),
    [(0.0, True, 2), (1.9, True, 2), (5.0, True, 4), (1.9, False, 1), (5.0, False, 3)],
)
def test_the_score_holds_its_base_and_one(base: float, signed: bool, integer: int) -> None:
    trees = random_trees(12, 3, base=base)
    trees = replace(trees, value=np.abs(trees.value) / 1000)
    types = replace(PAPER_PRECISION, score=ApFixed(16, 1, signed))
    assert choose(trees, inputs(), NAMES, types).precision.score.integer == integer


def test_an_input_that_no_tree_splits_on_has_no_say() -> None:
    trees = random_trees(12, 3, features=2)
    x = np.float32(np.column_stack([inputs(features=2), np.full(300, 1e9)]))
    fixed = choose(replace(trees, features=3), x, NAMES, PAPER_PRECISION)
    assert fixed.scales[2] == 0
    assert fixed.precision == choose(trees, x[:, :2], NAMES, PAPER_PRECISION).precision
    assert fixed.overflows(x).inputs == (0, 0, 0)


def test_signs_and_modes_stay() -> None:
    types = precision("ap_ufixed<10,1,AP_RND>", "ap_ufixed<10,1>", "ap_fixed<14,1,AP_RND,AP_SAT>")
    trees = random_trees(12, 3, threshold=(9.0, 2.0))
    result = choose(trees, np.abs(inputs()), NAMES, types).precision
    for name in ("input", "threshold", "score"):
        before, after = getattr(types, name), getattr(result, name)
        assert after == replace(before, integer=after.integer)


@pytest.mark.parametrize(
    ("name", "message"), [("input", "input 'a': "), ("score", "the score of 12 trees: ")]
)
def test_types_that_cannot_hold_it(name: str, message: str) -> None:
    types = replace(PAPER_PRECISION, **{name: ApFixed(12, 1, False)})
    with pytest.raises(TrigemuError, match=f"{message}.*no negative numbers"):
        choose(random_trees(12, 3), inputs(), NAMES, types)


def test_an_input_that_never_varies_has_no_range() -> None:
    x = inputs()
    x[:, 1] = 7.0
    with pytest.raises(TrigemuError, match="input 'b' is 7 in all 300 events"):
        choose(random_trees(12, 3), x, NAMES, PAPER_PRECISION)


def test_widths_and_modes() -> None:
    types = Change(10, None, "AP_RND", "AP_SAT").of(PAPER_PRECISION)
    assert str(types.input) == "ap_fixed<10,12,AP_TRN,AP_SAT>"  # events are not constants
    assert str(types.threshold) == "ap_fixed<10,12,AP_RND,AP_SAT>"
    assert str(types.score) == "ap_fixed<16,4,AP_RND>"
    assert Change().of(types) == types
    assert {PAPER_PRECISION.input.overflow, PAPER_PRECISION.score.overflow} == {OVERFLOWS[0]}


def test_ranges() -> None:
    x = np.float32([entered(e) for e in EVENTS if e["photon"]])
    fixed = choose(TREES, x, ("a", "b"), PAPER_PRECISION)
    result = ranges(fixed, x, ("a", "b"))
    assert result.events == len(x)
    for i, of in enumerate(result.inputs):
        assert (of.low, of.high) == (x[:, i].min(), x[:, i].max())
        thresholds = TREES.threshold[TREES.feature == i]
        assert of.thresholds == (thresholds.min(), thresholds.max())
        assert of.holds[0] <= of.low <= of.high <= of.holds[1]
        assert of.step * 2**12 == pytest.approx(of.holds[1] - of.holds[0] + of.step)
    assert result.low == pytest.approx(min(floating_walk(TREES, x)), abs=0.3)
    table = PrecisionTable(input="ap_fixed<8,3>", threshold="ap_fixed<8,3>", score="ap_fixed<6,1>")
    own = ranges(table.of(TREES), x, ("a", "b"))
    assert own.inputs[0].overflows == np.count_nonzero(x[:, 0] >= 4)
    _, beyond = fixed_walk(table.of(TREES), x)
    assert own.overflows == sum(beyond) > 0
    wide = msgspec.structs.replace(table, score="ap_fixed<20,15>").of(TREES)
    exact = wide.to_float(np.array(fixed_walk(wide, x)[0]))
    assert (own.low, own.high) == (exact.min(), exact.max())
