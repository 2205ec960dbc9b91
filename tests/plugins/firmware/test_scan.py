"""A scan of bits against two runs of Python loops over the same events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import evaluation_half, is_evaluation
from tree_toys import EVENTS, SAMPLES, TREES, Boosted, entered, fixed_walk, floating_walk, menu
from trigemu_anomaly.precision import PrecisionTable, table_of
from trigemu_anomaly.trees import FixedEnsemble
from trigemu_firmware import (
    PAPER_PRECISION,
    Change,
    choose,
    read_rows,
    scan_bits,
    tree_model,
)
from trigemu_firmware.model import halves, in_precision, with_trees
from trigemu_firmware.scan import figure_of, parse_bits

from trigemu import TrigemuError, solve_budgets

SATURATING = Change(rounding="AP_RND", overflow="AP_SAT").of(PAPER_PRECISION)


def scores(events: Sequence[dict[str, Any]], fixed: FixedEnsemble | None) -> np.ndarray:
    """−∞ where there is no photon."""
    x = np.float32([entered(event) for event in events])
    trees = floating_walk(TREES, x) if fixed is None else fixed.to_float(np.array(fixed_walk(fixed, x)[0]))
    met = np.array([event["met"] for event in events])
    return np.where([bool(event["photon"]) for event in events], met / 20 - np.array(trees), -np.inf)


def shift(
    events: Sequence[dict[str, Any]], decisions: Sequence[np.ndarray], unique: bool
) -> tuple[float, float]:
    """By how much more the second decisions give than the first, and its paired error."""
    others = np.array([bool(e["jet"]) and e["jet"][0]["pt"] > 60 for e in events])
    first, second = (d & ~others if unique else d for d in decisions)
    more = [(int(b) - int(a)) * e["weight"] for e, a, b in zip(events, first, second, strict=True)]
    return math.fsum(more), math.sqrt(math.fsum(w * w for w in more))


def test_all_numbers_are_those_of_loops(tmp_path: Path) -> None:
    widths = [(3, 5), (6, 8), (12, 16)]
    result = scan_bits(menu(tmp_path), "AD", widths, SAMPLES, types=SATURATING)
    selected = [event for event in EVENTS if event["photon"]]
    assert result.preselected_events == len(selected)
    assert result.preselected_hz == pytest.approx(math.fsum(event["weight"] for event in selected))
    floating = scores(EVENTS, None) > 0.2
    total = math.fsum(event["weight"] for event, fires in zip(EVENTS, floating, strict=True) if fires)
    assert result.own.total.hz == pytest.approx(total)
    x = np.float32([entered(event) for event in selected])
    differing = []
    for point, pair in zip(result.points, widths, strict=True):
        fixed = choose(TREES, x, ("a", "b"), Change(*pair).of(SATURATING))
        assert point.precision == table_of(fixed)
        assert (point.input_bits, point.score_bits) == pair
        decisions = floating, scores(EVENTS, fixed) > 0.2
        for quantity in (point.total, point.unique):
            expected = shift(EVENTS, decisions, quantity is point.unique)
            assert (quantity.hz, quantity.error_hz) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        differ = decisions[0] != decisions[1]
        differing.append(np.count_nonzero(differ))
        assert point.differ_events == differing[-1]
        weight = math.fsum(e["weight"] for e, d in zip(EVENTS, differ, strict=True) if d)
        assert point.differ_hz == pytest.approx(weight, rel=1e-9, abs=1e-12)
        overflows = fixed.overflows(x)
        assert tuple(of.overflows for of in point.ranges.inputs) == overflows.inputs
        assert point.ranges.overflows == overflows.scores == 0
        assert point.resources is None
    assert differing[0] > differing[-1]


def test_a_cut_is_solved_once_and_rates_are_from_the_half_that_was_not_fitted(tmp_path: Path) -> None:
    budget = 0.2 * math.fsum(event["weight"] for event in EVENTS if event["photon"])
    inputs = menu(tmp_path, budget, trained_on="toy", precision=PrecisionTable(
        input="ap_fixed<6,8>", threshold="ap_fixed<6,8>", score="ap_fixed<8,4>"
    ))  # fmt: skip
    (result,) = scan_bits(inputs, "AD", [(4, 6)], SAMPLES, types=SATURATING).points
    (solved,) = solve_budgets([in_precision(inputs, "AD", None)], SAMPLES)
    cut = solved.trigger("AD").description.threshold  # type: ignore[union-attr]
    half = [*evaluation_half(EVENTS[:500]), *evaluation_half(EVENTS[500:])]
    names = [e for e in [*other_half(EVENTS[:500]), *other_half(EVENTS[500:])] if e["photon"]]
    fixed = choose(TREES, np.float32([entered(e) for e in names]), ("a", "b"), Change(4, 6).of(SATURATING))
    assert result.precision == table_of(fixed)
    decisions = [scores(half, of) > cut for of in (None, fixed)]
    expected = shift(half, decisions, unique=False)
    assert (result.total.hz, result.total.error_hz) == pytest.approx(expected, rel=1e-9)
    assert result.differ_events == np.count_nonzero(decisions[0] != decisions[1]) > 0
    assert result.ranges.events == sum(bool(e["photon"]) for e in half)


def other_half(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of one sample, whose events are numbered from 0."""
    return [e for i, e in enumerate(events) if not is_evaluation(i)]


