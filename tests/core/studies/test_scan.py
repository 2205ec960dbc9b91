"""What a scan goes over; scans against separate runs at each value, everything that rates hold; where budgets
are met."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from likeness import alike
from toys import combination, logic, memory_catalogue, menu_from, threshold, toy_events, trigger

from trigemu import Menu, TrigemuError, emulate, rates_of, read_menu, score_table
from trigemu.api import MenuRates
from trigemu.emulation.budgets import solve_budgets
from trigemu.results.scan import ScanView
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.scan import (
    MAX_POINTS,
    BudgetBracket,
    Scan,
    Steps,
    budget_brackets,
    parse_values,
    scan,
    steps_of,
)

STEPPED = (
    threshold("S", "jet[0].pt", 31.0)
    + '[[trigger]]\nname = "L"\nkind = "logic"\nexpression = "S and not C"\n'
    + '[[trigger]]\nname = "C"\nkind = "combination"\npairs = [{ legs = [0, 1], mass = { max = 200 } }]\n'
    + 'legs = [{ object = "jet", pt = { min = 20 } }, { object = "jet", eta = { min = -2, max = 2 } }]\n'
    + threshold("OFF", "met", 1, "enabled = false")
)


@pytest.fixture
def stepped(tmp_path: Path) -> Menu:
    return menu_from(tmp_path, STEPPED)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([Steps("SS", (1.0,))], r"unknown trigger 'SS'; did you mean 'S'\?"),
        ([Steps("L", (1.0,))], r"menu\.toml:\d+: trigger 'L': the kind 'logic' has no threshold to scan"),
        ([Steps("C", (1.0,))], "'combination' has no threshold to scan; vary a number of its table"),
        ([Steps("L", (1.0,), "above")], "trigger 'L': the kind 'logic' has no numbers to vary"),
        ([Steps("C", (1.0,), "leg[0].pt")], r"menu\.toml:\d+: trigger 'C': unknown key 'leg'; did you"),
        ([Steps("C", (1.0,), "legs[1].eta")], r"say which, legs\[1\]\.eta\.min or legs\[1\]\.eta\.max"),
        (
            [Steps("C", (1.0,), "legs[0].pt"), Steps("C", (2.0,), "legs[0].pt.min")],
            r"scanned twice: give legs\[0\]\.pt\.min its values once",
        ),
        ([Steps("S", (1.0,)), Steps("S", (2.0,), "requires")], "requires = 1: expected a string"),
        ([Steps("OFF", (1.0,), "above")], "trigger 'OFF' is disabled"),
        ([Steps("OFF", (1.0,))], "trigger 'OFF' is disabled"),
        ([Steps("S", (1.0,)), Steps("S", (2.0,))], "trigger 'S' is scanned twice"),
        ([Steps("S", (2.0, 1.0))], "trigger 'S': expected at least one value to scan, in ascending order"),
        ([Steps("S", ())], "trigger 'S': expected at least one value"),
        ([Steps("S", tuple(map(float, range(MAX_POINTS + 1))))], "10001 combinations of values: at most"),
    ],
)
def test_what_cannot_be_scanned_is_named(stepped: Menu, steps: list[Steps], message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        steps_of(stepped, steps)


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


PLUGIN = """
import numpy as np
from trigemu.triggers import base
from trigemu.triggers.base import ScoreKind

class Spread(ScoreKind, frozen=True):
    scale: float = 1.0
    def compile(self, context):
        return Compiled(context.observable("met"), self.scale, self.threshold)

class Compiled(base.Compiled):
    def __init__(self, met, scale, threshold):
        self.met, self.scale, self.threshold = met, scale, threshold
    def evaluate(self, work):
        return np.where(self.met.evaluate(work) > 5, self.scale * self.met.evaluate(work), -np.inf)

