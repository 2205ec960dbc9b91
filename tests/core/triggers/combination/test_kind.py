"""Against every choice of objects (`object_choices`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from object_choices import Event, Object, brute_force, combinations, expected, objects

from trigemu import TrigemuError
from trigemu.observables.selections import Range, Scope, Window
from trigemu.triggers import combination as kind_module
from trigemu.triggers.base import Context
from trigemu.triggers.combination import Combination, Leg
from trigemu.triggers.pairs import LegSum, Pair

Fires = Callable[..., list[bool]]


@settings(max_examples=70)
@given(combinations(), st.integers(0, 149), st.integers(0, 40))
def test_up_to_four_legs(
    plain_events: list[Event], fires: Fires, kind: Combination, start: int, length: int
) -> None:
    rows = slice(start, min(150, start + length))
    assert fires(kind, rows) == expected(plain_events[rows], kind)


@settings(max_examples=15)
@given(combinations(least=5, most=6))
def test_five_and_six_legs(plain_events: list[Event], fires: Fires, kind: Combination) -> None:
    rows = slice(0, 60)
    assert fires(kind, rows) == expected(plain_events[rows], kind)


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects are matched to legs before the first trial."""
    monkeypatch.setattr(kind_module, "MATCH_AFTER", 1)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(combinations(least=2, most=5))
def test_matching_objects_to_legs_changes_no_decision(
    plain_events: list[Event], fires: Fires, matched: None, kind: Combination
) -> None:
    rows = slice(0, 60)
    assert fires(kind, rows) == expected(plain_events[rows], kind)


def many_muons(n: int) -> Event:
    rest = {"z0": 0.0, "isolation": 0.0, "upt": 0.0, "charge": 1, "quality": 1}
    muons = [{"pt": 200.0 - i, "eta": 0.01 * i, "phi": 0.0, **rest} for i in range(n)]
    return {"jet": [], "photon": [], "muon": muons}


@pytest.mark.parametrize(("least", "there"), [(198.5, False), (197.5, True)])
def test_twelve_legs_over_a_hundred_objects(fires: Fires, least: float, there: bool) -> None:
    """The last three want the two, or three, leading ones, which the others need not take."""
    loose = [Leg(object="muon", windows={"eta": Window(max=5.0 + leg)}) for leg in range(9)]
    hard = [
        Leg(object="muon", windows={"pt": Window(min=least), "phi": Window(max=1.0 + i)}) for i in range(3)
    ]
    assert fires(Combination(legs=(*loose, *hard)), events=[many_muons(100)]) == [there]


def test_a_search_without_end_is_refused(fires: Fires, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_module, "MAX_STEPS", 1000)
    heavy = Combination(legs=(Leg(object="muon"),) * 3, pairs=(Pair(legs=(1, 2), mass=Range(min=1e6)),))
    assert fires(heavy, events=[many_muons(9)]) == [False]
    message = "sample 'toy', event 1: 40, 40, 40 objects for its legs need more than 1000 trials"
    with pytest.raises(TrigemuError, match=message):
        fires(heavy, events=[many_muons(9), many_muons(40)])


def test_very_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_module, "MAX_PAIRS", 2)
    pairs = (Pair(legs=(0, 1), dr=Range(min=0.4)),) * 3
    kind = Combination(legs=(Leg(object="muon"),) * 2, pairs=pairs)
    assert list(kind.mistakes()) == [("pairs", "3 pairs: at most 2 are allowed")]


def test_every_needs_something_to_keep_apart() -> None:
    pairs = (Pair(legs=(0, 1), dr=Range(min=0.4), every=True),)
    kind = Combination(legs=(Leg(object="muon"),) * 2, pairs=pairs)
    message = "pairs[0].every: expected outside_dr, outside_deta or outside_dphi beside it"
    assert list(kind.mistakes()) == [(("pairs", 0, "every"), message)]


@settings(max_examples=30)
@given(st.permutations(range(6)), st.integers(0, 5))
def test_six_legs_that_only_one_choice_fits(fires: Fires, order: list[int], wrong: int) -> None:
    """Leg k wants an object whose place in η is known, and a neighbour at a known distance."""
    rest = {"phi": 0.0, "z0": 0.0, "isolation": 0.0, "upt": 0.0, "charge": 1, "quality": 1}
    muons = [{"pt": 40.0 - i, "eta": float(2**place), **rest} for i, place in enumerate(order)]
    event = {"jet": [], "photon": [], "muon": muons}
    pairs = tuple(Pair(legs=(k, k + 1), deta=Range(min=2.0**k - 0.5, max=2.0**k + 0.5)) for k in range(5))
    legs = (Leg(object="muon"),) * 6
    assert brute_force([event], 0, Combination(legs=legs, pairs=pairs))
    assert fires(Combination(legs=legs, pairs=pairs), events=[event]) == [True]
    less = event | {"muon": muons[:wrong] + muons[wrong + 1 :]}
    assert fires(Combination(legs=legs, pairs=pairs), events=[less]) == [False]
    other = tuple(Pair(legs=pair.legs, deta=pair.deta, charge="opposite") for pair in pairs)
    assert fires(Combination(legs=legs, pairs=other), events=[event]) == [False]


