"""Against the same in Python's whole numbers, written down step by step; and constants of a firmware."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from l1_twin import Pair as Hardware, Word, fixed, three_bodies
from trigemu_cms import hardware_pairs as integer

from trigemu import Collection, TrigemuError, make_events
from trigemu.observables.hardware_scales import (
    Digits,
    EtaScale,
    HardwareScale,
    Integers,
    LinearScale,
    PhiScale,
)
from trigemu.observables.selections import ObjectSelection, Range, Scope
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import Context
from trigemu.triggers.combination import Combination, Leg
from trigemu.triggers.pairs import Pair

SCALES = {
    "muon": HardwareScale(
        pt=LinearScale(first=-0.5, step=0.5, bins=511),
        eta=EtaScale(step=0.010875, centred=True),
        phi=PhiScale(bins=576),
        upt=LinearScale(first=-1.0, step=1.0, bins=256),
    ),
    "jet": HardwareScale(
        pt=LinearScale(first=0.0, step=0.5, bins=100), eta=EtaScale(step=0.0435), phi=PhiScale(bins=144)
    ),
    "etm": HardwareScale(pt=LinearScale(first=0.0, step=0.5, bins=4094), phi=PhiScale(bins=144)),
}
DIGITS = {
    frozenset(pair): Digits(
        **{"delta": 3, "mass": 1, "pt": 1, "trigonometry": trigonometry, "inverse_dr": 5},
        **{"two_body_pt": 1, "two_body_trigonometry": 3},
    )
    for pair, trigonometry in ((("muon", "jet"), 4), (("muon",), 4), (("jet",), 3), (("jet", "etm"), 3))
}
SCOPE = Scope(
    tuple((name, ObjectSelection(name)) for name in (*SCALES, "tau")),
    (),
    (),
    Integers(tuple(SCALES.items()), tuple(DIGITS.items())),
)


#: Names of the twin, and of a pair's cuts there: a low limit that half of the pairs are above, roughly.
TYPES = {"muon": "MU", "jet": "JET"}
CUTS = {
    "deta": ("DETA", 1.0),
    "dphi": ("DPHI", 1.3),
    "dr": ("DR", 1.6),
    "mass": ("MASS", 25.0),
    "transverse_mass": ("TRANSVERSE", 20.0),
    "pair_pt": ("TBPT", 20.0),
    "mass_upt": ("MASSUPT", 80.0),
    "mass_over_dr": ("MASSDR", 25.0),
}
OF_TWO = list(itertools.product(("muon", "jet"), repeat=2))


def twin(*names: str) -> Hardware:
    """The twin of pairs of some objects: what is above a scale counts as one bin more."""
    digits = DIGITS[frozenset(names)]
    of_xml = {"Delta": 3, "Mass": 1, "MassPt": 1, "Math": digits.trigonometry or 0, "InverseDeltaRMath": 5}
    scales = {TYPES[name]: SCALES[name] for name in names}

    def middle(kind: str, column: str, number: int) -> float:
        scale = getattr(scales[kind], column)
        edges = [scale.first + i * scale.step for i in range(scale.bins + 2)]
        return (edges[number] + edges[number + 1]) / 2 if number < scale.bins else edges[-1]

    types = TYPES[names[0]], TYPES[names[1]]
    return Hardware(types, of_xml | {"TwoBodyPt": 1, "TwoBodyPtMath": 3}, middle)


def fires(kind: Combination, collections: dict[str, list[Word]]) -> bool:
    made = {
        name: Collection(
            np.array([0, len(of)]),
            {"pt": np.zeros(len(of), "f4")} | {f"hw_{c}": np.array([o[c] for o in of], "i4") for c in of[0]},
        )
        for name, of in collections.items()
    }
    events = make_events("toy", np.ones(1), made)
    return bool(kind.compile(Context(SCOPE)).evaluate(Workspace(events))[0])


MUONS = (Leg(object="muon"), Leg(object="muon"))


def two(first: str, second: str, **cuts: Any) -> Combination:
    return Combination(legs=(Leg(object=first), Leg(object=second)), pairs=(Pair(legs=(0, 1), **cuts),))


def an_object(name: str) -> st.SearchStrategy[Word]:
    end = 225 if name == "muon" else 115
    return st.fixed_dictionaries(
        {
            "pt": st.integers(1, 120),
            "eta": st.integers(-end, end - 1),
            "phi": st.integers(0, 575 if name == "muon" else 143),
            "upt": st.integers(1, 255),
        }
    )


@given(st.data(), st.sampled_from(sorted(CUTS)), st.booleans())
def test_pairs(data: st.DataObject, cut: str, outside: bool) -> None:
    names = ("muon", "muon") if cut == "mass_upt" else data.draw(st.sampled_from(OF_TWO))
    a, b = (data.draw(an_object(name)) for name in names)
    hardware, (quantity, usual) = twin(*names), CUTS[cut]
    # Limits at the value itself too, and next to it.
    value = {
        "deta": lambda: fixed(hardware.deta(a, b), 3) / 1e3,
        "dphi": lambda: fixed(hardware.dphi(a, b), 3) / 1e3,
        "dr": lambda: math.sqrt(hardware.dr2(a, b)) / 1e3,
    }.get(cut, lambda: usual)()
    limit = st.sampled_from([0.0, value, usual, value + 1e-3, max(0.0, value - 1e-3), 1.6, 0.4])
    low, high = sorted((data.draw(limit), data.draw(limit)))
    outside = outside and cut in ("deta", "dphi", "dr")
    key = f"outside_{cut}" if outside else cut
    kind = two(*names, **{key: Range(min=low, max=high)})
    collections = {names[0]: [a, b]} if names[0] == names[1] else {names[0]: [a], names[1]: [b]}
    assert fires(kind, collections) == (hardware.inside(quantity, a, b, low, high) != outside)


@given(st.lists(an_object("muon"), min_size=3, max_size=3), st.sampled_from([10.0, 20.0, 40.0]))
def test_three_bodies(muons: list[Word], limit: float) -> None:
    """Within the limit, and above it."""
    pair = twin("muon", "muon")
    total = three_bodies(pair, muons)
    legs = MUONS + MUONS[:1]
    within = fires(Combination(legs=legs, mass3=Range(max=limit)), {"muon": muons})
    assert within == pair.in_mass(total, 0.0, limit)
    above = fires(Combination(legs=legs, mass3=Range(min=limit)), {"muon": muons})
    assert above == pair.in_mass(total, limit, 1e5)


@pytest.mark.parametrize(
    ("limits", "passes"), [({"max": 5.0}, True), ({"min": 0.0}, True), ({"min": 1.0}, False)]
)
def test_at_the_same_place_the_mass_is_0(limits: dict[str, float], passes: bool) -> None:
    """Of the hardware's numbers cosh 0 − cos 0 = 0, which is below any maximum and no minimum above 0."""
    # The middle of a jet's bin is on the border of two of a muon's, which is where the hardware puts it.
    places = {"jet": {"eta": 10, "phi": 20}, "muon": {"eta": 42, "phi": 82}}
    for names, cut in itertools.product(OF_TWO, ("mass", "transverse_mass")):
        collections: dict[str, list[Word]] = {}
        for name, pt in zip(names, (60, 40), strict=True):
            collections.setdefault(name, []).append({"pt": pt} | places[name])
        assert fires(two(*names, **{cut: Range(**limits)}), collections) == passes
    muons = [{"pt": pt} | places["muon"] for pt in (60, 40, 20)]
    assert fires(Combination(legs=MUONS + MUONS[:1], mass3=Range(**limits)), {"muon": muons}) == passes


