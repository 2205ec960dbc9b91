"""Combinations drawn at random, and all choices of objects, one a leg, that itertools can think of."""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from trigemu.observables.selections import Range, Window
from trigemu.triggers.combination import Combination, Leg
from trigemu.triggers.pairs import LegSum, Pair

Event = dict[str, Any]
Object = dict[str, float]


def distance(a: Object, b: Object) -> float:
    return math.hypot(a["eta"] - b["eta"], math.remainder(a["phi"] - b["phi"], 2 * math.pi))


def mass(a: Object, b: Object, of: str = "pt") -> float:
    def components(o: Object) -> tuple[float, ...]:
        pt, eta, phi = o[of], o["eta"], o["phi"]
        return pt * math.cosh(eta), pt * math.cos(phi), pt * math.sin(phi), pt * math.sinh(eta)

    e, x, y, z = (p + q for p, q in zip(components(a), components(b), strict=True))
    return math.sqrt(max(0.0, e * e - x * x - y * y - z * z))


PAIR: dict[str, Callable[[Object, Object], float]] = {
    "mass": mass,
    "dr": distance,
    "deta": lambda a, b: abs(a["eta"] - b["eta"]),
    "dphi": lambda a, b: abs(math.remainder(a["phi"] - b["phi"], 2 * math.pi)),
    "dz0": lambda a, b: abs(a["z0"] - b["z0"]),
    "mass_upt": lambda a, b: mass(a, b, "upt"),
    "mass_over_dr": lambda a, b: mass(a, b) / distance(a, b),
    "pair_pt": lambda a, b: abs(cmath.rect(a["pt"], a["phi"]) + cmath.rect(b["pt"], b["phi"])),
    # 4 pT pT′ sin²(Δφ/2)
    "transverse_mass": lambda a, b: (
        2 * math.sqrt(a["pt"] * b["pt"]) * abs(math.sin((a["phi"] - b["phi"]) / 2))
    ),
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


def in_window(o: Object, name: str, w: Window) -> bool:
    return (
        inside(o[name], w, name == "phi")
        and (w.abs_min is None or abs(o[name]) >= w.abs_min)
        and (w.abs_max is None or abs(o[name]) <= w.abs_max)
        and (w.any_of is None or o[name] in w.any_of)
    )


def passes(o: Object, leg: Leg) -> bool:
    windows = {name: of if isinstance(of, tuple) else (of,) for name, of in leg.windows.items()}
    return all(any(in_window(o, name, w) for w in of) for name, of in windows.items())


def called(o: Object, leg: Leg) -> Object:
    """With the columns that cuts read as `z0` and `charge`."""
    return o | {name: o[column] for name, column in leg.columns.items()}


def pair_passes(
    kind: Combination, chosen: tuple[Object, ...], pair: Pair, of_legs: list[list[Object]]
) -> bool:
    a, b = (called(chosen[leg], kind.legs[leg]) for leg in pair.legs)
    cuts = [(of(a, b), getattr(pair, name)) for name, of in PAIR.items()]
    first, last = sorted(pair.legs)
    others = [o for o in of_legs[last] if o is not chosen[first]] if pair.every else [chosen[last]]
    outside = [
        (PAIR[name](chosen[first], other), getattr(pair, f"outside_{name}"))
        for name in ("dr", "deta", "dphi")
        for other in others
    ]
    return (
        charges_pass((a, b), pair.charge)
        and all(inside(value, cut) for value, cut in cuts if cut)
        and not any(inside(value, cut) for value, cut in outside if cut)
    )


def charges_pass(chosen: tuple[Object, ...], wanted: str | None) -> bool:
    charges = {np.sign(o["charge"]) for o in chosen}
    return wanted is None or (0 not in charges and (len(charges) == 1) == (wanted == "same"))


def mass_of_all(chosen: tuple[Object, ...]) -> float:
    return math.sqrt(sum(mass(a, b) ** 2 for a, b in itertools.combinations(chosen, 2)))


def sum_passes(chosen: tuple[Object, ...], of: LegSum) -> bool:
    return inside(sum(chosen[leg][of.column] for leg in of.legs), of)


def choices(events: list[Event], number: int, kind: Combination) -> Iterator[tuple[Object, ...]]:
    """All that fit, of one event among consecutive crossings."""

    def candidates(leg: Leg) -> list[Object]:
        at = number + leg.crossing
        return [o for o in objects(events[at], leg.object) if passes(o, leg)] if 0 <= at < len(events) else []

    of_legs = [candidates(leg) for leg in kind.legs]
    for chosen in itertools.product(*of_legs):
        if (
            len({id(o) for o in chosen}) == len(chosen)
            and charges_pass(tuple(map(called, chosen, kind.legs)), kind.charge)
            and all(pair_passes(kind, chosen, pair, of_legs) for pair in kind.pairs)
            and (kind.sum is None or sum_passes(chosen, kind.sum))
            and (kind.mass3 is None or inside(mass_of_all(chosen), kind.mass3))
        ):
            yield chosen


def brute_force(events: list[Event], number: int, kind: Combination) -> bool:
    return any(True for _ in choices(events, number, kind))


def expected(events: list[Event], kind: Combination) -> list[bool]:
    return [brute_force(events, number, kind) for number in range(len(events))]


WINDOWS = st.fixed_dictionaries(
    {},
    optional={
        "pt": st.builds(Window, min=st.sampled_from([4.0, 8.0, 15.0])),
        "eta": st.sampled_from(
            [
                Window(abs_max=1.5),
                Window(min=-1.0, max=2.0),
                Window(abs_min=0.5),
                (Window(max=-0.5), Window(min=1.0, max=2.0), Window(abs_max=0.1)),
            ]
        ),
        "phi": st.sampled_from([Window(min=2.0, max=-2.0), Window(min=-2.0, max=2.0)]),
        "charge": st.sampled_from([Window(any_of=(1,)), Window(any_of=(-1, 1)), Window(min=0)]),
        "isolation": st.builds(Window, max=st.sampled_from([0.3, 0.8])),
        "quality": st.sampled_from([Window(min=4), Window(any_of=(1, 2, 3, 8, 12))]),
    },
)
CHARGE = st.sampled_from([None, None, None, "same", "opposite"])
#: Mostly the usual ones.
COLUMNS = st.sampled_from([{}, {}, {}, {"z0": "isolation"}, {"charge": "z0"}])
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
    leg = st.builds(
        Leg,
        object=st.sampled_from(NAMES),
        crossing=st.sampled_from([0, 0, 0, -1, 2]),
        columns=COLUMNS,
        windows=WINDOWS,
    )
    legs = draw(st.lists(leg, min_size=least, max_size=most))
    if draw(st.booleans()):  # the same windows on several legs
        legs = [legs[0]] * len(legs)
    pairs = []
    for numbers in draw(
        st.lists(st.sampled_from(list(itertools.permutations(range(len(legs)), 2)) or [None]), max_size=3)
    ):
        if numbers is None:
            continue
        apart = {
            "outside_dr": draw(ranges((0.4, 1.0), (2.0, 3.0))),
            "outside_deta": draw(ranges((1.0,), (0.2,))),
            "outside_dphi": draw(ranges((2.0,), (0.3,))),
        }
        pairs.append(
            Pair(
                legs=numbers,
                mass=draw(ranges((4.0, 10.0), (30.0, 80.0))),
                dr=draw(ranges((0.4, 1.0), (2.0, 3.0))),
                deta=draw(ranges((0.1, 0.5), (1.0, 2.0))),
                dphi=draw(ranges((0.2, 1.0), (2.0, 3.0))),
                dz0=draw(ranges((0.1, 0.5), (1.0, 3.0))),
                mass_upt=draw(ranges((4.0,), (60.0,))),
                mass_over_dr=draw(ranges((5.0, 10.0), (30.0,))),
                pair_pt=draw(ranges((10.0, 20.0), (40.0,))),
                transverse_mass=draw(ranges((5.0, 15.0), (40.0,))),
                charge=draw(CHARGE),
                every=any(apart.values()) and draw(st.booleans()),
                **apart,  # type: ignore[arg-type]
            )
        )
    mass3 = draw(ranges((10.0,), (60.0,))) if len(legs) == 3 else None
    charge = draw(CHARGE) if len(legs) > 1 else None
    return Combination(
        legs=tuple(legs), pairs=tuple(pairs), charge=charge, mass3=mass3, sum=draw(sums(len(legs)))
    )


@st.composite
def sums(draw: st.DrawFn, legs: int) -> LegSum | None:
    if legs == 1 or draw(st.integers(0, 2)):
        return None
    numbers = draw(st.permutations(range(legs)))[: draw(st.integers(2, legs))]
    column, low, high = draw(st.sampled_from([("isolation", 0.4, 1.3), ("pt", 21.0, 60.0)]))
    limits = draw(st.sampled_from([{"min": low}, {"max": high}, {"min": low, "max": high}]))
    return LegSum(legs=tuple(numbers), column=column, **limits)
