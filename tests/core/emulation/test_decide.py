"""The decisions of a menu, of triggers evaluated together and above thresholds only, against the scores of
each trigger by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toys import columns, menu_from, toy_events

from trigemu import make_events, make_plan
from trigemu.emulation.plan import Plan, decide
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events

EVENTS = toy_events(77, 400)

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
