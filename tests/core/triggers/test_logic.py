"""Against Python's own `and`, `or`, `not`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu import TrigemuError
from trigemu.base.errors import excerpt
from trigemu.triggers.logic import Logic, parse_expression

NAMES = ("A", "B", "C")
#: Every combination of three decisions.
ROWS = list(itertools.product([False, True], repeat=3))
RAW = {name: np.array([row[i] for row in ROWS]) for i, name in enumerate(NAMES)}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    kind = draw(st.sampled_from(["name", "not", "and", "or"])) if depth else "name"
    if kind == "name":
        return draw(st.sampled_from(NAMES))
    if kind == "not":
        inner = draw(expressions(depth - 1))
        return f"not ({inner})" if draw(st.booleans()) else f"not {inner}"
    parts = [draw(expressions(depth - 1)) for _ in range(draw(st.integers(2, 3)))]
    return f" {kind} ".join(f"({part})" if draw(st.booleans()) else part for part in parts)


@given(expressions())
def test_expressions_mean_what_they_mean_in_python(text: str) -> None:
    kind = Logic(expression=text)
    assert not list(kind.mistakes())
    expected = [eval(text, {}, dict(zip(NAMES, row, strict=True))) for row in ROWS]
    found = kind.decide(RAW, 8)
    assert found.dtype == np.bool_
    assert found.tolist() == expected
    assert sorted(kind.inputs()) == sorted({letter for letter in text if letter in NAMES})


def test_what_it_reads_is_left_as_it_was() -> None:
    before = {name: column.copy() for name, column in RAW.items()}
    for text in ("not A", "A and B", "A or B or C", "A"):
        Logic(expression=text).decide(RAW, 8)
    for name in NAMES:
        np.testing.assert_array_equal(RAW[name], before[name])


def test_names_with_other_signs_are_quoted() -> None:
    expression = parse_expression("""'HLT-mu 4' and not "L1/J100#2" or plain_1""")
    assert expression.names() == ("HLT-mu 4", "L1/J100#2", "plain_1")


def test_it_may_go_over_several_lines() -> None:
    assert parse_expression("\nA  # first\n  or B\n  and C\n") == parse_expression("A or B and C")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("A B", "cannot be read"),
        ("A and", "cannot be read"),
        ("A-B", "'A - B' is not a trigger name joined by and, or, not; quote names with other characters"),
        ("A & B", "'A & B' is not a trigger name"),
        ("A > 1", "'A > 1' is not a trigger name"),
        ("A and 1", "'1' is not a trigger name"),
        ("True", "'True' is not a trigger name"),
        ("f(A)", "'f(A)' is not a trigger name"),
        ("A if B else C", "is not a trigger name"),
        ("not " * 101 + "A", "nests more than 100 levels"),
        ("A or " * 20_000 + "A", "has 100001 characters, at most 100000 are allowed"),
    ],
)
def test_what_is_no_expression(text: str, message: str) -> None:
    ((key, mistake),) = Logic(expression=text).mistakes()
    assert key == "expression"
    assert mistake.startswith(f"{excerpt(text)!r}: ")
    assert message in mistake
    with pytest.raises(TrigemuError):
        parse_expression(text)
