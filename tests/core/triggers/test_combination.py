"""Combinations against every choice of objects (`object_choices`), and the scores of `leg_threshold` against
the largest value of all choices that fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from object_choices import Event, brute_force, choices, combinations, expected, objects
from toys import combination, memory_catalogue, menu_from, threshold, toy_events, trigger

import trigemu
from trigemu import TrigemuError
from trigemu.base.toml import TomlTable
from trigemu.observables.selections import Range, Scope, Window
from trigemu.observables.workspace import Workspace
from trigemu.triggers import combination as module
from trigemu.triggers.base import Context
from trigemu.triggers.combination import Combination, Leg, LegThreshold
from trigemu.triggers.pairs import LegSum, Pair

Fires = Callable[..., list[bool]]


@settings(max_examples=60)
@given(combinations() | combinations(least=5, most=6), st.integers(0, 149), st.integers(0, 40))
def test_a_combination_fires_if_a_choice_fits(
    plain_events: list[Event], fires: Fires, kind: Combination, start: int, length: int
) -> None:
    rows = slice(start, min(150, start + length))
    assert fires(kind, rows) == expected(plain_events[rows], kind)


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects are matched to legs before the first trial."""
    monkeypatch.setattr(module, "MATCH_AFTER", 1)


@settings(max_examples=30)
@given(combinations(least=2, most=5))
def test_matching_objects_to_legs_changes_no_decision(
    plain_events: list[Event], fires: Fires, matched: None, kind: Combination
) -> None:
    rows = slice(0, 60)
    assert fires(kind, rows) == expected(plain_events[rows], kind)


def event_of(*muons: dict[str, float]) -> Event:
    """An event with these muons, whose columns are 0 or 1 unless they are given."""
    rest = {"eta": 0.0, "phi": 0.0, "z0": 0.0, "isolation": 0.0, "upt": 0.0, "charge": 1, "quality": 1}
    return {"jet": [], "photon": [], "muon": [rest | muon for muon in muons]}


def many_muons(n: int) -> Event:
    return event_of(*({"pt": 200.0 - i, "eta": 0.01 * i} for i in range(n)))


def leg(name: str, **windows: Window | tuple[Window, ...]) -> Leg:
    return Leg(object=name, windows=windows)


def of(*legs: str | Leg, **cuts: Any) -> Combination:
    made = tuple(one if isinstance(one, Leg) else Leg(object=one) for one in legs)
    return Combination(legs=made, **cuts)


def cut(**cuts: Any) -> Combination:
    return of("muon", "muon", pairs=(Pair(legs=(0, 1), **cuts),))


MUONS = ("muon",) * 3


@pytest.mark.parametrize(("least", "there"), [(198.5, False), (197.5, True)])
def test_twelve_legs_over_a_hundred_objects(fires: Fires, least: float, there: bool) -> None:
    """The last three want the two, or three, leading ones, which the others need not take."""
    loose = [leg("muon", eta=Window(max=5.0 + number)) for number in range(9)]
    hard = [leg("muon", pt=Window(min=least), phi=Window(max=1.0 + i)) for i in range(3)]
    assert fires(of(*loose, *hard), events=[many_muons(100)]) == [there]


