"""What a precision holds of events, against NumPy and walks from node to node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tree_toys import EVENTS, SAMPLES, TREES, entered, fixed_walk, floating_walk, menu
from trigemu_anomaly.fixed_point import ApFixed
from trigemu_anomaly.precision import PrecisionTable, table_of
from trigemu_firmware import PAPER_PRECISION, choose, survey, with_modes
from trigemu_firmware.ranges import ranges

from trigemu import TrigemuError


def test_survey(tmp_path: Path) -> None:
    x = np.float32([entered(e) for e in EVENTS if e["photon"]])
    result = survey(menu(tmp_path), "AD", SAMPLES, PAPER_PRECISION)
    fixed = choose(TREES, x, ("a", "b"), PAPER_PRECISION)
    assert result.precision == table_of(fixed)
    assert result.chosen == result.ranges.events == len(x)
    saturating = choose(TREES, x, ("a", "b"), with_modes(PAPER_PRECISION, None, "AP_SAT"))
    assert result.spared == fixed.precision.input.integer - saturating.precision.input.integer
    for i, of in enumerate(result.ranges.inputs):
        assert (of.low, of.high) == (x[:, i].min(), x[:, i].max())
        thresholds = TREES.threshold[TREES.feature == i]
        assert of.thresholds == (thresholds.min(), thresholds.max())
        assert of.holds[0] <= of.low <= of.high <= of.holds[1]
        assert of.step * 2**12 == pytest.approx(of.holds[1] - of.holds[0] + of.step)
    assert result.ranges.low == pytest.approx(min(floating_walk(TREES, x)), abs=0.3)
    table = PrecisionTable(input="ap_fixed<8,3>", threshold="ap_fixed<8,3>", score="ap_fixed<6,1>")
    own = survey(menu(tmp_path, precision=table), "AD", SAMPLES)
    assert own.chosen is None
    assert own.ranges.inputs[0].overflows == np.count_nonzero(x[:, 0] >= 4)
    _, beyond = fixed_walk(table.of(TREES), x)
    assert own.ranges.overflows == sum(beyond) > 0
    wide = msgspec.structs.replace(table, score="ap_fixed<20,15>").of(TREES)
    exact = wide.to_float(np.array(fixed_walk(wide, x)[0]))
    assert (own.ranges.low, own.ranges.high) == (exact.min(), exact.max())
    with pytest.raises(TrigemuError, match=r"menu.toml:8: trigger 'AD' has no precision"):
        survey(menu(tmp_path), "AD", SAMPLES)


def test_types_far_from_one_are_reported_too() -> None:
    """The range of the scores has no room for more bits before the point."""
    x = np.float32([entered(event) for event in EVENTS])
    fixed = choose(TREES, x, ("a", "b"), PAPER_PRECISION)
    far = replace(fixed, precision=replace(fixed.precision, score=ApFixed(16, 60)))
    words, beyond = fixed_walk(far, x)
    assert not any(beyond)
    assert ranges(far, x, ("a", "b")).high == max(words) * 2.0**44
