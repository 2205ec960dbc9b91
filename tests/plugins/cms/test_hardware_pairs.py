"""Against the same in Python's whole numbers, written down step by step; and constants of a firmware."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
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

Object = dict[str, int]

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


def fixed(value: float, digits: int) -> int:
    return math.floor(value * 10**digits + 0.5)


class Hardware:
    """What is computed of two objects; positions in bins of muons as soon as there is one."""

    def __init__(self, names: tuple[str, str], a: Object, b: Object) -> None:
        self.names, self.pair, self.digits = names, (a, b), DIGITS[frozenset(names)]
        self.turn = 576 if "muon" in names else 144
        self.eta_step = 0.010875 if "muon" in names else 0.0435
        self.phi_step = 2 * math.pi / self.turn

    def position(self, which: int, angle: str) -> int:
        bins = self.pair[which][f"hw_{angle}"]
        return 4 * bins + 2 if "muon" in self.names and self.names[which] != "muon" else bins

    def deta_bins(self) -> int:
        return abs(self.position(0, "eta") - self.position(1, "eta"))

    def dphi_bins(self) -> int:
        bins = abs(self.position(0, "phi") - self.position(1, "phi"))
        return min(bins, self.turn - bins)

    def deta(self) -> int:
        return fixed(self.eta_step * self.deta_bins(), 3)

    def dphi(self) -> int:
        return fixed(self.phi_step * self.dphi_bins(), 3)

    def dr(self) -> int:
        return self.deta() ** 2 + self.dphi() ** 2

    def pt(self, which: int, of: str = "pt") -> int:
        scale = getattr(SCALES[self.names[which]], of)
        edges = [scale.first + i * scale.step for i in range(scale.bins + 2)]
        bin_ = self.pair[which][f"hw_{of}"]
        return fixed((edges[bin_] + edges[bin_ + 1]) / 2 if bin_ < scale.bins else edges[-1], 1)

    def half_mass_squared(self, of: str = "pt", transverse: bool = False) -> int:
        digits = self.digits.trigonometry
        assert digits is not None
        cosh = 10**digits if transverse else fixed(math.cosh(self.eta_step * self.deta_bins()), digits)
        cos = fixed(math.cos(self.phi_step * self.dphi_bins()), digits)
        return self.pt(0, of) * self.pt(1, of) * (cosh - cos)

    def half_mass_squared_over_dr_squared(self) -> int:
        half = self.half_mass_squared()
        dr2 = (self.eta_step * self.deta_bins()) ** 2 + (self.phi_step * self.dphi_bins()) ** 2
        return half * fixed(1 / dr2, 5) // 10**5

    def pair_pt(self) -> int:
        angles = [self.phi_step * self.position(which, "phi") for which in (0, 1)]
        x, y = ([fixed(of(angle), 3) for angle in angles] for of in (math.cos, math.sin))
        p, q = self.pt(0), self.pt(1)
        return (p * p + q * q) * 10**6 + 2 * p * q * (x[0] * x[1] + y[0] * y[1])


def lower(limit: float, digits: int) -> int:
    return int(math.floor(limit * 10.0**digits) / 10.0**digits * 10.0**digits)


def upper(limit: float, digits: int) -> int:
    return int(math.ceil(limit * 10.0**digits) / 10.0**digits * 10.0**digits)


def passes(cut: str, hardware: Hardware, low: float, high: float) -> bool:
    if cut in ("deta", "dphi"):
        return lower(low, 3) <= getattr(hardware, cut)() <= upper(high, 3)
    if cut == "dr":
        return lower(low * low, 3) * 1000 <= hardware.dr() <= upper(high * high, 3) * 1000
    if cut == "pair_pt":
        return lower(low * low, 1) * 10**7 <= hardware.pair_pt() <= upper(high * high, 1) * 10**7
    if cut == "mass_over_dr":
        if hardware.deta_bins() == hardware.dphi_bins() == 0:
            return True
        half = hardware.half_mass_squared_over_dr_squared()
    else:
        half = hardware.half_mass_squared(
            "upt" if cut == "mass_upt" else "pt", transverse=cut == "transverse_mass"
        )
    assert hardware.digits.trigonometry
    return half >= 0 and in_mass(half, low, high, hardware.digits.trigonometry)


def in_mass(half: int, low: float, high: float, digits: int) -> bool:
    unit = 10 ** (2 + digits - 1)
    return lower(low * low * 0.5, 1) * unit <= half <= upper(high * high * 0.5, 1) * unit


def fires(kind: Combination, collections: dict[str, list[Object]]) -> bool:
    made = {
        name: Collection(
            np.array([0, len(of)]),
            {"pt": np.zeros(len(of), "f4")}
            | {c: np.array([o[c] for o in of], "i4") for c in of[0] if not c.startswith("no_")},
        )
        for name, of in collections.items()
    }
    events = make_events("toy", np.ones(1), made)
    return bool(kind.compile(Context(SCOPE)).evaluate(Workspace(events))[0])


def an_object(name: str) -> st.SearchStrategy[Object]:
    end = 225 if name == "muon" else 115
    return st.fixed_dictionaries(
        {
            "hw_pt": st.integers(1, 120),
            "hw_eta": st.integers(-end, end - 1),
            "hw_phi": st.integers(0, 575 if name == "muon" else 143),
            "hw_upt": st.integers(1, 255),
        }
    )


#: A low limit that half of the pairs are above, roughly.
CUTS = {
    "deta": 1.0,
    "dphi": 1.3,
    "dr": 1.6,
    "mass": 25.0,
    "transverse_mass": 20.0,
    "pair_pt": 20.0,
    "mass_upt": 80.0,
    "mass_over_dr": 25.0,
}
OF_TWO = list(itertools.product(("muon", "jet"), repeat=2))


@given(st.data(), st.sampled_from(sorted(CUTS)), st.booleans())
def test_pairs(data: st.DataObject, cut: str, outside: bool) -> None:
    names = ("muon", "muon") if cut == "mass_upt" else data.draw(st.sampled_from(OF_TWO))
    a, b = (data.draw(an_object(name)) for name in names)
    hardware = Hardware(names, a, b)
    # Limits at the value itself too, and next to it.
    value = {
        "deta": lambda: hardware.deta() / 1e3,
        "dphi": lambda: hardware.dphi() / 1e3,
        "dr": lambda: math.sqrt(hardware.dr()) / 1e3,
    }.get(cut, lambda: CUTS[cut])()
    limit = st.sampled_from([0.0, value, CUTS[cut], value + 1e-3, max(0.0, value - 1e-3), 1.6, 0.4])
    low, high = sorted((data.draw(limit), data.draw(limit)))
    outside = outside and cut in ("deta", "dphi", "dr")
    key = f"outside_{cut}" if outside else cut
    legs = (Leg(object=names[0]), Leg(object=names[1]))
    kind = Combination(legs=legs, pairs=(Pair(legs=(0, 1), **{key: Range(min=low, max=high)}),))
    collections = {names[0]: [a, b]} if names[0] == names[1] else {names[0]: [a], names[1]: [b]}
    assert fires(kind, collections) == (passes(cut, hardware, low, high) != outside)


@given(st.lists(an_object("muon"), min_size=3, max_size=3), st.sampled_from([10.0, 20.0, 40.0]))
def test_three_bodies(muons: list[Object], limit: float) -> None:
    """Within the limit, and above it."""
    total = sum(
        Hardware(("muon", "muon"), a, b).half_mass_squared() for a, b in itertools.combinations(muons, 2)
    )
    legs = (Leg(object="muon"),) * 3
    within = fires(Combination(legs=legs, mass3=Range(max=limit)), {"muon": muons})
    assert within == (total >= 0 and in_mass(total, 0.0, limit, 4))
    above = fires(Combination(legs=legs, mass3=Range(min=limit)), {"muon": muons})
    assert above == (total >= 0 and in_mass(total, limit, 1e5, 4))


@pytest.mark.parametrize("names", OF_TWO)
def test_at_the_same_place_the_mass_is_0(names: tuple[str, str]) -> None:
    """Of the hardware's numbers cosh 0 − cos 0 = 0, which is below any maximum and no minimum above 0."""
    # The middle of a jet's bin is on the border of two of a muon's, which is where the hardware puts it.
    places = {"jet": {"hw_eta": 10, "hw_phi": 20}, "muon": {"hw_eta": 42, "hw_phi": 82}}
    muon, jet = ({"hw_pt": 40} | places[name] for name in ("muon", "jet"))
    if names[0] == names[1]:
        collections = {names[0]: [{"hw_pt": pt} | places[names[0]] for pt in (60, 40)]}
    else:
        collections = {"muon": [muon], "jet": [jet]}
    legs = tuple(Leg(object=name) for name in names)
    for cut in ("mass", "transverse_mass"):
        for limits, expected in (
            ({"max": 5.0}, True),
            ({"min": 0.0, "max": 5.0}, True),
            ({"min": 1.0}, False),
        ):
            kind = Combination(legs=legs, pairs=(Pair(legs=(0, 1), **{cut: Range(**limits)}),))
            assert fires(kind, collections) == expected


