"""Terms written with blanks anywhere are read back as they were; what is no term is refused at its place."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st
from trigemu_cms.l1_grammar import (
    FUNCTIONS,
    OBJECTS,
    SIGNALS,
    Function,
    Junction,
    Object,
    Signal,
    Term,
    parse,
)

from trigemu import TrigemuError

CROSSINGS = st.integers(-2, 2)
CUTS = st.lists(st.sampled_from(["MU-QLTY_SNGL", "X_0xE", "DETA_MAX_1p5", "EG-ETA_2p13"]), max_size=3).map(
    tuple
)
OBJECT = st.builds(
    Object,
    st.sampled_from(sorted(OBJECTS)),
    st.sampled_from(["0", "3p5", "120"]),
    st.booleans(),
    CROSSINGS,
    CUTS,
)
CONDITION = (
    OBJECT
    | st.builds(Signal, st.sampled_from(sorted(SIGNALS)), CROSSINGS, CUTS)
    | st.builds(Signal, st.sampled_from(["EXT_BPTX_plus.v0", "EXT_A", "EXT_x.9_"]), CROSSINGS)
    | st.builds(
        Function, st.sampled_from(FUNCTIONS), st.lists(OBJECT, min_size=1, max_size=4).map(tuple), CUTS
    )
)
TERM = st.recursive(
    CONDITION,
    lambda inner: (
        st.builds(Junction, st.just("NOT"), st.tuples(inner))
        | st.builds(
            Junction,
            st.sampled_from(["AND", "XOR", "OR"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        )
    ),
    max_leaves=6,
)


def write(term: Term, blank: Callable[[], str]) -> str:
    match term:
        case Object(kind, threshold, exact, crossing, cuts):
            return f"{kind}{'.eq.' if exact else ''}{threshold}{sign(crossing)}{write_cuts(cuts, blank)}"
        case Signal(name, crossing, cuts):
            return f"{name}{sign(crossing)}{write_cuts(cuts, blank)}"
        case Function(name, objects, cuts):
            inner = f"{blank()},{blank()}".join(write(o, blank) for o in objects)
            return f"{name}{blank()}{{{blank()}{inner}{blank()}}}{write_cuts(cuts, blank)}"
        case Junction("NOT", (operand,)):
            return f"NOT {blank()}{bracketed(operand, blank)}"
    return f" {blank()}{term.operation} {blank()}".join(
        bracketed(operand, blank) for operand in term.operands
    )


def bracketed(term: Term, blank: Callable[[], str]) -> str:
    text = write(term, blank)
    return f"({blank()}{text}{blank()})" if isinstance(term, Junction) else text


def sign(crossing: int) -> str:
    return f"{crossing:+d}" if crossing else ""


def write_cuts(cuts: tuple[str, ...], blank: Callable[[], str]) -> str:
    return f"{blank()}[{blank()}{f'{blank()},{blank()}'.join(cuts)}{blank()}]" if cuts else ""


@given(TERM, st.integers())
def test_what_is_written_is_read(term: Term, seed: int) -> None:
    rng = random.Random(seed)
    assert parse(write(term, lambda: rng.choice(["", " ", "  ", "\n"]))) == term


@pytest.mark.parametrize(("text", "expected"), [
    ("MU.ge.3p5", Object("MU", "3p5", False, 0, ())),
    ("MBT0HFP1", Object("MBT0HFP", "1", False, 0, ())),
    ("ETMHF100", Object("ETMHF", "100", False, 0, ())),
    ("mass_inv_3_obj{MU0,MU0,MU0}", Function("mass_inv_3", (Object("MU", "0", False, 0, ()),) * 3, ())),
])  # fmt: skip
def test_meanings(text: str, expected: Term) -> None:
    """How operations bind is held by the truth tables of test_cms_l1.py."""
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("comb{MU0,FOO3}", "column 10: unknown object 'FOO3'"),
        ("JETT30", "column 1: 'JETT30'"),
        ("mas{MU0,MU0}", "unknown function 'mas'; did you mean 'mass'"),
        ("MU0 AND", "invalid syntax: expected conditions with AND, OR, XOR"),
        ("(MU0", "column 1: '\\(' was never closed"),
        ("MU0)", "column 4: unmatched"),
        ("MU0 MU1", "column 5: invalid syntax"),
        ("MU0(MU1)", "cannot be read at column 1"),
        ("MU0 + MU1", "column 5: expected an object"),
        ("MU0[MU-QLTY", "column 4: expected ']'"),
        ("MU0[]", "the name of a cut"),
        ("comb{MU0,MU1", "column 1: expected objects in {} after the function 'comb'"),
        ("comb{MU0 MU1}", "column 10: expected ',' or '}'"),
        ("comb{MU0,}", "column 10: expected an object"),
        ("MU.lt.3", "column 1: comparison '.lt.'"),
        ("MU", "a threshold after MU"),
        ("MU3+3", "crossing \\+3: expected −2 … \\+2"),
        ("", "is empty"),
        ("NOT " * 101 + "MU3", "more than 100 levels"),
        ("comb{comb{MU0,MU0},MU0}", "column 6: expected objects in {} after the function 'comb'"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        parse(text)
