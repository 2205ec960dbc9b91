"""Cuts on one sign of Δφ or Δη, against what happens to decisions if the sign is turned around."""

from __future__ import annotations

import pytest

from trigemu.observables.signed import one_sided

D = "dphi(jet[0], jet[1])"
#: Values of the difference, between the limits of the conditions below.
VALUES = [0.25 * i + 0.1 for i in range(13)]


def depends_on_sign(condition: str) -> bool:
    """Whether Python decides differently for any v and −v in place of the difference."""
    text = condition.replace(D, "v")
    return any(eval(text, {"v": v}) != eval(text, {"v": -v}) for v in VALUES)


@pytest.mark.parametrize(
    "condition",
    [
        f"{D} > 1",
        f"{D} >= 1.5",
        f"{D} < 1",
        f"1 < {D}",
        f"-{D} > 1",
        f"-(-{D}) > 1",
        f"{D} > -1",
        f"not {D} > 1",
        f"1 < {D} < 3",
        f"-1 < {D} < 2",
        f"{D} > 1 or {D} < -2",
        f"3.14 / 2 < {D}",
        f"{D} > 1 and 2 > 1",
    ],
)
def test_a_cut_that_depends_on_the_sign_is_one_sided(condition: str) -> None:
    assert depends_on_sign(condition)
    assert one_sided([(condition, None)]) == (D,)


@pytest.mark.parametrize(
    "condition",
    [
        f"abs({D}) > 1",
        f"-1 < {D} < 1",
        f"-1.0 < {D} and 1 > {D}",
        f"-1 <= -{D} <= 1",
        f"{D} > 1 or {D} < -1",
        f"not -1 < {D} < 1",
        f"-3.14 / 2 < {D} < 3.14 / 2",
        f"-(3.14 / 2) < {D} < 3.14 / 2",
        f"max({D}, -{D}) > 1",
        f"{D} * {D} > 1",
        "2 > 1",
    ],
)
def test_a_cut_that_does_not_is_not(condition: str) -> None:
    assert not depends_on_sign(condition)
    assert one_sided([(condition, None)]) == ()


@pytest.mark.parametrize(
    "condition",
    [
        f"{D} > 0",
        f"0.0 >= {D}",
        f"{D} == 1",
        f"{D} + 1 > 2",
        "jet[0].eta > 1",
        f"2 * {D} > 1",
        "dr(jet[0], mht) > 1",
    ],
)
def test_the_sign_itself_and_larger_expressions_may_be_asked_for(condition: str) -> None:
    assert one_sided([(condition, None)]) == ()


@pytest.mark.parametrize(
    ("number", "above", "expected"),
    [
        (D, 1.0, (D,)),
        (f"-{D}", 1.0, (D,)),
        (D, -1.0, (D,)),
        (D, float("inf"), (D,)),  # a cut that a budget will find
        (D, 0.0, ()),
        (f"abs({D})", 1.0, ()),
        (f"{D} / 2", 1.0, ()),
    ],
)
def test_thresholds(number: str, above: float, expected: tuple[str, ...]) -> None:
    assert one_sided([(number, above)]) == expected


def test_limits_of_one_trigger_count_together() -> None:
    assert one_sided([(D, -1.0), (f"{D} < 1", None)]) == ()
    assert one_sided([(D, -1.0), (f"{D} < 2", None)]) == (D,)


def test_each_difference_is_named_once() -> None:
    other = "deta(jet[0] + jet[1], photon[0])"
    text = f"{D} > 1 and {other} < 2 and (met > 5 or {D} > 2)"
    assert one_sided([(text, None)]) == (D, other)


def test_against_a_number_of_the_event() -> None:
    assert one_sided([(f"{D} > jet[0].pt / 100", None)]) == (D,)
    assert one_sided([(f"-jet[0].pt / 100 < {D} < jet[0].pt / 100", None)]) == ()