def test_a_negative_mass_passes_nothing() -> None:
    """Bin 0 of the muons' unconstrained pT is from −1 to 0 GeV; the other factors are positive."""
    muons = [{"pt": 20, "eta": 3 * upt, "phi": 0, "upt": upt} for upt in (0, 30)]
    for limits in ({"max": 5.0}, {"max": 1e4}, {"min": 0.0}):
        assert not fires(two("muon", "muon", mass_upt=Range(**limits)), {"muon": muons})


def test_objects_without_eta() -> None:
    """Their direction in φ is all there is."""
    collections = {"etm": [{"pt": 150, "phi": 140}], "jet": [{"pt": 60, "eta": 3, "phi": 4}]}
    d_phi = fixed(8 * 2 * math.pi / 144, 3) / 1000
    for high, expected in ((d_phi, True), (d_phi - 1e-3, False)):
        cuts = {"dphi": Range(max=high), "transverse_mass": Range(min=10.0)}
        assert fires(two("etm", "jet", **cuts), collections) == expected


def test_what_is_above_the_scale_counts_as_one_bin_more() -> None:
    """Of 100 bins of 0.5 GeV: 50.5 GeV each, back to back, make 101 GeV."""
    jets = [{"pt": pt, "eta": 0, "phi": phi} for pt, phi in ((100, 5), (119, 77))]
    for low, expected in ((101.0, True), (101.1, False)):
        mass = Range(min=low, max=101.0 + low % 1)
        assert fires(two("jet", "jet", mass=mass), {"jet": jets}) == expected


