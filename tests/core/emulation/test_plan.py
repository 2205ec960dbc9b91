"""Packed bits against the scores of each trigger alone and plain Python; what a plan shares, what it leaves
out, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toys import combination, events_of, logic, memory_catalogue, menu_from, threshold, toy_events, trigger

from trigemu import Menu, TrigemuError, decide, fed_menu, make_plan, run
from trigemu.base.errors import PluginError
from trigemu.counting.decisions import raw_decisions
from trigemu.emulation.plan import Plan, PlannedTrigger
from trigemu.menus.menu import LeftOut
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled

EVENTS = toy_events(31, 500)


WHOLE = events_of(EVENTS, first=1000)


def bits(words: np.ndarray, number: int) -> list[list[bool]]:
    """Bit b of each event, taken out of the words with Python's integers."""
    patterns = [sum(int(word) << (64 * i) for i, word in enumerate(row)) for row in words]
    assert all(pattern >> number == 0 for pattern in patterns)
    return [[bool(pattern >> b & 1) for pattern in patterns] for b in range(number)]


@pytest.mark.parametrize("number", [1, 63, 64, 65, 130])
def test_bit_b_is_the_decision_of_trigger_b(tmp_path: Path, number: int) -> None:
    thresholds = [5.0 + 0.7 * i for i in range(number)]
    plan = make_plan(
        [menu_from(tmp_path, "".join(threshold(f"T{i}", "jet[0].pt", c) for i, c in enumerate(thresholds)))]
    )
    words = decide(WHOLE, plan)
    assert words.shape == (len(EVENTS), -(-number // 64))
    assert words.dtype == np.uint64
    expected = [[bool(e["jet"]) and e["jet"][0]["pt"] > value for e in EVENTS] for value in thresholds]
    assert bits(words, number) == expected


def test_menus_share_what_is_equal(tmp_path: Path) -> None:
    """Equal means: the same after all names are resolved."""
    objects = '[objects.NAME]\nfrom = "jet"\npt = { min = 20.0 }\n'
    first = menu_from(tmp_path, objects.replace("NAME", "jet") + threshold("A", "jet[0].pt", 30))
    second = menu_from(
        tmp_path,
        objects.replace("NAME", "hard")
        + threshold("SAME", "hard[ 0 ].pt", 30, "prescale = 7")
        + threshold("OTHER", "jet[0].pt", 30)
        + threshold("HIGHER", "hard[0].pt", 31)
        + logic("BITS", "SAME"),
    )
    plan = make_plan([first, second])
    assert len(plan.slots) == 3
    assert plan.bits[0] == {"A": plan.bits[1]["SAME"]}
    assert len(set(plan.bits[1].values())) == 3
    assert "BITS" not in plan.bits[1]
    for menu, of_menu in zip((first, second), plan.bits, strict=True):
        alone = make_plan([menu])
        for name, bit in of_menu.items():
            together = bits(decide(WHOLE, plan), 3)[bit]
            assert together == bits(decide(WHOLE, alone), len(alone.slots))[alone.bits[0][name]]


def test_a_menu_without_events_kinds_has_one_empty_word(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, trigger("R", "random", "rate_hz = 1"))])
    assert (plan.words, plan.slots, plan.bits) == (1, (), ({},))
    assert not decide(WHOLE, plan).any()


def test_a_disabled_trigger_that_nobody_uses_needs_nothing(tmp_path: Path) -> None:
    off = "enabled = false"
    unused = threshold("OFF", "muon[0].eta", 1, off) + logic("ALSO", "OFF", off)
    text = threshold("READ", "n_jet", 1, off) + threshold("A", "met", 1, 'seed = "READ"') + unused
    menu = menu_from(tmp_path, text)
    assert [trigger.name for trigger in menu.used] == ["READ", "A"]
    plan = make_plan([menu])
    assert set(plan.needs) == {("", "met"), ("jet", "pt")}
    assert plan.bits[0].keys() == {"READ", "A"}
    without = make_plan([menu_from(tmp_path, text.removesuffix(unused))])
    assert bits(decide(WHOLE, plan), 2) == bits(decide(WHOLE, without), 2)
    raw = raw_decisions(decide(WHOLE, plan), menu, plan.bits[0])
    assert {name: decided.tolist() for name, decided in raw.items()} == {
        "READ": [len(e["jet"]) > 1 for e in EVENTS],
        "A": [len(e["jet"]) > 1 and e["met"] > 1 for e in EVENTS],
    }