def test_three_bodies_at_the_same_place() -> None:
    muons = [{"hw_pt": pt, "hw_eta": -7, "hw_phi": 575} for pt in (60, 40, 20)]
    legs = (Leg(object="muon"),) * 3
    assert fires(Combination(legs=legs, mass3=Range(max=5.0)), {"muon": muons})
    assert not fires(Combination(legs=legs, mass3=Range(min=1.0)), {"muon": muons})


def test_a_negative_mass_passes_nothing() -> None:
    """Bin 0 of the muons' unconstrained pT is from −1 to 0 GeV; the other factors are positive."""
    muons = [{"hw_pt": 20, "hw_eta": 3 * upt, "hw_phi": 0, "hw_upt": upt} for upt in (0, 30)]
    legs = (Leg(object="muon"),) * 2
    for limits, expected in (({"max": 5.0}, False), ({"max": 1e4}, False), ({"min": 0.0}, False)):
        kind = Combination(legs=legs, pairs=(Pair(legs=(0, 1), mass_upt=Range(**limits)),))
        assert fires(kind, {"muon": muons}) == expected


def test_objects_without_eta() -> None:
    """Their direction in φ is all there is."""
    collections = {
        "etm": [{"hw_pt": 150, "hw_phi": 140}],
        "jet": [{"hw_pt": 60, "hw_eta": 3, "hw_phi": 4}],
    }
    d_phi = fixed(8 * 2 * math.pi / 144, 3) / 1000
    for high, expected in ((d_phi, True), (d_phi - 1e-3, False)):
        kind = Combination(
            legs=(Leg(object="etm"), Leg(object="jet")),
            pairs=(Pair(legs=(0, 1), dphi=Range(max=high), transverse_mass=Range(min=10.0)),),
        )
        assert fires(kind, collections) == expected


