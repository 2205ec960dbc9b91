"""Thresholds on observables; and the objects that satisfy the legs of a trigger: an event fires on one
leg if and only if it has one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toys import menu_from

from trigemu import TrigemuError, open_catalogue
from trigemu.api import make_plan
from trigemu.emulation.plan import Plan, bit_of_words, decide
from trigemu.observables.selections import Scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, make_events
from trigemu.triggers.base import Context
from trigemu.triggers.threshold import Threshold

Event = dict[str, Any]
Fires = Callable[..., list[bool]]


@settings(max_examples=60)
@given(st.floats(0, 60, width=32), st.integers(0, 3), st.booleans())
def test_above_is_strict_and_requires_comes_first(
    plain_events: list[Event], fires: Fires, above: float, index: int, asked: bool
) -> None:
    requires = "n_muon >= 2" if asked else None
    kind = Threshold(observable=f"jet[{index}].pt", above=above, requires=requires)
    assert fires(kind) == [
        len(e["jet"]) > index and e["jet"][index]["pt"] > above and (len(e["muon"]) >= 2 or not asked)
        for e in plain_events
    ]


def test_the_value_itself_is_not_above_it(plain_events: list[Event], fires: Fires) -> None:
    event = next(e for e in plain_events if e["jet"])
    pt = event["jet"][0]["pt"]
    below = math.nextafter(pt, 0.0)
    assert fires(Threshold(observable="jet[0].pt", above=pt), events=[event]) == [False]
    assert fires(Threshold(observable="jet[0].pt", above=below), events=[event]) == [True]


def test_the_score_is_the_observable(scope: Scope) -> None:
    """And −inf where there is no value, or where the event was not asked."""
    offsets = np.array([0, 1, 1, 3])
    pt = np.array([30.0, 20.0, 10.0], "f4")
    work = Workspace(make_events("s", np.ones(3), {"jet": Collection(offsets, {"pt": pt})}))

    def score(requires: str | None) -> list[float]:
        compiled = Threshold(observable="-jet[0].pt", above=0.0, requires=requires).compile(Context(scope))
        assert compiled.threshold == 0.0
        return compiled.evaluate(work).tolist()

    assert score(None) == [-30.0, -math.inf, -20.0]
    assert score("n_jet < 2") == [-30.0, -math.inf, -math.inf]
    assert score(None) == [-30.0, -math.inf, -20.0]  # what others share is left as it was


@pytest.mark.parametrize(
    ("observable", "requires", "message"),
    [
        ("ht > 3", None, "'ht > 3' is a condition, not a number"),
        ("ht", "met", "'met' is not a condition"),
        ("ht", "", "'': is empty"),
    ],
)
def test_mistakes(scope: Scope, observable: str, requires: str | None, message: str) -> None:
    kind = Threshold(observable=observable, above=1.0, requires=requires)
    with pytest.raises(TrigemuError) as error:
        kind.compile(Context(scope))
    assert message in str(error.value)


HEAD = '[objects.central]\nfrom = "jet"\neta = { abs_max = 1.5 }\npt = { min = 25.0 }\n'
ONE_LEG = [
    'kind = "threshold"\nobservable = "central[0].pt"\nabove = 60.0',
    'kind = "combination"\nlegs = [{ object = "central", pt = { min = 40.0 }, eta = { min = 0.0 } }]',
    'kind = "leg_threshold"\nlegs = [{ object = "jet", eta = { abs_max = 2.0 } }]\nabove = 50.0',
    'kind = "leg_threshold"\nlegs = [{ object = "muon" }]\ncolumn = "isolation"\nabove = 0.5',
]
NONE = [
    'kind = "threshold"\nobservable = "ht"\nabove = 60.0',
    'kind = "threshold"\nobservable = "max(jet[0].pt, jet[1].pt)"\nabove = 60.0',
    'kind = "combination"\nlegs = [{ object = "jet", crossing = 1 }]',
]


def planned(folder: Path, trigger: str) -> Plan:
    return make_plan(menu_from(folder, f'{HEAD}[[trigger]]\nname = "T"\n{trigger}\n'))


@pytest.mark.parametrize("trigger", ONE_LEG)
def test_one_leg_fires_if_it_has_an_object(tmp_path: Path, trigger: str) -> None:
    plan = planned(tmp_path, trigger)
    (leg,) = plan.slots[0].compiled.leg_objects
    events = open_catalogue().sample("tt").read(0, 0, 2000, [*plan.needs, *leg.needs()])
    work = Workspace(events)
    fired = bit_of_words(decide(events, plan, work), 0)
    assert (np.diff(work.objects(leg).offsets) > 0).tolist() == fired.tolist()
    assert 0 < fired.sum() < len(fired)


def test_each_leg_has_its_own(tmp_path: Path) -> None:
    text = 'kind = "combination"\nlegs = [{ object = "jet", pt = { min = 70.0 } }, { object = "muon" }]'
    jets, muons = planned(tmp_path, text).slots[0].compiled.leg_objects
    assert (jets.base, muons.base) == ("jet", "muon")
    events = open_catalogue().sample("tt").read(0, 0, 500, [*jets.needs(), *muons.needs()])
    work = Workspace(events)
    pt = events.collections["jet"].columns["pt"][slice(*events.collections["jet"].offsets[[0, -1]])]
    assert work.column(jets, "pt").tolist() == pt[pt >= 70.0].tolist()
    assert len(work.rows(muons)) == np.diff(events.collections["muon"].offsets).sum()


@pytest.mark.parametrize("trigger", NONE)
def test_sums_and_other_crossings_have_none(tmp_path: Path, trigger: str) -> None:
    assert planned(tmp_path, trigger).slots[0].compiled.leg_objects == ()