@pytest.mark.parametrize(
    ("quantity", "of", "low", "high", "expected"),
    [
        # Of the firmware of a menu of 2018; 1.6² = 2.5600000000000005 in doubles, and so 2561.
        (integer.DR, ("muon",), None, 1.6, 0x2713E8),
        (integer.DR, ("muon",), None, 1.4000000000000001, 0x1DEC28),
        (integer.DR, ("muon", "jet"), None, 0.8, 0x9C7E8),
        (integer.DR, ("muon", "jet"), None, 0.4, 0x274E8),
        (integer.DETA, ("jet",), None, 1.6, 0x640),
        (integer.MASS, ("muon",), 8.0, None, 0x1E84800),
        (integer.MASS, ("muon",), None, 14.0, 0x5D75C80),
        (integer.MASS, ("muon",), 7.0, None, 0x175D720),
        (integer.MASS, ("muon",), None, 151982.0, 0x2907FE9BCB0C80),
        (integer.MASS, ("jet",), None, 151982.0, 0x41A6642C78140),
        (integer.MASS, ("jet",), None, 80.0, 0x1312D000),
    ],
)
def test_limits_of_a_firmware(
    quantity: int, of: tuple[str, ...], low: float | None, high: float | None, expected: int
) -> None:
    names = (of[0], of[-1])
    digits = DIGITS[frozenset(of)]
    numbers = integer.pair_numbers(quantity, names, (SCALES[names[0]], SCALES[names[1]]), digits)
    unit = int(numbers[integer.LIMIT])
    limits = integer.limits(quantity, low, high, digits, unit)
    assert int(next(limit for limit in limits if math.isfinite(limit))) * unit == expected


def changed(**changes: Any) -> Scope:
    scales = tuple((changes.get("scales") or SCALES).items())
    digits = changes.get("digits")
    pairs = tuple(DIGITS.items()) if digits is None else ((frozenset({"muon"}), digits),)
    return Scope(SCOPE.objects, (), (), Integers(scales, pairs))


MASS, NEAR = two("muon", "muon", mass=Range(min=4.0)), Range(max=1.0)


@pytest.mark.parametrize(("kind", "scope", "message"), [
    (MASS, changed(digits=Digits(delta=3, pt=1)), r"pairs\[0\].mass: \[integer.digits\] lacks muon-muon"),
    (MASS, changed(digits=Digits(mass=7, pt=1, trigonometry=4)), "mass has more digits than 2 pt"),
    (MASS, changed(digits=Digits(mass=1, pt=6, trigonometry=6)), "numbers exceed 64 bits"),
    (two("jet", "etm", dr=NEAR), SCOPE, r"pairs\[0\].dr: \[integer.etm\] has no eta"),
    (two("tau", "jet", dr=NEAR), SCOPE, r"pairs\[0\].dr: \[integer\] has 'jet' but not 'tau'"),
    (two("jet", "jet", mass_upt=NEAR), SCOPE, r"pairs\[0\].mass_upt: \[integer.jet\] has no upt"),
    (two("muon", "muon", dr=Range(below=1.0)), SCOPE, "integer limits are inclusive, give min or max"),
    (Combination(legs=(Leg(object="tau"), *MUONS), mass3=NEAR), SCOPE,
     r"mass3: \[integer\] has 'muon' but not 'tau'"),
    (two("muon", "muon", dphi=NEAR), changed(scales={"muon": HardwareScale(pt=SCALES["muon"].pt)}),
     r"\[integer.muon\] has no phi"),
    (two("jet", "muon", dphi=NEAR),
     changed(scales=SCALES | {"jet": HardwareScale(pt=SCALES["jet"].pt, phi=PhiScale(bins=100))}),
     "576 bins of phi are not a multiple of 100"),
])  # fmt: skip
def test_what_cannot_be_computed(kind: Combination, scope: Scope, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        kind.compile(Context(scope))


def test_only_pairs_read_integers() -> None:
    def needs(kind: Combination) -> set[tuple[str, str]]:
        context = Context(SCOPE)
        kind.compile(context)
        return context.needs

    assert needs(Combination(legs=MUONS)) == {("muon", "pt")}
    near: Callable[..., Pair] = lambda **cuts: Pair(legs=(0, 1), **cuts)  # noqa: E731
    cuts = near(deta=Range(max=1.0), dz0=Range(max=1.0), charge="same")
    columns = {"pt", "hw_eta", "z0", "charge"}
    assert needs(Combination(legs=MUONS, pairs=(cuts,))) == {("muon", column) for column in columns}
    taus = (Leg(object="tau"), Leg(object="tau"))
    assert needs(Combination(legs=taus, pairs=(near(deta=Range(max=1.0)),))) == {
        ("tau", "pt"),
        ("tau", "eta"),
    }


def test_objects_beyond_the_scales_do_no_harm() -> None:
    """Damaged data may have any integers."""
    wild = {"pt": 10**6, "eta": 2**31 - 1, "phi": -(2**31), "upt": 0}
    kind = two("muon", "muon", mass=Range(min=0.0))
    assert fires(kind, {"muon": [wild, {"pt": 20, "eta": -100, "phi": 3, "upt": 0}]})