def test_every_trigger_that_needs_a_column_is_named(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, "".join(threshold(f"T{n}", f"met_ph + {n}", n) for n in range(11)))
    (sample,) = memory_catalogue({"toys": EVENTS}).samples
    place = tmp_path / "menu.toml"
    for number, end in (
        (2, f"; 'T1' ({place}:7) needs it too"),
        (3, f"; 'T1' ({place}:7), 'T2' ({place}:13) need it too"),
        (11, f"'T8' ({place}:49) and 2 more need it too"),
    ):
        with pytest.raises(TrigemuError) as error:
            make_plan([replace(menu, triggers=menu.triggers[:number])]).check(sample)
        assert str(error.value).endswith(end)
        assert str(error.value).startswith(f"{place}:1: trigger 'T0': sample 'toys' has no observable")


def test_a_collection_that_a_sample_lacks_is_reported_once(tmp_path: Path) -> None:
    """With all triggers that need any of its columns."""
    text = (
        threshold("A", "jets[0].eta", 1) + threshold("B", "jets[0].pt", 1) + threshold("C", "jets[1].pt", 1)
    )
    (sample,) = memory_catalogue({"toys": EVENTS}).samples
    with pytest.raises(TrigemuError) as error:
        make_plan([menu_from(tmp_path, text)]).check(sample)
    (line,) = str(error.value).splitlines()
    place = tmp_path / "menu.toml"
    assert line.startswith(
        f"{place}:1: trigger 'A': sample 'toys' has no collection 'jets'; did you mean 'jet'?"
    )
    assert line.endswith(f"; 'B' ({place}:7), 'C' ({place}:13) need it too")


@dataclass(frozen=True)
class Made(Compiled):
    """A compiled trigger that gives whatever a test wants."""

    give: Callable[[int], Any]
    threshold: float | None = None

    def evaluate(self, work: Any) -> Any:
        return self.give(len(work.events))


def plan_of(menu: Menu, compiled: Made) -> Plan:
    return Plan((PlannedTrigger(compiled, menu.triggers[0]),), ({"T": 0},), {})


def _raise(n: int) -> None:
    raise ValueError("no model")


def _nan(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 10 == 7, np.nan, 1.0)


@pytest.mark.parametrize(
    ("compiled", "message"),
    [
        (Made(_raise), "failed on sample 'toy', from event 1000: ValueError: no model"),
        (Made(lambda n: None), "gave a NoneType, expected bool[500]"),
        (Made(lambda n: [True] * n), "gave a list, expected bool[500]"),
        (Made(lambda n: np.ones(n)), "gave float64[500], expected bool[500]"),
        (Made(lambda n: np.ones(n - 1, bool)), "gave bool[499], expected bool[500]"),
        (Made(lambda n: np.ones((n, 1), bool)), "gave bool[500, 1], expected bool[500]"),
        (Made(lambda n: np.ones(n, bool), 0.0), "gave bool[500], expected float64[500]"),
        (Made(lambda n: np.ones(n, "f4"), 0.0), "gave float32[500], expected float64[500]"),
        (Made(_nan, 0.0), "its score is not a number (NaN) in sample 'toy', event 1007"),
    ],
)
def test_a_kind_that_breaks_its_contract(tmp_path: Path, compiled: Made, message: str) -> None:
    menu = menu_from(tmp_path, threshold("T", "ht", 1))
    with pytest.raises(PluginError) as error:
        decide(WHOLE, plan_of(menu, compiled))
    assert message in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'menu.toml'}:1: trigger 'T'")


def test_scores_may_be_infinite(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, threshold("T", "ht", 1))
    score = np.array([-np.inf, np.inf, 0.0, -0.0, 1e-300])
    words = decide(WHOLE[:5], plan_of(menu, Made(lambda n: score, 0.0)))
    assert words[:, 0].tolist() == [0, 1, 0, 0, 1]


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
#: Cuts that objects lie on, and those that nothing or everything is above.
PTS = sorted({o["pt"] for event in EVENTS for o in event["jet"]})
drawn_cuts = st.one_of(st.sampled_from(PTS), st.sampled_from([-1e300, 1e300, 0.0]), st.floats(5, 80))
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
def drawn_thresholds(draw: st.DrawFn, name: str) -> str:
    requires, above = draw(requirements), draw(drawn_cuts)
    return threshold(name, draw(observables), above, f'requires = "{requires}"' if requires else "")


@st.composite
def drawn_combinations(draw: st.DrawFn, name: str) -> str:
    windows = st.one_of(st.just(""), st.sampled_from(PTS).map(lambda pt: f", pt = {{ min = {pt} }}"))
    names = st.sampled_from(["jet", "central", "clean", "photon"])
    legs = [f'{{ object = "{draw(names)}"{draw(windows)} }}' for _ in range(draw(st.integers(1, 3)))]
    pairs = "pairs = [ { legs = [0, 1], dphi = { min = 1.0 } } ]" if len(legs) > 1 else ""
    return combination(name, ", ".join(legs), pairs)


