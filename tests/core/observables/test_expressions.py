"""Observables against arithmetic on plain four-vectors, event by event, and against `vector`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import vector
from hypothesis import given, settings, strategies as st
from toys import events_of, toy_events

from trigemu.base.errors import SampleError
from trigemu.observables.language import parse_condition, parse_observable
from trigemu.observables.selections import ObjectSelection, Scope, Window
from trigemu.observables.workspace import Workspace, delta_phi
from trigemu.samples.events import Collection, Events, make_events

EVENTS = toy_events(21, 120)
HARD = ObjectSelection("jet", None, (("pt", Window(min=20.0)),))
SCOPE = Scope(
    objects=(*((name, ObjectSelection(name)) for name in ("jet", "muon", "photon")), ("hard", HARD)),
    ht=(HARD, ObjectSelection("photon")),
    mht=(HARD, ObjectSelection("muon")),
)
Event = dict[str, Any]
Momentum = tuple[float, ...]  # px, py or px, py, pz, E


WHOLE = events_of(EVENTS)


def number(text: str, events: Events = WHOLE) -> list[float]:
    values = parse_observable(text, SCOPE).evaluate(Workspace(events))
    assert values.dtype == np.float64
    return values.tolist()


def condition(text: str, events: Events = WHOLE) -> list[bool]:
    values = parse_condition(text, SCOPE).evaluate(Workspace(events))
    assert values.dtype == np.bool_
    return values.tolist()


def collection(event: Event, name: str) -> list[dict[str, float]]:
    return [o for o in event["jet"] if o["pt"] >= 20.0] if name == "hard" else event[name]


def momentum(o: dict[str, float]) -> Momentum:
    pt, eta, phi = o["pt"], o["eta"], o["phi"]
    return pt * math.cos(phi), pt * math.sin(phi), pt * math.sinh(eta), pt * math.cosh(eta)


def missing(event: Event) -> Momentum:
    """MHT of the scope."""
    objects = [momentum(o) for name in ("hard", "muon") for o in collection(event, name)]
    return 0.0 - math.fsum(o[0] for o in objects), 0.0 - math.fsum(o[1] for o in objects)


@dataclass(frozen=True)
class Truth:
    """A text of the language, and what it stands for: None where there is no value."""

    text: str
    of: Callable[[Event], Any]


def _element(name: str, index: int) -> Callable[[Event], Momentum | None]:
    def of(event: Event) -> Momentum | None:
        objects = collection(event, name)
        return momentum(objects[index]) if index < len(objects) else None

    return of


OBJECTS = st.builds(
    lambda name, index: Truth(f"{name}[{index}]", _element(name, index)),
    st.sampled_from(["jet", "photon", "muon", "hard"]),
    st.integers(0, 2),
)
MISSING = st.sampled_from(
    [
        Truth("met", lambda e: (e["met"] * math.cos(e["met_phi"]), e["met"] * math.sin(e["met_phi"]))),
        Truth("mht", missing),
    ]
)


def add(a: Momentum | None, b: Momentum | None) -> Momentum | None:
    if a is None or b is None:
        return None
    return tuple(x + y for x, y in zip(a, b, strict=False))


VECTORS = st.one_of(
    OBJECTS,
    st.builds(
        lambda a, b: Truth(f"{a.text} + {b.text}", lambda e: add(a.of(e), b.of(e))),
        OBJECTS,
        st.one_of(
            OBJECTS,
            st.builds(
                lambda a, b: Truth(f"({a.text} + {b.text})", lambda e: add(a.of(e), b.of(e))),
                OBJECTS,
                OBJECTS,
            ),
        ),
    ),
)
PLANE = st.one_of(
    VECTORS,
    MISSING,
    st.builds(lambda a, b: Truth(f"{a.text} + {b.text}", lambda e: add(a.of(e), b.of(e))), MISSING, OBJECTS),
)


def pt(v: Momentum) -> float:
    return math.hypot(v[0], v[1])


def phi(v: Momentum) -> float:
    return math.atan2(v[1], v[0])


def eta(v: Momentum) -> float:
    return math.atanh(v[2] / math.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2))


def dphi(a: Momentum, b: Momentum) -> float:
    return math.remainder(phi(a) - phi(b), 2 * math.pi)


def mass(*vectors: Momentum) -> float:
    x, y, z, e = (math.fsum(v[i] for v in vectors) for i in range(4))
    return math.sqrt(max(0.0, e**2 - x**2 - y**2 - z**2))


def function(name: str, of: Callable[..., float], *arguments: Truth) -> Truth:
    def value(event: Event) -> float | None:
        vectors = [argument.of(event) for argument in arguments]
        return None if None in vectors else of(*vectors)

    return Truth(f"{name}({', '.join(argument.text for argument in arguments)})", value)


FUNCTIONS = st.one_of(
    st.builds(lambda v: function("pt", pt, v), PLANE),
    st.builds(lambda v: function("eta", eta, v), VECTORS),
    st.builds(lambda v: function("phi", phi, v), PLANE),
    st.builds(lambda vs: function("m", mass, *vs), st.lists(VECTORS, min_size=1, max_size=3)),
    st.builds(lambda a, b: function("dphi", dphi, a, b), PLANE, PLANE),
    st.builds(lambda a, b: function("deta", lambda v, w: eta(v) - eta(w), a, b), VECTORS, VECTORS),
    st.builds(
        lambda a, b: function("dr", lambda v, w: math.hypot(eta(v) - eta(w), dphi(v, w)), a, b),
        VECTORS,
        VECTORS,
    ),
)


@settings(max_examples=150)
@given(FUNCTIONS)
def test_functions_of_vectors(truth: Truth) -> None:
    found = number(truth.text)
    for value, event in zip(found, EVENTS, strict=True):
        expected = truth.of(event)
        if expected is None:
            assert math.isnan(value)
        elif truth.text.startswith(("phi", "dphi")):
            assert math.remainder(value - expected, 2 * math.pi) == pytest.approx(0, abs=1e-6)
            assert -math.pi < value <= math.pi
        else:
            # the mass of nearly collinear vectors is a small difference of large numbers
            assert value == pytest.approx(expected, rel=1e-6, abs=2e-3 if truth.text[0] == "m" else 1e-6)


def test_pairs_against_the_library_vector() -> None:
    pairs = [e for e in EVENTS if len(e["jet"]) >= 1 and len(e["photon"]) >= 1]
    made = events_of(pairs)

    def vectors(name: str) -> Any:
        first = [e[name][0] for e in pairs]
        parts = {key: np.array([o[key] for o in first]) for key in ("pt", "eta", "phi")}
        return vector.array(parts | {"mass": np.zeros(len(first))})

    jet, photon = vectors("jet"), vectors("photon")
    assert len(pairs) > 20
    expected = {
        "m(jet[0], photon[0])": (jet + photon).mass,
        "m(jet[0] + photon[0])": (jet + photon).mass,
        "pt(jet[0] + photon[0])": (jet + photon).pt,
        "eta(jet[0] + photon[0])": (jet + photon).eta,
        "phi(jet[0] + photon[0])": (jet + photon).phi,
        "dr(jet[0], photon[0])": jet.deltaR(photon),
        "dphi(jet[0], photon[0])": jet.deltaphi(photon),
        "deta(jet[0], photon[0])": jet.deltaeta(photon),
    }
    for text, values in expected.items():
        np.testing.assert_allclose(number(text, made), values, rtol=1e-9, err_msg=text)
    assert number("m(jet[0] + jet[0] + jet[0])", made) == [0.0] * len(pairs)  # not what rounding leaves


def test_counts_sums_and_columns() -> None:
    assert number("n_hard") == [len(collection(e, "hard")) for e in EVENTS]
    assert number("n_muon") == [len(e["muon"]) for e in EVENTS]
    assert number("met") == [e["met"] for e in EVENTS]
    assert number("met_phi") == [e["met_phi"] for e in EVENTS]
    ht = [sum(o["pt"] for name in ("hard", "photon") for o in collection(e, name)) for e in EVENTS]
    assert number("ht") == pytest.approx(ht, rel=1e-12)
    assert number("mht") == pytest.approx([math.hypot(*missing(e)) for e in EVENTS], rel=1e-9, abs=1e-9)
    for name, index, column in (("jet", 0, "pt"), ("muon", 1, "charge"), ("hard", 2, "eta")):
        objects = [collection(e, name) for e in EVENTS]
        expected = [o[index][column] if index < len(o) else math.nan for o in objects]
        assert np.isnan(expected).any()
        np.testing.assert_array_equal(number(f"{name}[{index}].{column}"), expected)


NUMBER_TEXTS = (
    "met + ht * 2", "(met + ht) * 2", "-met - -2", "max(met, ht, 3) / 2", "min(met, ht) - 1 - 2",
)  # fmt: skip
CONDITION_TEXTS = (
    "met >= 9 and not ht > 50", "not (ht > 5e1 or met >= 9)", "9 <= met < ht", "met > 9 or ht > 5 and met < 5"
)  # fmt: skip


def test_what_binds_first() -> None:
    """As in Python, with and without parentheses."""
    pairs = [{"met": met, "ht": ht} for met, ht in zip(number("met"), number("ht"), strict=True)]
    for text in NUMBER_TEXTS:
        assert number(text) == number(f" ({text}) ") == [eval(text, names) for names in pairs]
    for text in CONDITION_TEXTS:
        expected = [eval(text, names) for names in pairs]
        assert condition(text) == condition(f" ({text}) ") == expected
        assert 0 < sum(expected) < len(EVENTS)


def _pt_of(event: Event, name: str, index: int) -> float | None:
    return event[name][index]["pt"] if index < len(event[name]) else None


SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
COMPARISONS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def calculate(sign: str, a: Truth, b: Truth) -> Truth:
    def value(event: Event) -> float | None:
        x, y = a.of(event), b.of(event)
        if x is None or y is None:
            return None
        if sign == "/" and y == 0:
            return None if x == 0 else math.copysign(math.inf, x)
        return float(SIGNS[sign](x, y))

    return Truth(f"({a.text}) {sign} ({b.text})", value)


def one(sign: str, a: Truth) -> Truth:
    def value(event: Event) -> float | None:
        x = a.of(event)
        return x if x is None else -x if sign == "-" else abs(x)

    return Truth(f"{sign}({a.text})", value)


def compare(sign: str, a: Truth, b: Truth) -> Truth:
    """With a missing value: false, also for !=."""

    def value(event: Event) -> bool:
        x, y = a.of(event), b.of(event)
        return x is not None and y is not None and COMPARISONS[sign](x, y)

    return Truth(f"{a.text} {sign} {b.text}", value)


#: Numbers without rounding, so that truth and the language agree to the last bit.
NUMBERS = [
    Truth("met", lambda e: e["met"]),
    Truth("n_jet", lambda e: float(len(e["jet"]))),
    Truth("n_hard", lambda e: float(len(collection(e, "hard")))),
    Truth("jet[0].pt", lambda e: _pt_of(e, "jet", 0)),
    Truth("jet[1].pt", lambda e: _pt_of(e, "jet", 1)),
    Truth("pt(photon[0])", lambda e: _pt_of(e, "photon", 0)),
    *(Truth(repr(c), lambda e, c=c: c) for c in (0.0, 1.0, 2.5, 40.0)),
]


@st.composite
def numbers(draw: st.DrawFn) -> Truth:
    a, b = (draw(st.sampled_from(NUMBERS)) for _ in range(2))
    sign = draw(st.sampled_from(["", "", "abs", "-", *SIGNS]))
    if sign == "-" and draw(st.booleans()):
        return one(sign, a)
    return one(sign, a) if sign == "abs" else calculate(sign, a, b) if sign else a


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> Truth:
    joint = draw(st.sampled_from(["compare", "not", "and", "or"])) if depth else "compare"
    if joint == "compare":
        return compare(draw(st.sampled_from(sorted(COMPARISONS))), draw(numbers()), draw(numbers()))
    a, b = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    if joint == "not":
        return Truth(f"not ({a.text})", lambda e: not a.of(e))
    joined = all if joint == "and" else any
    return Truth(f"({a.text}) {joint} ({b.text})", lambda e: joined((a.of(e), b.of(e))))


@settings(max_examples=150)
@given(conditions())
def test_conditions(truth: Truth) -> None:
    assert condition(truth.text) == [truth.of(event) for event in EVENTS]


def test_a_missing_object_makes_comparisons_false_and_not_negates_them() -> None:
    none = [e | {"photon": []} for e in EVENTS[:5]]
    made = events_of(none)
    for sign in COMPARISONS:
        for text in (f"photon[0].pt {sign} 0", f"0 {sign} photon[0].pt", f"dr(jet[0], photon[0]) {sign} 1"):
            assert condition(text, made) == [False] * 5
            assert condition(f"not {text}", made) == [True] * 5
    assert condition("n_photon == 0 and mht >= 0", made) == [True] * 5
    assert condition("1 < photon[0].pt < 2 or n_photon < 1", made) == [True] * 5


def test_angles_stay_in_their_range() -> None:
    """φ of float32 can exceed π, and differences reach ±2π."""
    phis = np.array([np.pi, -np.pi, 3.0, -3.0, 0.0], "f4")
    n = len(phis)
    grid = [(a, b) for a in range(n) for b in range(n)]
    offsets = np.arange(0, 2 * len(grid) + 1, 2)
    flat = np.array([phis[i] for pair in grid for i in pair], "f4")
    jets = Collection(
        offsets, {"pt": np.ones(len(flat), "f4"), "eta": np.zeros(len(flat), "f4"), "phi": flat}
    )
    made = make_events("angles", np.ones(len(grid)), {"jet": jets})
    found = np.array(number("dphi(jet[0], jet[1])", made))
    assert ((found > -math.pi) & (found <= math.pi)).all()
    expected = [math.remainder(float(phis[a]) - float(phis[b]), 2 * math.pi) for a, b in grid]
    np.testing.assert_allclose(np.cos(found), np.cos(expected), atol=1e-12)
    np.testing.assert_allclose(np.sin(found), np.sin(expected), atol=1e-6)


@given(st.floats(0.5, 1e4), st.floats(-3.125, 3.125, width=32))
def test_what_is_opposite_up_to_rounding_is_at_plus_pi(pt: float, phi: float) -> None:
    """As an object and the missing momentum that it leaves when it is alone."""
    px, py = pt * math.cos(phi), pt * math.sin(phi)
    assert delta_phi(phi, math.atan2(-py, -px)) == pytest.approx(math.pi, abs=1e-12)
    assert delta_phi(-math.pi / 2, math.pi / 2 - 1e-9) == -math.pi + 1e-9


def test_needs_are_what_is_read() -> None:
    def needs(text: str) -> set[tuple[str, str]]:
        return set(parse_observable(text, SCOPE).needs())

    assert needs("met") == {("", "met")}
    assert needs("n_hard") == {("jet", "pt")}
    assert needs("muon[0].charge") == {("muon", "charge"), ("muon", "pt")}
    assert needs("dphi(met, jet[0])") == {("", "met"), ("", "met_phi")} | {
        ("jet", c) for c in ("pt", "eta", "phi")
    }
    assert needs("mht") == {(name, c) for name in ("jet", "muon") for c in ("pt", "phi")}


@pytest.mark.parametrize("text", ["met_ph", "jet[0].mass", "ht / no_such_number"])
def test_only_what_is_needed_is_looked_up(text: str) -> None:
    observable = parse_observable(text, SCOPE)
    with pytest.raises(SampleError, match="sample 'toy' has no"):
        observable.evaluate(Workspace(WHOLE))
