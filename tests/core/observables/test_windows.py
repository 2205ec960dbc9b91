"""Windows, alternatives and scaled columns, held against plain Python."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import toys
from hypothesis import given, strategies as st

from trigemu import decide, make_plan
from trigemu.base.errors import SampleError
from trigemu.observables.selections import (
    Alternative,
    ObjectSelection,
    ObjectTable,
    Piece,
    Range,
    Window,
    make_scope,
)
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, make_events

LIMITS = ("min", "max", "above", "below")
numbers = st.integers(-3, 3).map(lambda n: n / 2)
some_limits = st.fixed_dictionaries({}, optional=dict.fromkeys(LIMITS, numbers))


def within(value: float, limits: dict[str, float]) -> bool:
    return (
        limits.get("min", -9) <= value <= limits.get("max", 9)
        and limits.get("above", -9) < value < limits.get("below", 9)
    )  # fmt: skip


@given(some_limits)
def test_the_span_holds_what_lies_within_limits(limits: dict[str, float]) -> None:
    low, high = Range(**limits).span()
    for value in (n / 2 for n in range(-8, 9)):
        assert (low <= value <= high) == within(value, limits)


ABS = tuple(f"abs_{name}" for name in LIMITS)
some_windows = st.builds(
    lambda limits, of, bits: Window(**limits, any_of=of, bits=bits),
    st.fixed_dictionaries({}, optional=dict.fromkeys((*LIMITS, *ABS), st.integers(-3, 3).map(float))),
    st.sampled_from([None, None, (1, 2), (-1, 1, 2)]),
    st.sampled_from([None, None, 1, 3]),
)


@given(some_limits)
def test_a_range_without_values_is_a_mistake(limits: dict[str, float]) -> None:
    low, high = Range(**limits).span()
    messages = list(Range(**limits).mistakes())
    assert bool(messages) == (low > high or not limits)


def test_strict_limits_leave_out_one_float() -> None:
    assert Range(above=1.0, below=2.0).span() == (math.nextafter(1, 2), math.nextafter(2, 1))
    assert Range(min=1.5, above=1.0, max=1.5, below=2.0).span() == (1.5, 1.5)
    (message,) = Range(above=1.0, max=1.0).mistakes()
    assert message == ("above", "above = 1.0 leaves nothing for max = 1.0")
    (message,) = Window(abs_min=3.0, abs_below=2.0).mistakes()
    assert message == ("abs_min", "abs_min = 3.0 is above abs_below = 2.0")


def muons() -> tuple[Any, dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 400))])
    n = int(offsets[-1])
    pt = np.concatenate([np.sort(rng.uniform(0, 40, b - a))[::-1] for a, b in itertools.pairwise(offsets)])
    eta = rng.choice([0.0, 0.5, 0.83, -0.83, 1.479, -1.6, 2.4], n)
    columns = {
        "pt": pt.astype(np.float32),
        "eta": eta.astype(np.float32),
        "phi": rng.uniform(-3, 3, n).astype(np.float32),
        "quality": rng.integers(0, 16, n).astype(np.int32),
    }
    return make_events("toys", np.ones(400), {"muon": Collection(offsets, columns)}), columns


def selection(**table: Any) -> ObjectSelection:
    scope = make_scope({"muon": msgspec.convert({"from": "muon", **table}, ObjectTable)}, {}, _refuse)
    return scope.object("muon")


def _refuse(key: tuple[str, ...], message: str) -> None:
    raise AssertionError(message)


def test_alternatives_are_correlated() -> None:
    events, columns = muons()
    edge = float(np.float32(0.83))
    barrel = Alternative(windows={"eta": Window(abs_below=edge), "quality": Window(bits=2)})
    endcap = Alternative(windows={"eta": Window(abs_min=edge), "pt": Window(above=20.0)})
    table = ObjectTable(from_="muon", any_of=(barrel, endcap), windows={"quality": Window(max=13)})
    made = make_scope({"muon": table}, {}, _refuse).object("muon")
    eta, quality = np.abs(columns["eta"]), columns["quality"]
    expected = np.where(eta < edge, quality & 2 == 2, columns["pt"] > 20) & (quality <= 13)
    rows = Workspace(events).rows(made)
    assert rows.tolist() == np.flatnonzero(expected).tolist()
    assert 0 < len(rows) < len(expected)


def scaled_table() -> ObjectTable:
    pieces = (
        Piece(slope=1.1, offset=2.0, windows={"eta": Window(abs_below=0.83)}),
        Piece(slope=1.3, offset=-0.7, windows={"eta": Window(abs_min=0.82, abs_max=1.5)}),
    )
    return ObjectTable(from_="muon", scaled={"offline_pt": pieces}, windows={"offline_pt": Window(above=9.0)})


def test_scaled_columns_are_rounded_as_pt_is() -> None:
    events, columns = muons()
    made = make_scope({"muon": scaled_table()}, {}, _refuse).object("muon")
    pt, eta = columns["pt"], np.abs(columns["eta"].astype(np.float64))
    offline = np.zeros_like(pt)
    offline += np.where(eta < 0.83, pt * np.float32(1.1) + np.float32(2.0), np.float32(0))
    inside = (eta >= 0.82) & (eta <= 1.5)
    offline += np.where(inside, pt * np.float32(1.3) + np.float32(-0.7), np.float32(0))
    assert offline.dtype == np.float32
    work = Workspace(events)
    rows = work.rows(made)
    assert rows.tolist() == np.flatnonzero(offline > 9).tolist()
    assert work.column(made, made.column("offline_pt")).tolist() == offline[rows].tolist()
    assert sorted(made.needs()) == [("muon", "eta"), ("muon", "eta"), ("muon", "pt"), ("muon", "pt")]


def test_scaled_columns_are_columns_like_any_other(tmp_path: Path) -> None:
    events, _ = muons()
    menu = toys.menu_from(
        tmp_path,
        '[objects.scaled]\nfrom = "muon"\n'
        "scaled = { offline_pt = [{ slope = 2.0, offset = 1.0, eta = { abs_max = 1.0 } }] }\n"
        '[objects.hard]\nfrom = "scaled"\noffline_pt = { min = 21.0 }\n'
        + toys.threshold("A", "hard[0].offline_pt", 50.0)
        + toys.combination("B", '{ object = "scaled", offline_pt = { above = 50.0 } }')
        + toys.threshold("C", "n_hard", 1.0),
    )
    work = Workspace(events)
    pt, eta = (work.column(ObjectSelection("muon"), name) for name in ("pt", "eta"))
    offline = np.where(np.abs(eta) <= 1, 2 * pt + 1, 0)
    offsets = events.collections["muon"].offsets
    per_event = [offline[a:b] for a, b in itertools.pairwise(offsets)]
    plan = make_plan([menu])
    assert set(plan.needs) == {("muon", "pt"), ("muon", "eta")}
    words = decide(events, plan)[:, 0]
    hard = [values[values >= 21] for values in per_event]
    assert (words & np.uint64(1)).astype(bool).tolist() == [len(v) > 0 and v[0] > 50 for v in hard]
    assert (words >> np.uint64(1) & np.uint64(1)).astype(bool).tolist() == [
        bool((v > 50).any()) for v in per_event
    ]
    assert (words >> np.uint64(2)).astype(bool).tolist() == [len(v) > 1 for v in hard]


def test_bits_are_those_of_whole_numbers() -> None:
    events, _ = muons()
    with pytest.raises(SampleError, match=r"muon\.pt has no bits: its values are not integers"):
        Workspace(events).rows(selection(windows={"pt": Window(bits=1)}))


@pytest.mark.parametrize("window", [{"any_of": [1, -(2**63)]}, {"bits": 2**63}, {"bits": 0}])
def test_integers_that_no_column_holds(window: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int` [<>]= "):
        msgspec.convert(window, Window)
    assert msgspec.convert({"any_of": [2**63 - 1], "bits": 2**62}, Window).bits == 2**62
