"""What a scan goes over: which values a text gives, and which triggers and numbers cannot be scanned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toys import menu_from, threshold

from trigemu import Menu, TrigemuError
from trigemu.studies.scan import MAX_POINTS, Steps, parse_values, steps_of

MENU = (
    threshold("S", "jet[0].pt", 31.0)
    + '[[trigger]]\nname = "L"\nkind = "logic"\nexpression = "S and not C"\n'
    + '[[trigger]]\nname = "C"\nkind = "combination"\npairs = [{ legs = [0, 1], mass = { max = 200 } }]\n'
    + 'legs = [{ object = "jet", pt = { min = 20 } }, { object = "jet", eta = { min = -2, max = 2 } }]\n'
    + threshold("OFF", "met", 1, "enabled = false")
)


@pytest.fixture
def menu(tmp_path: Path) -> Menu:
    return menu_from(tmp_path, MENU)


def test_numbers_have_paths_in_full(menu: Menu) -> None:
    given = [Steps("C", (1, 2), "legs[0].pt"), Steps("C", (3,), "pairs[0].mass"), Steps("S", (1,), "above")]  # type: ignore[arg-type]
    assert steps_of(menu, given) == (
        Steps("C", (1.0, 2.0), "legs[0].pt.min"),
        Steps("C", (3.0,), "pairs[0].mass.max"),
        Steps("S", (1.0,)),
    )
    assert [step.name for step in steps_of(menu, given)] == [
        "C legs[0].pt.min",
        "C pairs[0].mass.max",
        "S",
    ]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([Steps("SS", (1.0,))], r"unknown trigger 'SS'; did you mean 'S'\?"),
        ([Steps("L", (1.0,))], r"menu\.toml:\d+: trigger 'L': the kind 'logic' has no threshold to scan"),
        ([Steps("C", (1.0,))], "'combination' has no threshold to scan; vary a number of its table"),
        ([Steps("L", (1.0,), "above")], "trigger 'L': the kind 'logic' has no numbers to vary"),
        (
            [Steps("C", (1.0,), "leg[0].pt")],
            r"menu\.toml:\d+: trigger 'C': unknown key 'leg'; did you",
        ),
        ([Steps("C", (1.0,), "legs[1].eta")], r"say which, legs\[1\]\.eta\.min or legs\[1\]\.eta\.max"),
        (
            [Steps("C", (1.0,), "legs[0].pt"), Steps("C", (2.0,), "legs[0].pt.min")],
            r"scanned twice: give legs\[0\]\.pt\.min its values once",
        ),
        (
            [Steps("S", (1.0,)), Steps("S", (2.0,), "requires")],
            "requires = 1: expected a string",
        ),
        ([Steps("OFF", (1.0,), "above")], "trigger 'OFF' is disabled"),
        ([Steps("OFF", (1.0,))], "trigger 'OFF' is disabled"),
        ([Steps("S", (1.0,)), Steps("S", (2.0,))], "trigger 'S' is scanned twice"),
        ([Steps("S", (2.0, 1.0))], "trigger 'S': expected at least one value to scan, in ascending order"),
        ([Steps("S", ())], "trigger 'S': expected at least one value"),
        ([Steps("S", tuple(map(float, range(MAX_POINTS + 1))))], "10001 combinations of values: at most"),
    ],
)
def test_what_cannot_be_scanned_is_named(menu: Menu, steps: list[Steps], message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        steps_of(menu, steps)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("60:75:5", (60.0, 65.0, 70.0, 75.0)),
        ("60:74:5", (60.0, 65.0, 70.0)),
        ("0:1:0.1", tuple(i / 10 for i in range(11))),
        ("-1:1:1", (-1.0, 0.0, 1.0)),
        ("5:5:1", (5.0,)),
        ("3", (3.0,)),
        ("3, 1,2,3", (1.0, 2.0, 3.0)),
        ("1e3:2e3:500", (1000.0, 1500.0, 2000.0)),
    ],
)
def test_values_are_what_a_menu_would_say(text: str, values: tuple[float, ...]) -> None:
    assert parse_values(text) == values


@pytest.mark.parametrize(
    "text",
    ["", "a", "1:2", "1:2:0", "1:2:-1", "2:1:1", "1:2:3:4", "1,,2", "nan", "inf", "0:inf:1", "nan:1:1",
     "0:1:1e-9", "0:1:nan", "1e999", "0:9e9:1e-9", "0:1e999999:1", "0:1:1e-999", "1," * MAX_POINTS + "1"],
)  # fmt: skip
def test_values_that_are_none_are_refused_at_once(text: str) -> None:
    with pytest.raises(TrigemuError, match=f"values {re.escape(repr(text)[:20])}") as caught:
        parse_values(text)
    assert len(str(caught.value)) < 1000