def test_a_search_without_end_is_refused(fires: Fires, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STEPS", 1000)
    heavy = of(*MUONS, pairs=(Pair(legs=(1, 2), mass=Range(min=1e6)),))
    assert fires(heavy, events=[many_muons(9)]) == [False]
    message = "sample 'toy', event 1: 40, 40, 40 objects for its legs need more than 1000 trials"
    with pytest.raises(TrigemuError, match=message):
        fires(heavy, events=[many_muons(9), many_muons(40)])


@settings(max_examples=30)
@given(st.permutations(range(6)), st.integers(0, 5))
def test_six_legs_that_only_one_choice_fits(fires: Fires, order: list[int], wrong: int) -> None:
    """Leg k wants an object whose place in η is known, and a neighbour at a known distance."""
    event = event_of(*({"pt": 40.0 - i, "eta": float(2**place)} for i, place in enumerate(order)))
    pairs = tuple(Pair(legs=(k, k + 1), deta=Range(min=2.0**k - 0.5, max=2.0**k + 0.5)) for k in range(5))
    legs = ("muon",) * 6
    assert brute_force([event], 0, of(*legs, pairs=pairs))
    assert fires(of(*legs, pairs=pairs), events=[event]) == [True]
    less = event | {"muon": event["muon"][:wrong] + event["muon"][wrong + 1 :]}
    assert fires(of(*legs, pairs=pairs), events=[less]) == [False]
    other = tuple(Pair(legs=pair.legs, deta=pair.deta, charge="opposite") for pair in pairs)
    assert fires(of(*legs, pairs=other), events=[event]) == [False]


@pytest.mark.parametrize(
    "kind",
    [
        cut(mass=Range(min=7.0, max=18.0), charge="opposite"),
        cut(dr=Range(max=1.2)),
        cut(deta=Range(min=1.5)),
        cut(dphi=Range(min=2.5)),
        cut(dz0=Range(max=0.5)),
        cut(charge="same"),
        of(leg("jet", pt=Window(min=15.0)), "hard", leg("jet", pt=Window(min=4.0))),
        cut(pair_pt=Range(min=20.0)),
        cut(transverse_mass=Range(min=20.0)),
        cut(mass_upt=Range(max=15.0)),
        cut(outside_dr=Range(max=2.5)),
        cut(outside_dr=Range(max=0.8), every=True),
        cut(mass_over_dr=Range(min=12.0)),
        cut(outside_deta=Range(min=0.5)),
        cut(outside_dphi=Range(min=0.5, max=2.0)),
        of(*MUONS, charge="opposite"),
        of(*MUONS, charge="same"),
        of("jet", "muon", charge="opposite"),
        of(*MUONS, mass3=Range(max=30.0)),
        of(*MUONS, sum=LegSum(legs=(0, 2), column="isolation", min=1.2, max=1.5)),
        of(
            *("jet", Leg(object="muon", columns={"z0": "isolation"})),
            pairs=(Pair(legs=(1, 0), dz0=Range(max=0.05)),),
        ),
        of(Leg(object="jet", columns={"charge": "z0"}), "muon", charge="opposite"),
        of(Leg(object="muon", crossing=-1), "muon"),
        of(*(Leg(object="muon", crossing=1), "muon"), pairs=(Pair(legs=(0, 1), dphi=Range(min=2.0)),)),
        of(*[leg("muon", eta=(Window(max=-1.5), Window(min=1.5)))] * 2),
        of("hard", "clean"),
        of("muon", *MUONS),
        of("jet", "muon", "photon"),
        of(
            leg("muon", pt=Window(min=15.0)),
            leg("muon", charge=Window(any_of=(1,)), isolation=Window(max=0.5)),
        ),
    ],
)
def test_cuts_that_some_events_pass(plain_events: list[Event], fires: Fires, kind: Combination) -> None:
    fired = expected(plain_events, kind)
    assert 3 < sum(fired) < 147
    assert fires(kind) == fired


def test_one_object_is_not_two(plain_events: list[Event], fires: Fires) -> None:
    """Not of one collection, nor of two selections of it."""
    single = [event | {"muon": event["muon"][:1]} for event in plain_events]
    assert any(objects(event, "clean") and objects(event, "hard") for event in single)
    for names in (("muon", "muon"), ("hard", "clean"), ("muon", "hard")):
        assert not any(fires(of(*names), events=single))
    assert fires(of("muon"), events=single) == [bool(event["muon"]) for event in single]


def test_at_the_same_place_the_mass_is_0(plain_events: list[Event], fires: Fires) -> None:
    """Which is below any maximum."""
    merged = [
        event | {"muon": [o | {"eta": 1.25, "phi": -3.0} for o in event["muon"]]} for event in plain_events
    ]
    two, three = ([len(event["muon"]) >= number for event in merged] for number in (2, 3))
    for name in ("mass", "mass_upt", "transverse_mass"):
        assert fires(cut(**{name: Range(max=1.0)}), events=merged) == two
        assert not any(fires(cut(**{name: Range(min=1.0)}), events=merged))
    assert fires(of(*MUONS, mass3=Range(max=1.0)), events=merged) == three


def test_only_columns_that_are_asked_for_are_needed(scope: Scope) -> None:
    def needs(kind: Combination) -> set[tuple[str, str]]:
        context = Context(scope)
        kind.compile(context)
        return context.needs

    assert needs(of("jet", "muon")) == {("jet", "pt"), ("muon", "pt")}
    kind = of(
        *(leg("photon", isolation=Window(max=0.1)), "muon"),
        pairs=(Pair(legs=(0, 1), dz0=Range(max=1.0), charge="same"),),
    )
    columns = {(name, column) for name in ("photon", "muon") for column in ("pt", "z0", "charge")}
    assert needs(kind) == columns | {("photon", "isolation")}
    kind = of(
        *(Leg(object="photon", columns={"z0": "zvtx", "charge": "q"}), "muon", "jet"),
        pairs=(Pair(legs=(0, 1), dz0=Range(max=1.0)),),
        sum=LegSum(legs=(1, 2), column="btag", min=1.0),
    )
    assert needs(kind) == {
        *((name, "pt") for name in ("photon", "muon", "jet")),
        *(("photon", "zvtx"), ("muon", "z0"), ("muon", "btag"), ("jet", "btag")),
    }


def test_twelve_legs(fires: Fires) -> None:
    """Each wants a place in η of its own, and two objects are in the wrong crossing."""
    muons = event_of(*({"pt": 40.0 - i, "eta": float(i)} for i in range(12)))["muon"]
    events = [event_of(*muons[:10]), event_of(*muons[10:])]
    legs = tuple(
        Leg(
            object="muon",
            crossing=int(place >= 10),
            windows={"eta": Window(min=place - 0.5, max=place + 0.5), "pt": Window(min=40.0 - place)},
        )
        for place in reversed(range(12))
    )
    kind = of(*legs, charge="same")
    assert fires(kind, events=events) == expected(events, kind) == [True, False]
    events[1]["muon"] = [muons[10], muons[11] | {"charge": -1}]
    assert fires(kind, events=events) == [False, False]
    assert fires(of(*legs, charge="opposite"), events=events) == [True, False]


DR = Pair(legs=(0, 1), dr=Range(min=0.4))


@pytest.mark.parametrize(
    ("table", "where", "message"),
    [
        (of("muon", "muon", pairs=(DR,) * 201), "pairs", "201 pairs: at most 200 are allowed"),
        (
            of("muon", "muon", pairs=(msgspec.structs.replace(DR, every=True),)),
            ("pairs", 0, "every"),
            "pairs[0].every: expected outside_dr, outside_deta or outside_dphi beside it",
        ),
        (
            Leg(object="muon", columns={"pt": "et"}),
            "columns",
            "columns: 'pt': expected z0 or charge, which may have other names",
        ),
        *(
            (
                of(*MUONS, sum=LegSum(legs=tuple(legs), column="pt", min=1.0)),
                ("sum", "legs"),
                f"sum.legs = {legs}: expected different ones of 0 … 2, two or more",
            )
            for legs in ([0], [0, 0], [0, 3], [-1, 1], [])
        ),
        (LegSum(legs=(0, 1), column="pt"), "", "an empty range: give min, max, above or below"),
    ],
)
def test_mistakes_of_legs_and_cuts(table: TomlTable, where: object, message: str) -> None:
    assert list(table.mistakes()) == [(where, message)]


Of = Callable[[slice], Workspace]


@st.composite
def thresholds(draw: st.DrawFn, most: int = 4) -> tuple[Combination, LegThreshold]:
    """A combination, and the same with a threshold on one leg."""
    kind = draw(combinations(most=most))
    leg = draw(st.integers(0, len(kind.legs) - 1))
    column = draw(st.sampled_from(["pt", "pt", "eta", "isolation"]))
    assume(not any(pair.every and leg == max(pair.legs) for pair in kind.pairs))
    legs = [*kind.legs]
    windows = {name: window for name, window in legs[leg].windows.items() if name != column}
    legs[leg] = msgspec.structs.replace(legs[leg], windows=windows)
    kind = msgspec.structs.replace(kind, legs=tuple(legs))
    asked = {name: getattr(kind, name) for name in kind.__struct_fields__}
    return kind, LegThreshold(**asked, leg=leg, column=column, above=draw(st.sampled_from([0.0, 9.0])))


def largest(events: list[Event], number: int, kind: Combination, threshold: LegThreshold) -> float:
    fitting = choices(events, number, kind)
    return max((np.float32(chosen[threshold.leg][threshold.column]) for chosen in fitting), default=-math.inf)


@settings(max_examples=30)
@given(thresholds(), st.integers(0, 149), st.integers(1, 40))
def test_the_score_is_the_largest_value_of_any_choice(
    plain_events: list[Event],
    workspace_of: Of,
    scope: Scope,
    both: tuple[Combination, LegThreshold],
    start: int,
    length: int,
) -> None:
    kind, threshold = both
    rows = slice(start, min(150, start + length))
    compiled = threshold.compile(Context(scope))
    events = plain_events[rows]
    expected = [largest(events, number, kind, threshold) for number in range(len(events))]
    assert compiled.evaluate(workspace_of(rows)).tolist() == expected
    threshold = sorted(expected)[len(expected) // 2]
    above = compiled.score_above(workspace_of(rows), threshold)
    assert [max(score, threshold) for score in above.tolist()] == [
        max(score, threshold) for score in expected
    ]


@settings(max_examples=20)
@given(thresholds())
def test_matching_objects_to_legs_changes_no_score(
    plain_events: list[Event],
    workspace_of: Of,
    scope: Scope,
    matched: None,
    both: tuple[Combination, LegThreshold],
) -> None:
    events, compiled = plain_events[:40], both[1].compile(Context(scope))
    expected = [largest(events, number, *both) for number in range(len(events))]
    assert compiled.evaluate(workspace_of(slice(0, 40))).tolist() == expected


JETS = '[{{ object = "jet", eta = {{ abs_max = 2.0 }} }}, {{ object = "jet", pt = {{ min = 10 }} }}]'
MENU = (
    trigger(
        "D",
        "leg_threshold",
        f"legs = {JETS}\npairs = [{{{{ legs = [0, 1], dr = {{{{ min = 0.5 }}}} }}}}]\n{{threshold}}",
    )
    + threshold("G", "photon[0].pt", 12.0)
    + combination("WIDE", '{{ object = "jet" }}, {{ object = "jet", pt = {{ min = 8 }} }}')
)


@pytest.mark.parametrize("quantity", ["total", "unique"])
def test_a_budget_is_met(tmp_path: Path, quantity: str) -> None:
    catalogue = memory_catalogue({"a": [e | {"weight": 1.0} for e in toy_events(1, 600)]})
    text = MENU.format(threshold=f"{quantity}_rate_hz = 30.0").replace('"WIDE"', '"WIDE"\nenabled = false')
    menu = menu_from(tmp_path, text)
    rates = trigemu.run(menu, catalogue)["D"]
    met = getattr(rates, quantity)
    assert abs(met.hz - 30.0) <= 2.0  # an event of the half has a weight of about 2
    (solved,) = trigemu.solve_budgets(menu, catalogue)
    trigemu.write_calibrated(solved, tmp_path / "calibrated.toml", catalogue.table.name)
    written = trigemu.run(tmp_path / "calibrated.toml", catalogue)["D"]
    assert met.budgeted
    assert (written.threshold, getattr(written, quantity)) == (rates.threshold, replace(met, budgeted=False))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("leg = 2", r"leg = 2: expected one of 0 … 1"),
        ("leg = -1", r"leg = -1: expected an integer >= 0"),
        ("leg = 1", r"legs\[1\]\.pt: the threshold of this leg is `above`, give it no window on pt"),
        ('column = "colour"', "colour"),
        ("", "the key 'above' is missing, or a rate to find it from"),
    ],
)
def test_mistakes_of_a_leg_threshold(tmp_path: Path, key: str, message: str) -> None:
    threshold = f"above = 1\n{key}" if key else ""
    with pytest.raises(TrigemuError, match=message):
        trigemu.run(
            menu_from(tmp_path, MENU.format(threshold=threshold)), memory_catalogue({"a": toy_events(1, 9)})
        )


def test_objects_below_the_threshold_cannot_veto(tmp_path: Path) -> None:
    text = MENU.format(threshold="above = 1").replace(
        "dr = { min = 0.5 }", "outside_dr = { max = 0.5 }, every = true"
    )
    menu_from(tmp_path, text)
    with pytest.raises(TrigemuError, match=r"pairs\[0\]\.every: leg 1 has the threshold"):
        menu_from(
            tmp_path, text.replace(", pt = { min = 10 }", "").replace("above = 1", "above = 1\nleg = 1")
        )