@st.composite
def drawn_menus(draw: st.DrawFn) -> str:
    number = draw(st.integers(1, 6))
    return HEAD + "".join(
        draw(st.one_of(drawn_thresholds(f"T{i}"), drawn_combinations(f"T{i}"))) for i in range(number)
    )


def expected(plan: Plan, events: Events) -> list[list[bool]]:
    """Of each slot by itself, from its own scores."""
    found = []
    for slot in plan.slots:
        result = slot.compiled.evaluate(Workspace(events))
        found.append(
            (result if slot.compiled.threshold is None else result > slot.compiled.threshold).tolist()
        )
    return found


@settings(max_examples=80)
@given(drawn_menus())
def test_decisions_are_those_of_the_scores(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    plan = make_plan([menu_from(tmp_path_factory.mktemp("menu"), text)])
    for events in (WHOLE, WHOLE[17:60], WHOLE[:0]):
        assert bits(decide(events, plan), len(plan.slots)) == expected(plan, events)


GOOD = (
    threshold("J", "jet[0].pt", 20.0, 'group = "a"')
    + threshold("M", "met", 15.0, 'seed = "J"')
    + combination("G", '{ object = "photon", pt = { min = 9.0 } }')
)
BAD = (
    combination("TAU", '{ object = "jet" }, { object = "tau" }')
    + threshold("ISO", "photon[0].isolation", 0.1, 'group = "a"')
    + threshold("N", "n_vertex", 3)
    + trigger("STORED", "stored", 'decision = "L1_A"')
    + logic("EITHER", "J or THIRD")
    + threshold("THIRD", "jet[2].pt", 5.0, 'seed = "TAU or J"')
    + threshold("OFF", "tau[0].pt", 5.0, "enabled = false")
    + threshold("SEEDED", "jet[0].pt", 5.0, 'seed = "OFF"')
)
MISSING = {
    "TAU": "tau",
    "ISO": "photon.isolation",
    "N": "n_vertex",
    "STORED": "stored decision L1_A",
    "EITHER": "reads THIRD",
    "THIRD": "reads TAU",
    "OFF": "tau",
    "SEEDED": "reads OFF",
}


@pytest.fixture(scope="module")
def samples() -> Catalogue:
    return memory_catalogue({"one": toy_events(3, 200), "two": toy_events(4, 100)})


def test_what_is_left_out_and_what_remains(tmp_path: Path, samples: Catalogue) -> None:
    mixed, good = menu_from(tmp_path, BAD + GOOD), menu_from(tmp_path, GOOD)
    fed = fed_menu(mixed, samples)
    assert fed_menu(good, samples) is good
    assert {out.name: out.missing for out in fed.left_out} == MISSING
    assert [t.name for t in fed.triggers] == ["J", "M", "G"]
    ours, expected = run(fed, samples), run(good, samples)
    assert [(t.name, t.total, t.unique) for t in ours.triggers] == [
        (t.name, t.total, t.unique) for t in expected.triggers
    ]
    assert (ours.rate, ours.groups) == (expected.rate, expected.groups)
    assert ours.rate.events > 0
    assert ours.to_dict()["menu"]["left_out"] == [
        {"name": name, "missing": missing} for name, missing in MISSING.items()
    ]
    said = "Left out: 8 of 11 triggers, since the samples lack what they need: TAU (tau), ISO (photon."
    assert said in " ".join(str(ours).split())
    assert "left_out" not in expected.to_dict()["menu"]


def test_a_menu_of_which_nothing_remains(tmp_path: Path, samples: Catalogue) -> None:
    bad = menu_from(tmp_path, BAD + GOOD).part(["TAU", "ISO"])
    with pytest.raises(
        TrigemuError, match=r"menu\.toml: .* none of its triggers: TAU \(tau\), ISO \(photon\."
    ):
        fed_menu(bad, samples)


def test_equal_triggers_that_read_neighbouring_crossings(tmp_path: Path, samples: Catalogue) -> None:
    legs = '{ object = "jet" }, { object = "jet", crossing = -1 }'
    before = combination("B1", legs) + combination("B2", legs)
    fed = fed_menu(menu_from(tmp_path, before + GOOD), samples)
    assert fed.left_out == tuple(LeftOut(name, "neighbouring crossings") for name in ("B1", "B2"))
