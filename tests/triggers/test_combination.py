"""Against every choice of objects, one a leg, that itertools can think of."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trigemu import TrigemuError
from trigemu.objects import Scope, Window
from trigemu.triggers.base import Context
from trigemu.triggers.combination import Combination, Leg, Pair, Range

Event = dict[str, Any]
Object = dict[str, float]
Fires = Callable[..., list[bool]]


def distance(a: Object, b: Object) -> float:
    return math.hypot(a["eta"] - b["eta"], math.remainder(a["phi"] - b["phi"], 2 * math.pi))


def mass(a: Object, b: Object) -> float:
    def components(o: Object) -> tuple[float, ...]:
        pt, eta, phi = o["pt"], o["eta"], o["phi"]
        return pt * math.cosh(eta), pt * math.cos(phi), pt * math.sin(phi), pt * math.sinh(eta)

    e, x, y, z = (p + q for p, q in zip(components(a), components(b), strict=True))
    return math.sqrt(max(0.0, e * e - x * x - y * y - z * z))


PAIR: dict[str, Callable[[Object, Object], float]] = {
    "mass": mass,
    "dr": distance,
    "deta": lambda a, b: abs(a["eta"] - b["eta"]),
    "dphi": lambda a, b: abs(math.remainder(a["phi"] - b["phi"], 2 * math.pi)),
    "dz0": lambda a, b: abs(a["z0"] - b["z0"]),
}


def objects(event: Event, name: str) -> list[Object]:
    if name == "hard":
        return [o for o in event["muon"] if o["pt"] >= 8.0]
    if name == "clean":
        return [o for o in event["muon"] if all(distance(o, jet) >= 0.8 for jet in event["jet"])]
    return event[name]  # type: ignore[no-any-return]


def inside(value: float, w: Window | Range, wraps: bool = False) -> bool:
    low = -math.inf if w.min is None else w.min
    high = math.inf if w.max is None else w.max
    if wraps and low > high:
        return value >= low or value <= high
    return low <= value <= high


def passes(o: Object, leg: Leg) -> bool:
    return all(
        inside(o[name], w, name == "phi")
        and (w.abs_min is None or abs(o[name]) >= w.abs_min)
        and (w.abs_max is None or abs(o[name]) <= w.abs_max)
        and (w.any_of is None or o[name] in w.any_of)
        for name, w in leg.windows.items()
    )


def pair_passes(chosen: tuple[Object, ...], pair: Pair) -> bool:
    a, b = chosen[pair.legs[0]], chosen[pair.legs[1]]
    signs = {None: True, "same": a["charge"] * b["charge"] > 0, "opposite": a["charge"] * b["charge"] < 0}
    cuts = [(of(a, b), getattr(pair, name)) for name, of in PAIR.items()]
    return signs[pair.charge] and all(inside(value, cut) for value, cut in cuts if cut)


def brute_force(event: Event, kind: Combination) -> bool:
    candidates = [[o for o in objects(event, leg.object) if passes(o, leg)] for leg in kind.legs]
    return any(
        len({id(o) for o in chosen}) == len(chosen) and all(pair_passes(chosen, pair) for pair in kind.pairs)
        for chosen in itertools.product(*candidates)
    )


WINDOWS = st.fixed_dictionaries(
    {},
    optional={
        "pt": st.builds(Window, min=st.sampled_from([4.0, 8.0, 15.0])),
        "eta": st.sampled_from([Window(abs_max=1.5), Window(min=-1.0, max=2.0), Window(abs_min=0.5)]),
        "phi": st.sampled_from([Window(min=2.0, max=-2.0), Window(min=-2.0, max=2.0)]),
        "charge": st.sampled_from([Window(any_of=(1,)), Window(any_of=(-1, 1)), Window(min=0)]),
        "isolation": st.builds(Window, max=st.sampled_from([0.3, 0.8])),
        "quality": st.sampled_from([Window(min=4), Window(any_of=(1, 2, 3, 8, 12))]),
    },
)
NAMES = ["jet", "muon", "muon", "muon", "photon", "hard", "clean"]


def ranges(low: tuple[float, ...], high: tuple[float, ...]) -> st.SearchStrategy[Range | None]:
    return st.one_of(
        st.none(),
        st.none(),
        st.builds(Range, min=st.sampled_from(low)),
        st.builds(Range, max=st.sampled_from(high)),
        st.builds(Range, min=st.sampled_from(low), max=st.sampled_from(high)),
    )


@st.composite
def combinations(draw: st.DrawFn, least: int = 1, most: int = 4) -> Combination:
    legs = draw(
        st.lists(
            st.builds(Leg, object=st.sampled_from(NAMES), windows=WINDOWS), min_size=least, max_size=most
        )
    )
    if draw(st.booleans()):  # the same windows on several legs
        legs = [legs[0]] * len(legs)
    pairs = []
    for numbers in draw(
        st.lists(st.sampled_from(list(itertools.permutations(range(len(legs)), 2)) or [None]), max_size=3)
    ):
        if numbers is None:
            continue
        pairs.append(
            Pair(
                legs=numbers,
                mass=draw(ranges((4.0, 10.0), (30.0, 80.0))),
                dr=draw(ranges((0.4, 1.0), (2.0, 3.0))),
                deta=draw(ranges((0.1, 0.5), (1.0, 2.0))),
                dphi=draw(ranges((0.2, 1.0), (2.0, 3.0))),
                dz0=draw(ranges((0.1, 0.5), (1.0, 3.0))),
                charge=draw(st.sampled_from([None, None, "same", "opposite"])),
            )
        )
    return Combination(legs=tuple(legs), pairs=tuple(pairs))


@settings(max_examples=200)
@given(combinations(), st.integers(0, 149), st.integers(0, 150))
def test_up_to_four_legs(
    plain_events: list[Event], fires: Fires, kind: Combination, start: int, length: int
) -> None:
    rows = slice(start, min(150, start + length))
    expected = [brute_force(event, kind) for event in plain_events[rows]]
    assert fires(kind, rows) == expected


@settings(max_examples=40)
@given(combinations(least=5, most=6))
def test_five_and_six_legs(plain_events: list[Event], fires: Fires, kind: Combination) -> None:
    rows = slice(0, 60)
    assert fires(kind, rows) == [brute_force(event, kind) for event in plain_events[rows]]


@settings(max_examples=30)
@given(st.permutations(range(6)), st.integers(0, 5))
def test_six_legs_that_only_one_choice_fits(fires: Fires, order: list[int], wrong: int) -> None:
    """Leg k wants an object whose place in η is known, and a neighbour at a known distance."""
    rest = {"phi": 0.0, "z0": 0.0, "isolation": 0.0, "charge": 1, "quality": 1}
    muons = [{"pt": 40.0 - i, "eta": float(2**place), **rest} for i, place in enumerate(order)]
    event = {"jet": [], "photon": [], "muon": muons}
    pairs = tuple(Pair(legs=(k, k + 1), deta=Range(min=2.0**k - 0.5, max=2.0**k + 0.5)) for k in range(5))
    legs = (Leg(object="muon"),) * 6
    assert brute_force(event, Combination(legs=legs, pairs=pairs))
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
    expected = [brute_force(event, kind) for event in plain_events]
    assert 3 < sum(expected) < 147
    assert fires(kind) == expected


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
        rest = {"phi": 0.0, "z0": 0.0, "isolation": 0.0, "charge": 1, "quality": 1}
        return {"pt": pt, "eta": eta} | rest

    event = {"jet": [], "photon": [], "muon": [muon(30.0, 0.1), muon(20.0, 2.0), muon(10.0, 2.2)]}
    central = Leg(object="muon", windows={"eta": Window(abs_max=1.0)})
    kind = Combination(legs=(Leg(object="muon"), central))
    assert fires(kind, events=[event]) == [True]
    close = (Pair(legs=(1, 0), deta=Range(max=0.3)),)
    assert fires(Combination(legs=kind.legs, pairs=close), events=[event]) == [False]
    assert fires(Combination(legs=(Leg(object="muon"),) * 2, pairs=close), events=[event]) == [True]


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


def test_an_unknown_object(scope: Scope) -> None:
    with pytest.raises(TrigemuError, match=r"unknown object 'mun'; did you mean 'muon'\?"):
        Combination(legs=(Leg(object="mun"),)).compile(Context(scope))


def test_it_compiles_to_the_same_and_travels(scope: Scope) -> None:
    def kind() -> Combination:
        windows = {"pt": Window(min=3.0), "eta": Window(abs_max=2.0)}
        return Combination(legs=(Leg(object="muon", windows=windows),))

    first, second = (made.compile(Context(scope)) for made in (kind(), pickle.loads(pickle.dumps(kind()))))
    assert first == second
    assert hash(first) == hash(second)
