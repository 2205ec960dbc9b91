"""Decisions that look at less than scores do, against the scores."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toys import columns, menu_from, toy_events

from trigemu import make_events, make_plan
from trigemu.api import CompiledThreshold
from trigemu.emulation.plan import Plan, decide
from trigemu.observables.language import parse_observable
from trigemu.observables.pruning import all_uses, ceiling, harder_than, lowest_pt
from trigemu.observables.selections import ObjectSelection, Scope
from trigemu.observables.windows import Window
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events
from trigemu.triggers.questions import score_above

EVENTS = toy_events(77, 400)
PHOTON = ObjectSelection("photon")
JET = ObjectSelection("jet", None, (("pt", Window(min=10.0)),), (PHOTON, 0.8))
CENTRAL = ObjectSelection("jet", JET, (("eta", Window(abs_max=1.5)),))
MUON = ObjectSelection("muon", None, (("pt", Window(min=6.0)),))

HEAD = """
[objects.jet]
from = "jet"
pt = { min = 10.0 }
remove_overlap = { with = "photon", dr = 0.8 }

[objects.central]
from = "jet"
eta = { abs_max = 1.5 }

[objects.clean]
from = "muon"
remove_overlap = { with = "central", dr = 1.0 }

[sums.ht]
of = ["jet", "photon"]
"""


def events_of(events: list[dict[str, Any]]) -> Events:
    c = columns(events)
    return make_events("toy", c.weight, c.collections, c.scalars)


WHOLE = events_of(EVENTS)
#: Cuts that objects lie on, and those that nothing or everything is above.
PTS = sorted({o["pt"] for event in EVENTS for o in event["jet"]})
cuts = st.one_of(st.sampled_from(PTS), st.sampled_from([-1e300, 1e300, 0.0]), st.floats(5, 80))
elements = st.builds(
    "{}[{}].{}".format,
    st.sampled_from(["jet", "central", "clean", "photon", "muon"]),
    st.integers(0, 2),
    st.sampled_from(["pt", "pt", "pt", "eta"]),
)
observables = st.one_of(
    elements,
    st.sampled_from(["mht", "ht", "met", "n_jet", "n_central", "m(jet[0], jet[1])", "jet[0].pt + 5"]),
)
requirements = st.sampled_from(
    [
        None,
        None,
        "n_photon >= 1",
        "jet[0].pt > 20",
        "n_central > 1",
        "met > 50 and abs(dphi(jet[0], met)) > 1",
    ]
)


@st.composite
def thresholds(draw: st.DrawFn, name: str) -> str:
    requires = draw(requirements)
    above = draw(cuts)
    return (
        f'[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "{draw(observables)}"\n'
        f"above = {above!r}\n" + (f'requires = "{requires}"\n' if requires else "")
    )


@st.composite
def combinations(draw: st.DrawFn, name: str) -> str:
    windows = st.one_of(st.just(""), st.sampled_from(PTS).map(lambda pt: f", pt = {{ min = {pt} }}"))
    legs = [
        f'{{ object = "{draw(st.sampled_from(["jet", "central", "clean", "photon"]))}"{draw(windows)} }}'
        for _ in range(draw(st.integers(1, 3)))
    ]
    pairs = "pairs = [ { legs = [0, 1], dphi = { min = 1.0 } } ]\n" if len(legs) > 1 else ""
    return f'[[trigger]]\nname = "{name}"\nkind = "combination"\nlegs = [ {", ".join(legs)} ]\n{pairs}'


@st.composite
def menus(draw: st.DrawFn) -> str:
    number = draw(st.integers(1, 6))
    return HEAD + "".join(draw(st.one_of(thresholds(f"T{i}"), combinations(f"T{i}"))) for i in range(number))


def expected(plan: Plan, events: Events) -> list[list[bool]]:
    """Of each slot by itself, from its own scores."""
    found = []
    for slot in plan.slots:
        result = slot.compiled.evaluate(Workspace(events))
        found.append(
            (result if slot.compiled.threshold is None else result > slot.compiled.threshold).tolist()
        )
    return found


@settings(max_examples=150, deadline=None)
@given(menus())
def test_decisions_are_those_of_the_scores(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    plan = make_plan([menu_from(tmp_path_factory.mktemp("menu"), text)])
    for events in (WHOLE, WHOLE[17:60], WHOLE[:0]):
        words = decide(events, plan)
        bits = [
            (words[:, 0] >> np.uint64(bit) & np.uint64(1) != 0).tolist() for bit in range(len(plan.slots))
        ]
        assert bits == expected(plan, events)


def derived(text: str, folder: Path) -> set[ObjectSelection]:
    return {d for group in make_plan([menu_from(folder, HEAD + text)]).groups for d, _ in all_uses(group)}


def threshold(name: str, observable: str, above: float) -> str:
    return f'[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "{observable}"\nabove = {above}\n'


def test_objects_below_all_cuts_are_not_derived(tmp_path: Path) -> None:
    two = threshold("A", "jet[0].pt", 50) + threshold("B", "jet[1].pt", 40)
    hard = harder_than(JET, {JET: 40.0})
    assert hard.windows[-1] == ("pt", Window(min=40.0))
    assert hard in derived(two, tmp_path)
    assert JET not in derived(two, tmp_path)
    # Other triggers need more of them, or all.
    leg = '[[trigger]]\nname = "C"\nkind = "combination"\n'
    leg += 'legs = [ { object = "central", pt = { min = 30.0 } } ]\n'
    assert harder_than(JET, {JET: 30.0}) in derived(two + leg, tmp_path)
    asked = threshold("C", "met", 30) + 'requires = "n_jet > 1"\n'
    further = [threshold("C", *of) for of in (("ht", 100), ("n_central", 2), ("jet[0].eta", 0))]
    for third in (*further, asked):
        assert JET in derived(two + third, tmp_path)
        assert hard not in derived(two + third, tmp_path)


def test_floors_are_the_lowest_of_all_uses() -> None:
    known = lowest_pt([(CENTRAL, 40.0), (CENTRAL, 50.0), (JET, 45.0), (MUON, math.nan)])
    assert known == {CENTRAL: 40.0, JET: 40.0, PHOTON: -math.inf, MUON: math.inf}
    assert harder_than(CENTRAL, known) == ObjectSelection("jet", harder_than(JET, known), CENTRAL.windows)
    assert harder_than(MUON, {MUON: 30.0}) == MUON  # to cut costs what it saves where nothing is compared
    assert harder_than(JET, {JET: -math.inf}) == JET


SCOPE = Scope((("jet", JET), ("photon", PHOTON), ("muon", MUON)), (JET, PHOTON), (JET, PHOTON))


def test_a_ceiling_is_closely_above() -> None:
    mht = parse_observable("mht", SCOPE)
    bound = ceiling(mht, Workspace(WHOLE))
    assert bound is not None
    values = mht.evaluate(Workspace(WHOLE))
    sums = parse_observable("ht", SCOPE).evaluate(Workspace(WHOLE))
    assert (bound >= values).all()
    assert (bound <= values + 0.0032 * sums + 1e-9).all()


@given(st.lists(st.tuples(st.floats(0, 1000), st.floats(-1e6, 1e6)), min_size=1, max_size=5))
def test_a_ceiling_holds_for_any_angles(jets: list[tuple[float, float]]) -> None:
    pt, phi = np.array(sorted(jets, reverse=True)).T
    jet = Collection(np.array([0, len(pt)]), {"pt": pt, "phi": phi})
    work = Workspace(make_events("toy", np.ones(1), {"jet": jet}, {}))
    plain = ObjectSelection("jet")
    bound = ceiling(parse_observable("mht", Scope((("jet", plain),), (plain,), (plain,))), work)
    exact = math.hypot((pt * np.cos(phi)).sum(), (pt * np.sin(phi)).sum())
    assert bound is not None
    assert exact <= bound[0] <= exact + 0.0032 * pt.sum() + 1e-9


def test_what_is_known_needs_no_ceiling() -> None:
    mht, work = parse_observable("mht", SCOPE), Workspace(WHOLE)
    mht.evaluate(work)
    assert ceiling(mht, work) is None
    assert ceiling(parse_observable("ht", SCOPE), Workspace(WHOLE)) is None


def test_a_negative_pt_has_no_ceiling() -> None:
    """Two of them add up to less than their vectors."""
    c = {"pt": np.array([-30.0, -40.0]), "eta": np.zeros(2), "phi": np.zeros(2)}
    empty = {name: np.zeros(0) for name in c}
    events = make_events(
        "s",
        np.ones(1),
        {"jet": Collection(np.array([0, 2]), c), "photon": Collection(np.array([0, 0]), empty)},
    )
    mht = parse_observable("mht", Scope((("jet", ObjectSelection("jet")),), (), (ObjectSelection("jet"),)))
    assert ceiling(mht, Workspace(events)) is None
    assert score_above(CompiledThreshold(mht, None, 50.0), Workspace(events), 50.0) == pytest.approx([70.0])