def test_the_figure_has_shifts_in_percent_and_differing_decisions(tmp_path: Path) -> None:
    """Of one width too, and where nothing differs."""
    result = scan_bits(menu(tmp_path), "AD", [(3, 5), (6, 8), (12, 16)], SAMPLES, types=SATURATING)
    upper, lower = figure_of(result).axes
    for container, name in zip(upper.containers, ("total", "unique"), strict=True):
        percent = 100 / getattr(result.own, name).hz
        shifts = [getattr(point, name) for point in result.points]
        assert container[0].get_ydata() == pytest.approx([shift.hz * percent for shift in shifts])
        bars = [np.ptp(bar[:, 1]) for bar in container[2][0].get_segments()]
        assert bars == pytest.approx([2 * shift.error_hz * percent for shift in shifts])
    (line,) = lower.lines
    assert line.get_xdata().tolist() == [3, 6, 12]
    share = [point.differ_events / result.preselected_events or np.nan for point in result.points]
    assert line.get_ydata() == pytest.approx(share, nan_ok=True)
    assert lower.get_xlabel() == "bits of inputs, thresholds and score"
    same = replace(result.points[0], differ_events=0)
    _, lower = figure_of(replace(result, points=(same,))).axes
    assert (lower.get_yscale(), np.isnan(lower.lines[0].get_ydata()).all()) == ("linear", True)


@pytest.mark.parametrize(
    ("text", "bits"), [("8:11", (8, 9, 10, 11)), ("12", (12,)), ("16,8,8", (8, 16)), ("5:5", (5,))]
)
def test_bits(text: str, bits: tuple[int, ...]) -> None:
    assert parse_bits(text) == bits


@pytest.mark.parametrize(
    "text", ["", "8:", "a", "8:11:1", "0:4", "30:33", "11:8", "8.5", "8:" + "9" * 30, "9" * 10_000, "-1:8"]
)
def test_what_are_no_bits(text: str) -> None:
    with pytest.raises(TrigemuError, match="expected") as error:
        parse_bits(text)
    assert len(str(error.value)) < 300


def test_what_cannot_be_scanned(tmp_path: Path) -> None:
    result = menu(tmp_path)
    with pytest.raises(TrigemuError, match=r"menu.toml:2: trigger 'J60': the kind 'threshold' has no trees"):
        scan_bits(result, "J60", [(8, 8)], SAMPLES)
    with pytest.raises(TrigemuError, match=r"unknown trigger 'AC' \(known: AD, J60\)"):
        scan_bits(result, "AC", [(8, 8)], SAMPLES)
    disabled = replace(result, triggers=(result.triggers[0], replace(result.triggers[1], enabled=False)))
    with pytest.raises(TrigemuError, match="is disabled"):
        scan_bits(disabled, "AD", [(8, 8)], SAMPLES)
    with pytest.raises(TrigemuError, match=r"menu.toml:8: trigger 'AD' has no precision: --bits chooses one"):
        scan_bits(result, "AD", [], SAMPLES)


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
