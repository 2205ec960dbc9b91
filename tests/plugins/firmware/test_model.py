"""The trees of a trigger, their precision, and what they read of events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toys import is_evaluation
from tree_toys import EVENTS, SAMPLES, TREES, Boosted, entered, menu
from trigemu_anomaly.precision import PrecisionTable, table_of
from trigemu_firmware import read_rows, tree_model
from trigemu_firmware.model import halves, with_trees

from trigemu import TrigemuError


def test_rows_are_what_the_trees_read(tmp_path: Path) -> None:
    rows = read_rows(menu(tmp_path), SAMPLES, "AD")
    requested = [(e, number) for number, e in enumerate(EVENTS) if e["photon"]]
    assert rows.x.tolist() == np.float32([entered(e) for e, _ in requested]).tolist()
    assert rows.weight.tolist() == [e["weight"] for e, _ in requested]
    assert rows.sample.tolist() == [int(number >= 500) for _, number in requested]
    assert rows.half.tolist() == [is_evaluation(number - 500 * (number >= 500)) for _, number in requested]
    both = [rows, rows]
    assert list(halves(menu(tmp_path), SAMPLES, rows)) == both
    fitted, evaluated = halves(menu(tmp_path, trained_on="toy"), SAMPLES, rows)
    assert set(fitted.half) == {0}
    assert set(evaluated.half) == {1}
    assert len(fitted.x) + len(evaluated.x) == len(rows.x)


def test_a_trigger_whose_preselection_no_event_passes(tmp_path: Path) -> None:
    result = menu(tmp_path)
    nothing = replace(result.triggers[1], description=Boosted(above=0.0, requires="n_photon >= 99"))
    with pytest.raises(TrigemuError, match=r"no event of toy.toml passes `requires` of trigger 'AD'"):
        read_rows(replace(result, triggers=(result.triggers[0], nothing)), SAMPLES, "AD")


def test_trees_of_a_trigger(tmp_path: Path) -> None:
    table = PrecisionTable(
        input="ap_fixed<8,4>", threshold="ap_fixed<3,2>", score="ap_fixed<8,1>", scales=(1, -2)
    )
    assert with_trees(menu(tmp_path), "AD").name == "AD"
    model = tree_model(menu(tmp_path, precision=table), "AD")
    assert model.ensemble is TREES
    assert model.fixed
    assert table_of(model.fixed) == table
    thresholds, leaves = model.fixed.overflowing
    assert thresholds > 0
    assert leaves > 0
    low, high = (word / 128 for word in model.fixed.reach)
    numbers = (f"{thresholds} thr", f"{leaves} leaf", f"{low:.4g} and {high:.4g}", "-32 … 31.75")
    assert all(number in warning for number, warning in zip(numbers, model.warnings, strict=True))
    assert tree_model(menu(tmp_path), "AD").fixed is None
    assert tree_model(menu(tmp_path), "AD").warnings == ()
    roomy = PrecisionTable(
        input="ap_fixed<12,8,AP_TRN,AP_SAT>", threshold="ap_fixed<12,8>", score="ap_fixed<16,6>"
    )
    assert tree_model(menu(tmp_path, precision=roomy), "AD").warnings == ()


def test_mistakes_of_a_table() -> None:
    good = {"input": "ap_fixed<8,4>", "threshold": "ap_fixed<8,4>", "score": "ap_fixed<8,4>"}
    for key, value in (("input", "float"), ("score", "ap_fixed<40,2>"), ("scales", (65,))):
        ((name, _),) = PrecisionTable(**good | {key: value}).mistakes()
        assert name == key
    assert not list(PrecisionTable(**good, scales=(1, 2)).mistakes())