def cut(**cuts: Any) -> Combination:
    legs = (Leg(object="muon"), Leg(object="muon"))
    return Combination(legs=legs, pairs=(Pair(legs=(0, 1), **cuts),))


@pytest.mark.parametrize(
    "kind",
    [
        cut(mass=Range(min=7.0, max=18.0), charge="opposite"),
        cut(dr=Range(max=1.2)),
        cut(deta=Range(min=1.5)),
        cut(dphi=Range(min=2.5)),
        cut(dz0=Range(max=0.5)),
        cut(charge="same"),
        Combination(
            legs=(
                Leg(object="jet", windows={"pt": Window(min=15.0)}),
                Leg(object="hard"),
                Leg(object="jet", windows={"pt": Window(min=4.0)}),
            )
        ),
        cut(pair_pt=Range(min=20.0)),
        cut(transverse_mass=Range(min=20.0)),
        cut(mass_upt=Range(max=15.0)),
        cut(outside_dr=Range(max=2.5)),
        cut(outside_dr=Range(max=0.8), every=True),
        cut(mass_over_dr=Range(min=12.0)),
        cut(outside_deta=Range(min=0.5)),
        cut(outside_dphi=Range(min=0.5, max=2.0)),
        Combination(legs=(Leg(object="muon"),) * 3, charge="opposite"),
        Combination(legs=(Leg(object="muon"),) * 3, charge="same"),
        Combination(legs=(Leg(object="jet"), Leg(object="muon")), charge="opposite"),
        Combination(legs=(Leg(object="muon"),) * 3, mass3=Range(max=30.0)),
        Combination(
            legs=(Leg(object="muon"),) * 3, sum=LegSum(legs=(0, 2), column="isolation", min=1.2, max=1.5)
        ),
        Combination(
            legs=(Leg(object="jet"), Leg(object="muon", columns={"z0": "isolation"})),
            pairs=(Pair(legs=(1, 0), dz0=Range(max=0.05)),),
        ),
        Combination(
            legs=(Leg(object="jet", columns={"charge": "z0"}), Leg(object="muon")), charge="opposite"
        ),
        Combination(legs=(Leg(object="muon", crossing=-1), Leg(object="muon"))),
        Combination(
            legs=(Leg(object="muon", crossing=1), Leg(object="muon")),
            pairs=(Pair(legs=(0, 1), dphi=Range(min=2.0)),),
        ),
        Combination(legs=(Leg(object="muon", windows={"eta": (Window(max=-1.5), Window(min=1.5))}),) * 2),
        Combination(legs=(Leg(object="hard"), Leg(object="clean"))),
        Combination(legs=(Leg(object="muon"),) * 4),
        Combination(legs=(Leg(object="jet"), Leg(object="muon"), Leg(object="photon"))),
        Combination(
            legs=(
                Leg(object="muon", windows={"pt": Window(min=15.0)}),
                Leg(object="muon", windows={"charge": Window(any_of=(1,)), "isolation": Window(max=0.5)}),
            )
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
        assert not any(fires(Combination(legs=tuple(Leg(object=name) for name in names)), events=single))
    assert fires(Combination(legs=(Leg(object="muon"),)), events=single) == [
        bool(event["muon"]) for event in single
    ]


def test_a_later_choice_is_found_when_the_first_does_not_fit(fires: Fires) -> None:
    """The leading object fits the first leg, but only it fits the second."""

    def muon(pt: float, eta: float) -> Object:
        rest = {"phi": 0.0, "z0": 0.0, "isolation": 0.0, "upt": 0.0, "charge": 1, "quality": 1}
        return {"pt": pt, "eta": eta} | rest

    event = {"jet": [], "photon": [], "muon": [muon(30.0, 0.1), muon(20.0, 2.0), muon(10.0, 2.2)]}
    central = Leg(object="muon", windows={"eta": Window(abs_max=1.0)})
    kind = Combination(legs=(Leg(object="muon"), central))
    assert fires(kind, events=[event]) == [True]
    close = (Pair(legs=(1, 0), deta=Range(max=0.3)),)
    assert fires(Combination(legs=kind.legs, pairs=close), events=[event]) == [False]
    assert fires(Combination(legs=(Leg(object="muon"),) * 2, pairs=close), events=[event]) == [True]


def test_at_the_same_place_the_mass_is_0(plain_events: list[Event], fires: Fires) -> None:
    """Which is below any maximum."""
    merged = [
        event | {"muon": [o | {"eta": 1.25, "phi": -3.0} for o in event["muon"]]} for event in plain_events
    ]
    two, three = ([len(event["muon"]) >= number for event in merged] for number in (2, 3))
    for name in ("mass", "mass_upt", "transverse_mass"):
        assert fires(cut(**{name: Range(max=1.0)}), events=merged) == two
        assert not any(fires(cut(**{name: Range(min=1.0)}), events=merged))
    assert fires(Combination(legs=(Leg(object="muon"),) * 3, mass3=Range(max=1.0)), events=merged) == three


def test_neutral_objects_have_neither_the_same_nor_the_opposite_charge(
    plain_events: list[Event], fires: Fires
) -> None:
    neutral = [event | {"muon": [o | {"charge": 0} for o in event["muon"]]} for event in plain_events]
    assert not any(fires(cut(charge="same"), events=neutral))
    assert not any(fires(cut(charge="opposite"), events=neutral))


def test_only_columns_that_are_asked_for_are_needed(scope: Scope) -> None:
    def needs(kind: Combination) -> set[tuple[str, str]]:
        context = Context(scope)
        kind.compile(context)
        return context.needs

    assert needs(Combination(legs=(Leg(object="jet"), Leg(object="muon")))) == {("jet", "pt"), ("muon", "pt")}
    legs = (Leg(object="photon", windows={"isolation": Window(max=0.1)}), Leg(object="muon"))
    assert needs(Combination(legs=legs, pairs=(Pair(legs=(0, 1), dz0=Range(max=1.0), charge="same"),))) == {
        (name, column) for name in ("photon", "muon") for column in ("pt", "z0", "charge")
    } | {("photon", "isolation")}


def test_columns_with_other_names_are_needed_where_cuts_read_them(scope: Scope) -> None:
    legs = (
        Leg(object="photon", columns={"z0": "zvtx", "charge": "q"}),
        Leg(object="muon"),
        Leg(object="jet"),
    )
    kind = Combination(
        legs=legs,
        pairs=(Pair(legs=(0, 1), dz0=Range(max=1.0)),),
        sum=LegSum(legs=(1, 2), column="btag", min=1.0),
    )
    context = Context(scope)
    kind.compile(context)
    assert context.needs == {
        *((name, "pt") for name in ("photon", "muon", "jet")),
        *(("photon", "zvtx"), ("muon", "z0"), ("muon", "btag"), ("jet", "btag")),
    }


def test_only_charge_and_z0_have_other_names() -> None:
    ((where, message),) = Leg(object="muon", columns={"pt": "et"}).mistakes()
    assert where == "columns"
    assert message == "columns: 'pt': expected z0 or charge, which may have other names"


@pytest.mark.parametrize("numbers", [[0], [0, 0], [0, 3], [-1, 1], []])
def test_legs_of_a_sum_are_different_ones(numbers: list[int]) -> None:
    of = LegSum(legs=tuple(numbers), column="pt", min=1.0)
    (mistake,) = Combination(legs=(Leg(object="muon"),) * 3, sum=of).mistakes()
    assert mistake == (
        ("sum", "legs"),
        f"sum.legs = {numbers}: expected different ones of 0 … 2, two or more",
    )


def test_a_sum_without_limits_is_a_mistake() -> None:
    assert next(LegSum(legs=(0, 1), column="pt").mistakes())[1].startswith("an empty range")


def test_twelve_legs(fires: Fires) -> None:
    """Each wants a place in η of its own, and two objects are in the wrong crossing."""
    rest = {"phi": 0.0, "z0": 0.0, "isolation": 0.0, "upt": 0.0, "charge": 1, "quality": 1}
    muons = [{"pt": 40.0 - i, "eta": float(i), **rest} for i in range(12)]
    events: list[Event] = [
        {"jet": [], "photon": [], "muon": muons[:10]},
        {"jet": [], "photon": [], "muon": muons[10:]},
    ]
    legs = tuple(
        Leg(
            object="muon",
            crossing=int(place >= 10),
            windows={"eta": Window(min=place - 0.5, max=place + 0.5), "pt": Window(min=40.0 - place)},
        )
        for place in reversed(range(12))
    )
    kind = Combination(legs=legs, charge="same")
    assert fires(kind, events=events) == expected(events, kind) == [True, False]
    events[1]["muon"] = [muons[10], muons[11] | {"charge": -1}]
    assert fires(kind, events=events) == [False, False]
    assert fires(Combination(legs=legs, charge="opposite"), events=events) == [True, False]