def test_what_is_above_the_scale_counts_as_one_bin_more() -> None:
    """Of 100 bins of 0.5 GeV: 50.5 GeV each, back to back, make 101 GeV."""
    jets = [{"hw_pt": pt, "hw_eta": 0, "hw_phi": phi} for pt, phi in ((100, 5), (119, 77))]
    for low, expected in ((101.0, True), (101.1, False)):
        kind = Combination(
            legs=(Leg(object="jet"),) * 2,
            pairs=(Pair(legs=(0, 1), mass=Range(min=low, max=101.0 + low % 1)),),
        )
        assert fires(kind, {"jet": jets}) == expected


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


MUONS = (Leg(object="muon"), Leg(object="muon"))


def two(first: str, second: str, **cuts: Any) -> Combination:
    return Combination(legs=(Leg(object=first), Leg(object=second)), pairs=(Pair(legs=(0, 1), **cuts),))


MASS, NEAR = two("muon", "muon", mass=Range(min=4.0)), Range(max=1.0)


@pytest.mark.parametrize(
    ("kind", "scope", "message"),
    [
        (MASS, changed(digits=Digits(delta=3, pt=1)), r"pairs\[0\].mass: \[integer.digits\] lacks muon-muon"),
        (MASS, changed(digits=Digits(mass=7, pt=1, trigonometry=4)), "mass has more digits than 2 pt"),
        (MASS, changed(digits=Digits(mass=1, pt=6, trigonometry=6)), "numbers exceed 64 bits"),
        (two("jet", "etm", dr=NEAR), SCOPE, r"pairs\[0\].dr: \[integer.etm\] has no eta"),
        (two("tau", "jet", dr=NEAR), SCOPE, r"pairs\[0\].dr: \[integer\] has 'jet' but not 'tau'"),
        (two("jet", "jet", mass_upt=NEAR), SCOPE, r"pairs\[0\].mass_upt: \[integer.jet\] has no upt"),
        (two("muon", "muon", dr=Range(below=1.0)), SCOPE, "integer limits are inclusive, give min or max"),
        (
            Combination(legs=(Leg(object="tau"), *MUONS), mass3=NEAR),
            SCOPE,
            r"mass3: \[integer\] has 'muon' but not 'tau'",
        ),
        (
            two("muon", "muon", dphi=NEAR),
            changed(scales={"muon": HardwareScale(pt=SCALES["muon"].pt)}),
            r"\[integer.muon\] has no phi",
        ),
        (
            two("jet", "muon", dphi=NEAR),
            changed(scales=SCALES | {"jet": HardwareScale(pt=SCALES["jet"].pt, phi=PhiScale(bins=100))}),
            "576 bins of phi are not a multiple of 100",
        ),
    ],
)
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
    wild = {"hw_pt": 10**6, "hw_eta": 2**31 - 1, "hw_phi": -(2**31), "hw_upt": 0}
    kind = Combination(legs=MUONS, pairs=(Pair(legs=(0, 1), mass=Range(min=0.0)),))
    assert fires(kind, {"muon": [wild, {"hw_pt": 20, "hw_eta": -100, "hw_phi": 3, "hw_upt": 0}]})