KINDS = {"spread": Spread}
"""
PAIR = '[{{ object = "jet", pt = {{ min = {lead} }}, eta = {{ abs_max = {eta} }} }}, '
PAIR += '{{ object = "jet", pt = {{ above = {second} }} }}]\n'
PAIR += "pairs = [{{ legs = [0, 1], mass = {{ min = 10, max = {mass} }}, outside_dr = {{ max = {dr} }} }}]\n"
MUONS = '{{ object = "muon" }}, {{ object = "muon" }}, {{ object = "muon" }}'
NUMBERS = {
    **{"s": 31.0, "twin": 30.0, "photon": 12.0, "spread": 20.0, "lead": 30.0, "second": 10.0},
    **{"eta": 2.0, "mass": 120.0, "dr": 0.5, "mass3": 90.0},
}
#: What is scanned, with what reads it or shares things with it; numbers and the keys of S and D are put in.
MENU = (
    '[menu]\nplugins = ["spread"]\n'
    + threshold("S", "jet[0].pt", "{s}", 'group = "x"\n{keys}')
    + threshold("TWIN", "jet[0].pt", "{twin}", 'group = "x"')
    + threshold("G", "photon[0].pt", "{photon}", 'prescale = 3\ncoherent = "c"\ngroup = "y"')
    + trigger("P", "spread", "above = {spread}\nscale = 1.5")
    + trigger("D", "combination", f"legs = {PAIR}{{keys}}")
    + trigger("SAME", "combination", "legs = " + PAIR.format(**NUMBERS).replace("{", "{{").replace("}", "}}"))
    + logic("L", "(S or D) and not G", "prescale = 2")
    + combination("SEEDED", MUONS, 'mass3 = {{ max = {mass3} }}\nseed = "S or D or G"')
)
#: Placeholder → the trigger that has it, its path, and values to scan; at one it is equal to another trigger.
PATHS: dict[str, tuple[str, str | None, tuple[float, ...]]] = {
    "s": ("S", None, (-1.0, 30.0, 31.0, 44.5, 1e9)),
    "twin": ("TWIN", None, (20.0, 31.0, 40.0)),
    "photon": ("G", None, (8.0, 12.0, 20.0)),
    "spread": ("P", None, (-5.0, 7.5, 200.0)),
    "lead": ("D", "legs[0].pt", (6.0, 30.0, 44.0, 1e3)),
    "second": ("D", "legs[1].pt.above", (5.0, 10.0, 17.0)),
    "eta": ("D", "legs[0].eta", (0.5, 2.0, 3.0)),
    "mass": ("D", "pairs[0].mass.max", (40.0, 120.0, 300.0)),
    "dr": ("D", "pairs[0].outside_dr", (0.1, 0.5, 2.0)),
    "mass3": ("SEEDED", "mass3", (10.0, 50.0, 90.0)),
}


def read(folder: Path, keys: str = "", text: str = MENU, **changed: float) -> Menu:
    (folder / "spread.py").write_text(PLUGIN)
    (folder / "menu.toml").write_text(text.format(**NUMBERS | changed, keys=keys))
    return read_menu(folder / "menu.toml", [folder])


def everything(result: MenuRates) -> tuple[Any, ...]:
    return (
        result.menu,
        result.rate,
        result.triggers,
        result.groups,
        result.overlap.tolist(),
        result.overlap_error.tolist(),
        result.half,
        dict(result.models),
        result.warnings,
        result.to_dict(),
    )


def check(
    folder: Path,
    values: dict[str, tuple[float, ...]],
    catalogue: Catalogue,
    keys: str = "",
    executor: Any = None,
    **numbers: float,
) -> Scan:
    """Compare with runs of menus whose files have these numbers."""
    menu = read(folder, keys, **numbers)
    steps = [Steps(PATHS[name][0], of, PATHS[name][1]) for name, of in values.items()]
    found = scan(menu, steps, catalogue, executor=executor)
    chosen = list(product(*values.values()))
    assert len(found.points) == len(chosen)
    for of, point in zip(chosen, found.points, strict=True):
        other = read(folder, keys, **numbers | dict(zip(values, of, strict=True)))
        separate = replace(menu, triggers=other.triggers)  # which has the same file
        assert alike(everything(point), everything(rates_of(emulate([separate], catalogue))))
    return found


@pytest.fixture
def catalogue() -> Catalogue:
    """Weights over orders of magnitude, and a sample in which little fires."""
    return memory_catalogue({"a": toy_events(1, 120), "b": toy_events(2, 40)})


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        *((name, "") for name in PATHS),
        ("s", "beside"),
        *product(
            ("s", "lead"), ('coherent = "c"\nprescale = 2', 'seed = "G"\nprescale = 4', 'fitted_on = "toy"')
        ),
    ],
)
def test_a_scan_equals_separate_runs(tmp_path: Path, catalogue: Catalogue, name: str, keys: str) -> None:
    """Of what logic and seeds read, beside a trigger that is equal at one of the values."""
    if keys == "beside":  # a trigger that is equal at the first value
        check(tmp_path, {name: PATHS[name][2]}, catalogue, twin=-1.0)
        return
    found = check(tmp_path, {name: PATHS[name][2]}, catalogue, keys)
    if not keys:
        assert len({tuple(t.total.hz for t in point.triggers) for point in found.points}) > 1


@pytest.mark.parametrize(
    "names",
    [
        *(("s", "spread"), ("photon", "s"), ("twin", "s"), ("lead", "second"), ("mass", "mass3")),
        ("second", "photon", "dr"),
    ],
)
def test_planes(tmp_path: Path, catalogue: Catalogue, names: tuple[str, ...]) -> None:
    """Two of one trigger, of two, and of two that are one and the same; three at once."""
    values = {name: (NUMBERS[name] * 0.7, NUMBERS[name]) for name in names}
    if names == ("twin", "s"):
        values = dict.fromkeys(names, (20.0, 30.0))
    check(
        tmp_path, values, catalogue, 'prescale = 2\nfitted_on = "toy"' if "spread" in names else "", twin=31.0
    )


BUDGETS = (
    combination("J", '{{ object = "jet", pt = {{ min = {leg} }} }}')
    + threshold("K", "jet[0].pt", None, "{jet}")
    + threshold("G", "photon[0].pt", None, "unique_rate_hz = {budget}")
)


@pytest.mark.parametrize(
    ("jet", "scanned", "key"),
    [("above = 40", "K", "jet"), ("total_rate_hz = 100.0", "K", "jet"), ("above = 40", "J", "leg")],
)
def test_budgets_of_others_are_solved_once(tmp_path: Path, jet: str, scanned: str, key: str) -> None:
    """With the scanned trigger as the menu has it, whatever it has, and not at a value of the scan."""
    catalogue = memory_catalogue({"a": [e | {"weight": 1.0} for e in toy_events(1, 600)]})
    given = {"jet": jet, "leg": 35.0, "budget": 20.0}
    menu = menu_from(tmp_path, BUDGETS.format(**given))
    found = scan(menu, Steps(scanned, (5.0, 40.0, 80.0), "legs[0].pt" if key == "leg" else None), catalogue)
    (solved,) = solve_budgets([menu], catalogue)
    for value, point in zip((5.0, 40.0, 80.0), found.points, strict=True):
        text = BUDGETS.format(**given | {key: f"above = {value}" if key == "jet" else value})
        own = menu_from(tmp_path, text).trigger(scanned)
        triggers = tuple(own if t.name == scanned else t for t in solved.triggers)
        separate = replace(solved, triggers=triggers)
        assert alike(everything(point), everything(rates_of(emulate([separate], catalogue))))
        assert point.half is not None
    assert {p["G"].threshold for p in found.points} == {solved.trigger("G").solution.threshold}  # type: ignore[union-attr]


def test_the_own_budget_of_a_scanned_trigger_is_not_solved(tmp_path: Path, catalogue: Catalogue) -> None:
    """It could not be met, and nothing is fitted: all events count."""
    menu = menu_from(tmp_path, BUDGETS.format(leg=35, jet="above = 30", budget=1e12))
    found = scan(menu, Steps("G", (5.0, 20.0)), catalogue)
    assert all(point.half is None for point in found.points)
    with pytest.raises(TrigemuError, match="cannot be met"):
        scan(menu, Steps("K", (5.0,)), catalogue)


def test_values_that_contradict_the_menu_are_refused_before_events_are_read(tmp_path: Path) -> None:
    (folder := tmp_path / "none").mkdir()
    with pytest.raises(TrigemuError, match=r"menu\.toml:\d+: trigger 'D' with pairs.*\.max = 3: .*min"):
        scan(read(tmp_path), Steps("D", (3.0, 20.0), "pairs[0].mass.max"), folder)


def test_scores_have_no_other_numbers(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = read(tmp_path)
    with pytest.raises(TrigemuError, match=r"D legs\[0\]\.pt\.min: .*: scan it on samples"):
        scan(menu, Steps("D", (3.0,), "legs[0].pt"), score_table(menu, catalogue))


def test_a_budget_is_met_between_values_of_a_leg(tmp_path: Path) -> None:
    events = [e | {"weight": 1.0} for e in toy_events(1, 300)]
    menu = menu_from(tmp_path, combination("D", '{object = "jet"}, {object = "jet"}'))
    values = (8.0, 16.0, 32.0)
    found = scan(menu, Steps("D", values, "legs[0].pt"), memory_catalogue({"a": events}))
    counts = [sum(len(e["jet"]) > 1 and e["jet"][0]["pt"] >= value for e in events) for value in values]
    assert [point.rate.hz for point in found.points] == counts
    budget = (counts[0] + counts[1]) / 2
    for entry in budget_brackets(found, budget):
        assert (entry.trigger, entry.vary, entry.low, entry.high) == ("D", "legs[0].pt.min", 8.0, 16.0)
    rows = list(csv.DictReader(io.StringIO(ScanView().csv(found))))
    assert [float(row["D legs[0].pt.min"]) for row in rows] == list(values)
    assert "total rate is" in str(ScanView((budget,)).page(found).notes)


# ---- where a budget is met
def test_budgets_are_met_between_values_or_at_one(tmp_path: Path) -> None:
    events = [e | {"weight": 1.0} for e in toy_events(1, 300)]
    found = scan(
        menu_from(tmp_path, threshold("S", "met", 1)),
        [Steps("S", (0.0, 10.0, 20.0, 40.0))],
        memory_catalogue({"a": events}),
    )
    counts = [sum(event["met"] > value for event in events) for value in (0.0, 10.0, 20.0, 40.0)]
    assert [point.rate.hz for point in found.points] == counts
    between = budget_brackets(found, (counts[1] + counts[2]) / 2)
    assert {entry.quantity for entry in between} == {"total_hz", "unique_hz", "rate_hz"}
    for entry in between:
        assert (entry.low, entry.high, entry.low_hz, entry.high_hz) == (10.0, 20.0, counts[1], counts[2])
    exact = budget_brackets(found, float(counts[2]))
    assert {(entry.low, entry.high) for entry in exact} == {(20.0, 20.0)}
    assert budget_brackets(found, counts[0] + 1.0) == budget_brackets(found, counts[3] - 1.0) == ()


def test_over_a_plane_the_menu_rate_is_met_along_the_last_trigger(tmp_path: Path) -> None:
    events = [e | {"weight": 1.0} for e in toy_events(1, 300)]
    text = threshold("S", "met", 1) + threshold("J", "jet[0].pt", 1)
    steps = [Steps("S", (10.0, 40.0)), Steps("J", (10.0, 20.0, 40.0))]
    found = scan(menu_from(tmp_path, text), steps, memory_catalogue({"a": events}))
    hz = [point.rate.hz for point in found.points]
    assert hz[0] > hz[1] > hz[2]
    budget = (hz[1] + hz[2]) / 2
    first = BudgetBracket(budget, "rate_hz", "J", 20.0, 40.0, hz[1], hz[2], (("S", 10.0),))
    assert budget_brackets(found, budget)[0] == first
    assert all(entry.quantity == "rate_hz" for entry in budget_brackets(found, budget))
