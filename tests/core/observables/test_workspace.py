"""Derived collections, windows, alternatives and scaled columns against lists of plain Python objects."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import toys
from hypothesis import assume, given, settings, strategies as st
from object_choices import distance, in_window
from toys import COLLECTIONS, COLUMNS, events_of, toy_events

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
from trigemu.triggers.pairs import delta_r

EVENTS = toy_events(5, 300)
Object = dict[str, float]


def derive(event: dict[str, Any], d: ObjectSelection) -> list[Object]:
    """A selection, object by object."""
    kept = derive(event, d.source) if d.source else event[d.base]
    kept = [o for o in kept if all(in_window(o, name, w) for name, w in d.windows)]
    if d.overlap:
        others, dr = derive(event, d.overlap[0]), d.overlap[1]
        kept = [o for o in kept if all(distance(o, other) >= dr for other in others)]
    return kept


def values(work: Workspace, d: ObjectSelection, name: str) -> list[list[float]]:
    offsets, column = work.objects(d).offsets, work.column(d, name).tolist()
    assert offsets[0] == 0
    return [column[a:b] for a, b in pairwise(offsets)]


BOUND = st.one_of(st.none(), st.integers(-3, 3).map(lambda i: i + 0.5))


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[str, Window], ...]:
    made: dict[str, Window] = {}
    for name in draw(st.lists(st.sampled_from(COLUMNS), max_size=2, unique=True)):
        if name == "charge":
            made[name] = draw(st.sampled_from([Window(any_of=(1,)), Window(any_of=(-1, 1)), Window(min=0)]))
        elif name == "pt":
            made[name] = Window(
                min=draw(st.sampled_from([8.0, 20.0])), max=draw(st.sampled_from([None, 60.0]))
            )
        else:
            low, high = draw(BOUND), draw(BOUND)
            if None not in (low, high) and low > high and name != "phi":
                low, high = high, low
            absolute = draw(st.sampled_from([(None, None), (0.3, None), (None, 2.0), (0.5, 1.5)]))
            made[name] = Window(min=low, max=high, abs_min=absolute[0], abs_max=absolute[1])
    return tuple(sorted(made.items()))


@st.composite
def selections(draw: st.DrawFn, depth: int = 3) -> ObjectSelection:
    base = draw(st.sampled_from(COLLECTIONS))
    source = draw(st.none() | selections(depth - 1)) if depth else None
    near = draw(st.none() | selections(depth - 1)) if depth else None
    overlap = (near, draw(st.sampled_from([0.2, 0.8, 1.5]))) if near else None
    return ObjectSelection(source.base if source else base, source, draw(windows()), overlap)


@settings(max_examples=100)
@given(selections(), st.integers(0, 299), st.integers(0, 300))
def test_derivations_against_brute_force_on_any_view(d: ObjectSelection, start: int, length: int) -> None:
    stop = min(300, start + length)
    expected = [derive(event, d) for event in EVENTS[start:stop]]
    for work in (Workspace(events_of(EVENTS)[start:stop]), Workspace(events_of(EVENTS[start:stop]))):
        for name in COLUMNS:
            assert values(work, d, name) == [[o[name] for o in objects] for objects in expected]


def test_a_phi_window_wraps_and_others_do_not() -> None:
    offsets = np.array([0, 4])
    phi = np.array([3.1, -3.1, 0.0, 2.0], "f4")
    pt = np.array([4, 3, 2, 1], "f4")
    events = make_events("s", np.ones(1), {"jet": Collection(offsets, {"pt": pt, "phi": phi, "eta": phi})})
    work = Workspace(events)
    base = ObjectSelection("jet")
    wrapped = work.passing(base, (("phi", Window(min=2.5, max=-2.5)),))
    assert wrapped.tolist() == [True, True, False, False]
    assert work.passing(base, (("phi", Window(min=-2.5, max=2.5)),)).tolist() == [False, False, True, True]


def test_windows_are_closed_and_compared_in_float64() -> None:
    """0.1 in float32 is above 0.1 in float64."""
    values = np.array([0.1], "f4")
    pt = np.ones(1, "f4")
    events = make_events("s", np.ones(1), {"jet": Collection(np.array([0, 1]), {"pt": pt, "x": values})})
    work = Workspace(events)

    def passes(window: Window) -> bool:
        return bool(work.passing(ObjectSelection("jet"), (("x", window),))[0])

    single = float(np.float32(0.1))
    assert passes(Window(min=single, max=single))
    assert passes(Window(min=0.1))
    assert not passes(Window(max=0.1))
    assert passes(Window(abs_min=single, abs_max=single))
    assert not passes(Window(abs_max=0.1))


def test_each_thing_is_made_once() -> None:
    work = Workspace(events_of(EVENTS))
    cut = ObjectSelection("jet", None, (("pt", Window(min=20.0)),))
    same = ObjectSelection("jet", None, (("pt", Window(min=20.0)),))
    assert work.objects(cut) is work.objects(same)
    assert work.column(cut, "eta") is work.column(same, "eta")
    calls: list[int] = []
    for _ in range(3):
        assert work.once("key", lambda: calls.append(1) or len(calls)) == 1
    assert calls == [1]


def test_what_a_sample_does_not_have() -> None:
    work = Workspace(events_of(EVENTS))
    with pytest.raises(SampleError, match=r"sample 'toy' has no collection 'jets'; did you mean 'jet'\?"):
        work.objects(ObjectSelection("jets"))
    with pytest.raises(SampleError, match=r"has no column jet\.ptt; did you mean 'pt'\?"):
        work.column(ObjectSelection("jet"), "ptt")
    with pytest.raises(SampleError, match=r"has no 'met_ph'; did you mean 'met_phi'\?"):
        work.scalar("met_ph")


@settings(max_examples=60)
@given(selections(), st.lists(st.booleans(), min_size=300, max_size=300))
def test_a_narrowed_workspace_has_the_values_of_the_chosen(d: ObjectSelection, chosen: list[bool]) -> None:
    work = Workspace(events_of(EVENTS))
    narrow = work.narrowed("some", np.array(chosen))
    expected = [derive(event, d) for event, wanted in zip(EVENTS, chosen, strict=True) if wanted]
    assert len(narrow.events) == sum(chosen)
    for name in COLUMNS:
        assert values(narrow, d, name) == [[o[name] for o in objects] for objects in expected]
    assert narrow.scalar("met").tolist() == [
        event["met"] for event, wanted in zip(EVENTS, chosen, strict=True) if wanted
    ]


@pytest.mark.parametrize("n", [0, 300])
def test_all_events_need_no_narrowing(n: int) -> None:
    work = Workspace(events_of(EVENTS[:n]))
    assert work.narrowed("all", np.ones(n, np.bool_)) is work


def test_no_event_is_chosen() -> None:
    narrow = Workspace(events_of(EVENTS)).narrowed("none", np.zeros(300, np.bool_))
    cut = ObjectSelection("jet", None, (("pt", Window(min=20.0)),), (ObjectSelection("photon"), 0.4))
    assert values(narrow, cut, "pt") == []


@settings(max_examples=200)
@given(st.data())
def test_overlap_where_only_the_distance_in_full_decides(data: st.DataObject) -> None:
    """At ΔR itself, one float above and one below, with φ anywhere, also beyond ±π."""
    eta = [data.draw(st.floats(-3, 3)) for _ in range(2)]
    phi = [data.draw(st.floats(-7, 7)) for _ in range(2)]
    distance = delta_r(eta[0], phi[0], eta[1], phi[1])
    assume(distance > 1e-300)  # a tenth of less is lost in rounding
    pt, one = np.ones(1), np.array([0, 1])
    collections = {
        name: Collection(one, {"pt": pt, "eta": np.array([eta[i]]), "phi": np.array([phi[i]])})
        for i, name in enumerate(("jet", "photon"))
    }
    work = Workspace(make_events("s", np.ones(1), collections))
    for dr, left in (
        (distance, 1), (math.nextafter(distance, 0), 1), (math.nextafter(distance, 9), 0),
        (distance * 0.9, 1), (distance * 1.1, 0),
    ):  # fmt: skip
        clear = ObjectSelection("jet", overlap=(ObjectSelection("photon"), dr))
        assert work.objects(clear).offsets[-1] == left


# ---- windows

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
