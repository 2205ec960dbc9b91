"""Derived collections against lists of plain Python objects."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from toys import COLLECTIONS, COLUMNS, columns, toy_events

from trigemu.base.errors import SampleError
from trigemu.observables.selections import ObjectSelection, Window
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events, make_events
from trigemu.triggers.pairs import delta_r

EVENTS = toy_events(5, 300)


Object = dict[str, float]


def events_of(events: list[dict[str, Any]]) -> Events:
    c = columns(events)
    return make_events("toy", c.weight, c.collections, c.scalars)


def in_window(value: float, name: str, w: Window) -> bool:
    low = -math.inf if w.min is None else w.min
    high = math.inf if w.max is None else w.max
    wraps = name == "phi" and low > high
    inside = (value >= low or value <= high) if wraps else low <= value <= high
    return (
        inside
        and (w.abs_min is None or abs(value) >= w.abs_min)
        and (w.abs_max is None or abs(value) <= w.abs_max)
        and (w.any_of is None or value in w.any_of)
    )


def distance(a: Object, b: Object) -> float:
    dphi = abs(a["phi"] - b["phi"])
    return math.hypot(a["eta"] - b["eta"], min(dphi, 2 * math.pi - dphi))


def derive(event: dict[str, Any], d: ObjectSelection) -> list[Object]:
    """A selection, object by object."""
    kept = derive(event, d.source) if d.source else event[d.base]
    kept = [o for o in kept if all(in_window(o[name], name, w) for name, w in d.windows)]
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


def test_what_is_narrowed_costs_the_others_nothing() -> None:
    """Nothing is derived of all events, and one choice is made once."""
    work = Workspace(events_of(EVENTS))
    chosen = np.arange(300) % 3 == 0
    narrow = work.narrowed("third", chosen)
    assert work.narrowed("third", chosen) is narrow
    assert work.narrowed("others", ~chosen) is not narrow
    narrow.column(ObjectSelection("jet", None, (("pt", Window(min=20.0)),)), "eta")
    assert narrow.values
    assert all(isinstance(value, Workspace) for value in work.values.values())


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


def test_values_are_kept() -> None:
    work = Workspace(events_of(EVENTS))
    assert work.has("key") is False
    work.once("key", list)
    assert work.has("key")
