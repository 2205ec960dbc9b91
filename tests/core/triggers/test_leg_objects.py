"""The objects that satisfy the legs of a trigger: an event fires on one leg if and only if it has one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toys import menu_from

from trigemu import open_catalogue
from trigemu.api import make_plan
from trigemu.emulation.plan import Plan, bit_of_words, decide
from trigemu.observables.workspace import Workspace

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
