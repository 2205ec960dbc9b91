"""Expressions of the YAML menus, held against Python's own evaluation with arrays."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from phase2_toys import holds
from trigemu_cms.phase2_expressions import parse_condition, parse_cut
from trigemu_cms.phase2_windows import Alternatives, OfLeg, OfPair, OfSum

from trigemu import TrigemuError
from trigemu.api import Window

LEGS = {"leg1": 0, "leg2": 1}


def passes(alternatives: Alternatives, values: dict[Any, float]) -> bool:
    return any(all(holds(w, values[of]) for of, w in one.items()) for one in alternatives)


@pytest.mark.parametrize(
    "text",
    [
        "{pt} > 5",
        "5 <= {pt}",
        "abs({eta}) < 2.4",
        "{eta} >= -1.5",
        "({q} == 1) | ({pt} < 25)",
        "({q} == 1) & (({pt} < 25) | (abs({eta}) > 1))",
        "~(({q} == 1) | ({pt} < 25))",
        "~(({pt} > 5) & ({pt} <= 25))",
        "abs({q}) != 3",
        "~({q} != 3)",
        "abs({eta}) == 1.5",
        "({q}>>1)&1 == 1",
        "(({q}>>1)&1 == 1) | (({pt} > 8) & (({q}>>0)&1 == 1))",
        "{q} & 5 == 5",
        "({q}>>1)&3 == 3",
    ],
)
def test_cuts_are_what_python_makes_of_arrays(text: str) -> None:
    grid = itertools.product(
        (0.0, 5.0, 8.0, 20.0, 25.0, 30.0), (-2.5, -1.5, 0.0, 1.0, 1.5, 2.4), range(-3, 8)
    )
    values = np.array(list(grid))
    columns = {"pt": values[:, 0], "eta": values[:, 1], "q": values[:, 2].astype(int)}
    truth = eval(re.sub(r"\{(\w+)\}", r"\1", text), {"abs": abs, **columns})
    alternatives = parse_cut(text)
    result = [
        passes(alternatives, {OfLeg(0, name): column[i] for name, column in columns.items()})
        for i in range(len(values))
    ]
    assert result == truth.tolist()
    assert len(set(result)) == 2


def pair(first: int, second: int, quantity: str, window: Window) -> Alternatives:
    return ({OfPair((first, second), quantity): window},)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("leg2.deltaR(leg1) > 0.5", pair(0, 1, "dr", Window(above=0.5))),
        ("abs(leg1.deltaphi(leg2)) >= 2.5", pair(0, 1, "dphi", Window(min=2.5))),
        ("0 < leg1.charge*leg2.charge", pair(0, 1, "charge", Window(above=0.0))),
        ("leg2.q*leg1.charge > 0", ({OfPair((0, 1), "charge", ("charge", "q")): Window(above=0.0)},)),
        ("abs(leg2['pt']-leg1['']) < 1", ({OfPair((0, 1), "dz0", ("z0", "pt")): Window(below=1.0)},)),
        ("leg2.b + leg1.b == 2", ({OfSum((0, 1), "b"): Window(min=2.0, max=2.0)},)),
        # & binds closer than <: |Δz0| < (1 & condition), which is 1 or 0.
        (
            "(abs(leg2.z0-leg1.z0) < 1 & (leg2.deltaR(leg1) > 0))",
            ({OfPair((0, 1), "dr"): Window(above=0.0), OfPair((0, 1), "dz0"): Window(below=1.0)},),
        ),
        (
            "leg1.z0 < 3 & (leg1.eta > 0)",
            (
                {OfLeg(0, "eta"): Window(above=0.0), OfLeg(0, "z0"): Window(below=1.0)},
                {OfLeg(0, "eta"): Window(max=0.0), OfLeg(0, "z0"): Window(below=0.0)},
            ),
        ),
    ],
)
def test_masks(text: str, expected: Alternatives) -> None:
    """More of them are in the menus of test_cms_phase2.py, which decide as every choice of objects."""
    assert parse_condition(text, LEGS) == expected


def test_a_leg_without_its_dot_is_not_a_column() -> None:
    with pytest.raises(TrigemuError, match="'leg2offline_pt' is outside of the grammar"):
        parse_condition("leg2offline_pt >= 36.0", LEGS, "leg2")


def test_thresholds_name_their_leg_or_not() -> None:
    expected = ({OfLeg(1, "offline_pt"): Window(min=36.0)},)
    assert parse_condition("offline_pt >= 36.0", LEGS, "leg2") == expected
    assert parse_condition(" leg2.offline_pt >= 36.0", LEGS, "leg2") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "outside of the grammar"),
        ("leg1.pt.__class__ > 3", "outside of the grammar"),
        ("leg1.pt - leg2.pt > 3", "'leg1.pt - leg2.pt' is outside of the grammar"),
        ("leg1.pt + 2 > 3", "'2' is outside of the grammar"),
        ("leg1.pt + leg2.eta > 3", "a sum must be of one column of different legs"),
        ("leg1.pt + leg1.pt > 3", "a sum must be of one column of different legs"),
        ("abs(leg1.pt + leg2.pt) > 3", "is outside of the grammar"),
        ("abs(leg1.q*leg2.q) > 0", "is outside of the grammar"),
        ("leg1.q*leg1.q > 0", "leg1.q and leg1.q"),
        ("abs(leg1.z0 - leg1.zvtx) < 1", "leg1.z0 and leg1.zvtx"),
        ("abs(leg1.eta - leg2.phi) < 1", "is outside of the grammar"),
        ("leg1[0] > 1", "'leg1[0]' is outside of the grammar"),
        ("leg1.pt > leg2.pt", "'leg2.pt' is not a number"),
        ("leg3.pt > 1", "'leg3' is not a leg"),
        ("leg1.deltaR(leg1) > 1", "leg1 is compared with itself"),
        ("leg1.charge*leg2.charge == -1", "charges are compared as"),
        ("abs(leg1.eta) < 2 & leg1.pt > 3", "in parentheses"),
        ("1 < leg1.pt < 3", "in parentheses"),
        ("leg1.pt > 3 and leg1.pt < 5", "outside of the grammar"),
        ("leg1.q>>1 & 1 == 0", "all of them set"),
        ("leg1.pt > True", "'True' is not a number"),
        ("abs(leg1.phi-leg2.phi) < 1", "outside of the grammar"),
        ("leg1.pt >", "cannot be read"),
        ("", "is empty"),
        ("(" * 300 + "leg1.pt > 1" + ")" * 300, "nested"),
        ("~" * 101 + "(leg1.pt > 1)", "more than 100 levels"),
        (" & ".join(["((leg1.a > 1) | (leg1.b > 1) | (leg2.c > 1))"] * 5), "alternatives"),
    ],
)
def test_what_is_outside_of_the_grammar(text: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=re.escape(message)):
        parse_condition(text, LEGS)


def test_columns_of_objects_stand_in_braces() -> None:
    with pytest.raises(TrigemuError, match="columns are written"):
        parse_cut("{pt > 3")
