"""What is said to be contained never fires alone; and what a reader sees to be contained is said to be."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from object_choices import sums

from trigemu.observables.selections import Scope
from trigemu.observables.windows import Range, Window
from trigemu.triggers.base import Context, Kind, ScoreKind
from trigemu.triggers.combination.kind import Combination, Leg
from trigemu.triggers.combination.pairs import LegSum, Pair
from trigemu.triggers.questions import kind_extent
from trigemu.triggers.simple import External
from trigemu.triggers.threshold import Threshold

Event = dict[str, Any]
Fires = Callable[..., list[bool]]


def contains(scope: Scope, wide: Kind, narrow: Kind) -> bool:
    first, second = (kind_extent(kind, Context(scope)) for kind in (wide, narrow))
    assert first is not None
    assert second is not None
    return first.contains(second)


PTS = st.sampled_from([4.0, 8.0, 12.0, 20.0])
WINDOWS = st.fixed_dictionaries(
    {},
    optional={
        "pt": st.one_of(st.builds(Window, min=PTS), st.builds(Window, above=PTS, max=st.just(60.0))),
        "eta": st.sampled_from(
            [
                Window(abs_max=2.0),
                Window(abs_max=1.0),
                Window(min=-0.5, max=0.9),
                (Window(min=1.2), Window(max=-1)),
            ]
        ),
        "phi": st.sampled_from([Window(min=2.0, max=-2.0), Window(min=2.0), Window(min=-3.0, max=3.1)]),
        "quality": st.sampled_from(
            [Window(bits=3), Window(bits=1), Window(any_of=(1, 3, 7)), Window(any_of=(3,))]
        ),
    },
)
LEGS = st.builds(
    Leg,
    object=st.sampled_from(["muon", "muon", "hard", "clean", "jet"]),
    crossing=st.sampled_from([0, 0, 0, 1]),
    columns=st.sampled_from([{}, {}, {"z0": "isolation"}]),
    windows=WINDOWS,
)
LIMITS = st.sampled_from([0.3, 0.8, 1.5, 2.5])
RANGES = st.one_of(st.none(), st.builds(Range, min=LIMITS), st.builds(Range, max=LIMITS))
CUTS = ("dr", "deta", "outside_dphi", "mass", "dz0")


@st.composite
def pairs(draw: st.DrawFn, legs: int) -> tuple[Pair, ...]:
    chosen = draw(st.lists(st.sampled_from([*itertools.permutations(range(legs), 2)]), max_size=3))
    charges = st.sampled_from([None, "same", "opposite"])
    return tuple(
        Pair(legs=numbers, charge=draw(charges), **{name: draw(RANGES) for name in CUTS})
        for numbers in chosen
    )


@st.composite
def combinations(draw: st.DrawFn) -> Combination:
    legs = draw(st.lists(LEGS, min_size=1, max_size=3))
    return Combination(
        legs=tuple(legs),
        pairs=draw(pairs(len(legs))) if len(legs) > 1 else (),
        charge=draw(st.sampled_from([None, None, "same", "opposite"])) if len(legs) > 1 else None,
        mass3=draw(RANGES) if len(legs) == 3 else None,
        sum=draw(sums(len(legs))),
    )


OBSERVABLES = ["muon[0].pt", "muon[1].pt", "hard[0].pt", "n_muon", "n_hard", "met", "m(muon[0], muon[1])"]
CONDITIONS = [
    "muon[1].pt > 8", "8 <= muon[0].pt", "n_muon >= 2", "n_hard == 1", "met > 8 and n_muon > 0",
    "met < 12", "jet[0].pt > 8 or met > 4", "not n_jet > 1", "met != 8", "muon[0].pt > 4 and muon[1].pt < 20",
]  # fmt: skip
THRESHOLDS = st.builds(
    Threshold,
    observable=st.sampled_from(OBSERVABLES),
    above=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0]),
    requires=st.one_of(
        st.none(), st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=2).map(" and ".join)
    ),
)


@settings(max_examples=250)
@given(st.one_of(combinations(), THRESHOLDS), st.one_of(combinations(), THRESHOLDS))
def test_what_is_contained_never_fires_alone(
    plain_events: list[Event], scope: Scope, fires: Fires, wide: Kind, narrow: Kind
) -> None:
    if contains(scope, wide, narrow):
        assert not [i for i, (a, b) in enumerate(zip(fires(wide), fires(narrow), strict=True)) if b and not a]


@st.composite
def narrowed(draw: st.DrawFn, wide: Combination) -> Combination:
    """The same with further legs and cuts, narrower windows, and the legs in another order."""
    legs = [*wide.legs, *draw(st.lists(LEGS, max_size=1))]
    order = (
        list(range(len(legs)))
        if wide.mass3 or wide.charge or wide.sum
        else draw(st.permutations(range(len(legs))))
    )
    moved = {old: new for new, old in enumerate(order)}
    more = draw(pairs(len(legs))) if len(legs) > 1 else ()
    changed = [
        msgspec.structs.replace(legs[i], windows=legs[i].windows | {"isolation": Window(max=draw(LIMITS))})
        if draw(st.booleans())
        else legs[i]
        for i in order
    ]
    return Combination(
        legs=tuple(changed),
        pairs=(
            *(msgspec.structs.replace(p, legs=tuple(moved[i] for i in p.legs)) for p in wide.pairs),
            *more,
        ),
        charge=wide.charge,
        mass3=wide.mass3,
        sum=wide.sum,
    )


@settings(max_examples=80)
@given(st.data())
def test_more_legs_and_cuts_are_contained(
    plain_events: list[Event], scope: Scope, fires: Fires, data: st.DataObject
) -> None:
    wide = data.draw(combinations())
    narrow = data.draw(narrowed(wide))
    if len(narrow.legs) != len(wide.legs) and (wide.mass3 or wide.charge or wide.sum):
        return  # of all legs, which are others now
    assert contains(scope, wide, narrow)
    assert all(a or not b for a, b in zip(fires(wide), fires(narrow), strict=True))


def muons(*pts: float, **more: Any) -> Combination:
    return Combination(legs=tuple(Leg(object="muon", windows={"pt": Window(above=pt)}) for pt in pts), **more)


def threshold(observable: str, above: float, requires: str | None = None) -> Threshold:
    return Threshold(observable=observable, above=above, requires=requires)


MASS = Pair(legs=(0, 1), mass=Range(min=7.0, max=18.0), charge="opposite")


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (threshold("met", 60), threshold("met", 60), True),
        (threshold("met", 60), threshold("met", 59.9), False),
        (threshold("met", 60), threshold("met", 80, "n_jet > 1"), True),
        (threshold("met", 60, "n_jet > 1"), threshold("met", 80), False),
        (threshold("met", 60, "n_jet > 1"), threshold("met", 80, "n_muon > 0 and n_jet>=3"), True),
        (threshold("2 * met", 60), threshold("2*met", 80), True),
        (threshold("met", 60), threshold("ht", 80), False),
        (threshold("muon[0].pt", 4), threshold("muon[1].pt", 4), True),
        (threshold("muon[1].pt", 4), threshold("muon[0].pt", 40), False),
        (threshold("muon[1].pt", 4), threshold("m(muon[0], muon[1])", 9, "muon[1].pt > 4"), True),
        (threshold("muon[0].eta", 1), threshold("muon[1].eta", 1), False),
        (threshold("muon[0].pt", 5), threshold("hard[0].pt", 5), True),
        (threshold("muon[0].pt", 7), threshold("hard[0].pt", 5), True),
        (threshold("hard[0].pt", 5), threshold("muon[0].pt", 6), False),
        (threshold("n_muon", 1), threshold("muon[1].pt", 4), True),
        (threshold("n_muon", 1), threshold("n_muon", 2), True),
        (threshold("n_muon", 2), threshold("muon[1].pt", 4), False),
        (threshold("muon[1].pt", 4), muons(4, 4, pairs=(MASS,)), True),
        (threshold("muon[1].pt", 4), muons(4, 3, pairs=(MASS,)), False),
        (threshold("muon[1].pt", 4), Combination(legs=(Leg(object="muon"),) * 2), False),
        (threshold("muon[1].pt", 4, "n_jet > 0"), muons(4, 4), False),
        (muons(4, 4), threshold("muon[1].pt", 4), True),
        (muons(10, 4), threshold("muon[1].pt", 4), False),
        (muons(10, 4), threshold("muon[1].pt", 4, "muon[0].pt > 10"), True),
        (muons(4), muons(10, 4), True),
        (muons(4, 10), muons(10, 4), True),
        (muons(4, 4, pairs=(MASS,)), muons(5, 4, pairs=(MASS,)), True),
        (muons(4, 4, pairs=(MASS,)), muons(5, 4), False),
        (muons(4, 4, pairs=(Pair(legs=(1, 0), mass=Range(min=5)),)), muons(5, 4, 3, pairs=(MASS,)), True),
        (muons(4, 4, pairs=(Pair(legs=(0, 1), mass=Range(min=8)),)), muons(5, 4, pairs=(MASS,)), False),
        (muons(4, 4, charge="opposite"), muons(5, 4, pairs=(MASS,)), True),
        (muons(4, 4, pairs=(Pair(legs=(0, 1), charge="same"),)), muons(9, 8, 7, charge="same"), True),
        (muons(4, 4, 4, charge="opposite"), muons(9, 8, 7, charge="opposite"), True),
        (muons(4, 4, 4, charge="opposite"), muons(9, 8, 7, charge="same"), False),
        (muons(*[4] * 12), muons(*[5] * 12), True),
        (muons(*[4] * 12), muons(*[5] * 11, 3), False),
        (External(bit=3), External(bit=3), True),
        (External(bit=3), External(bit=3, crossing=1), False),
    ],
)  # fmt: skip
def test_what_a_reader_sees(scope: Scope, wide: Kind, narrow: Kind, expected: bool) -> None:
    assert contains(scope, wide, narrow) == expected


class Score(ScoreKind, frozen=True):
    """As a plugin may have."""

    of: str


def test_cuts_on_other_columns_are_others(scope: Scope) -> None:
    def of_z0(column: str, most: float) -> Combination:
        legs = (Leg(object="muon", columns={"z0": column}), Leg(object="muon"))
        return Combination(legs=legs, pairs=(Pair(legs=(0, 1), dz0=Range(max=most)),))

    def summed(column: str, least: float) -> Combination:
        return muons(4, 4, sum=LegSum(legs=(0, 1), column=column, min=least))

    assert contains(scope, of_z0("isolation", 2.0), of_z0("isolation", 1.0))
    assert not contains(scope, of_z0("z0", 2.0), of_z0("isolation", 1.0))
    assert contains(scope, summed("isolation", 1.0), summed("isolation", 2.0))
    assert not contains(scope, summed("z0", 1.0), summed("isolation", 2.0))


def test_a_score_that_is_the_same_is_compared_by_its_cut(scope: Scope) -> None:
    assert contains(scope, Score(of="x", above=1.0), Score(of="x", above=1.5))
    assert not contains(scope, Score(of="x", above=1.0), Score(of="x", above=0.5))
    assert not contains(scope, Score(of="x", above=1.0), Score(of="y", above=1.5))
    assert not contains(scope, Score(of="x", above=1.0), threshold("met", 9.0))


def test_a_kind_says_nothing_unless_it_does(scope: Scope) -> None:
    assert kind_extent(Kind(), Context(scope)) is None
