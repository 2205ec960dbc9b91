"""Scans against separate runs at each value: the same to the last bit, everything that rates hold."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from plugin_toys import write_card
from toys import engine, memory_catalogue, menu_from, toy_events

from trigemu import Menu, TrigemuError, emulate, rates_of, read_menu, score_table
from trigemu.api import MenuRates
from trigemu.emulation import solve_budgets
from trigemu.results.kinds.threshold_scan import VIEW
from trigemu.samples import Catalogue
from trigemu.studies import BudgetBracket, Scan, Steps, budget_brackets, scan

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

#: A trigger S to scan, each with what reads it or shares things with it.
MENU = """
[menu]
name = "scanned"
plugins = ["spread"]
{more}
[[trigger]]
name = "S"
kind = "threshold"
observable = "jet[0].pt"
above = 31.0
group = "x"
{keys}
[[trigger]]
name = "TWIN"
kind = "threshold"
observable = "jet[0].pt"
above = {twin}
group = "x"
[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
above = 12.0
prescale = 3
coherent = "c"
group = "y"
[[trigger]]
name = "L"
kind = "logic"
expression = "S and not G"
prescale = 2
[[trigger]]
name = "SEEDED"
kind = "threshold"
observable = "met"
above = 10.0
seed = "S or G"
group = "y"
[[trigger]]
name = "P"
kind = "spread"
above = 20.0
scale = 1.5
"""


def read(folder: Path, keys: str = "", twin: float = 30.0, more: str = "") -> Menu:
    (folder / "spread.py").write_text(PLUGIN)
    (folder / "menu.toml").write_text(MENU.format(keys=keys, twin=twin, more=more))
    return read_menu(folder / "menu.toml", [folder])


def at(menu: Menu, thresholds: dict[str, float]) -> Menu:
    """The menu that has these values in its file."""
    triggers = tuple(
        replace(t, description=t.description.at(thresholds[t.name]), budget=None, solution=None)  # type: ignore[union-attr]
        if t.name in thresholds
        else t
        for t in menu.triggers
    )
    return replace(menu, triggers=triggers)


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


def check(menu: Menu, steps: Sequence[Steps], catalogue: Catalogue, executor: Any = None) -> Scan:
    found = scan(menu, steps, catalogue, executor=executor)
    chosen = list(product(*(step.values for step in steps)))
    assert len(found.points) == len(chosen)
    for values, point in zip(chosen, found.points, strict=True):
        thresholds = {step.trigger: value for step, value in zip(steps, values, strict=True)}
        assert everything(point) == everything(rates_of(emulate([at(menu, thresholds)], catalogue)))
    return found


@pytest.fixture
def catalogue() -> Catalogue:
    """Weights over orders of magnitude, and a sample in which little fires."""
    return memory_catalogue({"a": toy_events(1, 250), "b": toy_events(2, 60)})


VALUES = (-1.0, 5.0, 20.0, 30.0, 31.0, 44.5, 60.0, 1e9)


@pytest.mark.parametrize("keys", ["", 'coherent = "c"\nprescale = 2', 'seed = "G"'])
@pytest.mark.parametrize("twin", [30.0, 31.0, -1.0])
def test_a_scan_equals_separate_runs(tmp_path: Path, catalogue: Catalogue, keys: str, twin: float) -> None:
    """Read by logic and as a seed, beside a trigger that is equal at one of the values, at the first one or
    as the menu has it."""
    check(read(tmp_path, keys, twin), [Steps("S", VALUES)], catalogue)


@pytest.mark.parametrize("keys", ["", 'prescale = 2\nfitted_on = "toy"'])
def test_two_thresholds_at_once(tmp_path: Path, catalogue: Catalogue, keys: str) -> None:
    menu = read(tmp_path, keys)
    check(menu, [Steps("S", VALUES[1:6]), Steps("P", (10.0, 30.0, 70.0))], catalogue)
    check(menu, [Steps("G", (10.0, 20.0)), Steps("S", (20.0, 30.0))], catalogue)


def test_two_that_are_one_and_the_same(tmp_path: Path, catalogue: Catalogue) -> None:
    values = (20.0, 30.0, 40.0)
    check(read(tmp_path, twin=31.0), [Steps("TWIN", values), Steps("S", values)], catalogue)


def test_values_that_are_scores(tmp_path: Path) -> None:
    """Above is >, also where a score is a value, and for an event that has none."""
    events = toy_events(5, 40)
    scores = sorted({event["jet"][0]["pt"] for event in events if event["jet"]})
    text = '[[trigger]]\nname = "S"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 1\n'
    found = check(
        menu_from(tmp_path, text), [Steps("S", tuple(scores[::3]))], memory_catalogue({"a": events})
    )
    for value, point in zip(scores[::3], found.points, strict=True):
        passing = [event for event in events if event["jet"] and event["jet"][0]["pt"] > value]
        assert point.rate.events == len(passing)


@pytest.mark.parametrize("fitted_on", ["", 'fitted_on = "toy"'])
def test_a_trigger_with_a_model_is_scanned(
    tmp_path: Path, catalogue: Catalogue, carded: None, fitted_on: str
) -> None:
    write_card(tmp_path / "card.toml", {"met": 1.0, "jet[0].pt": -0.5})
    text = (
        '[menu]\nplugins = ["carded"]\n[[trigger]]\nname = "AD"\nkind = "carded"\ncard = "card.toml"\n'
        f'requires = "n_jet >= 1"\nabove = 1.0\n{fitted_on}\n[[trigger]]\nname = "G"\nkind = "threshold"\n'
        'observable = "photon[0].pt"\nabove = 12\n'
    )
    found = check(menu_from(tmp_path, text), [Steps("AD", (-50.0, 0.0, 10.0, 40.0, 100.0, 1e4))], catalogue)
    assert len({point.rate.hz for point in found.points}) > 3
    assert all((point.half is not None) == bool(fitted_on) for point in found.points)


BUDGETS = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
{jet}
[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
unique_rate_hz = {budget}
"""


@pytest.mark.parametrize("jet", ["above = 40", "total_rate_hz = 100.0"])
def test_budgets_of_others_are_solved_once(tmp_path: Path, jet: str) -> None:
    """With the scanned trigger as the menu has it, whatever it has, and not at a value of the scan."""
    catalogue = memory_catalogue({"a": [e | {"weight": 1.0} for e in toy_events(1, 600)]})
    menu = menu_from(tmp_path, BUDGETS.format(jet=jet, budget=20.0))
    steps = [Steps("J", (5.0, 40.0, 80.0))]
    found = scan(menu, steps, catalogue)
    (solved,) = solve_budgets([menu], catalogue)
    for value, point in zip(steps[0].values, found.points, strict=True):
        assert everything(point) == everything(rates_of(emulate([at(solved, {"J": value})], catalogue)))
        assert point.half is not None
    thresholds = {point.triggers[1].threshold for point in found.points}
    assert thresholds == {solved.trigger("G").solution.threshold}  # type: ignore[union-attr]
    assert [point.triggers[0].threshold for point in found.points] == list(steps[0].values)


def test_the_own_budget_of_a_scanned_trigger_is_not_solved(tmp_path: Path, catalogue: Catalogue) -> None:
    """It could not be met, and nothing is fitted: all events count."""
    menu = menu_from(tmp_path, BUDGETS.format(jet="above = 30", budget=1e12))
    found = check(menu, [Steps("G", (5.0, 20.0))], catalogue)
    assert all(point.half is None for point in found.points)
    with pytest.raises(TrigemuError, match="cannot be met"):
        scan(menu, [Steps("J", (5.0,))], catalogue)


@settings(max_examples=15)
@given(
    st.integers(0, 2**32),
    st.lists(st.floats(-10, 150), min_size=1, max_size=6, unique=True),
    st.sampled_from(["S", "TWIN", "G", "SEEDED", "P"]),
    st.sampled_from(["", "prescale = 7", 'fitted_on = "toy"']),
)
def test_any_scan_equals_separate_runs(
    tmp_path_factory: pytest.TempPathFactory, seed: int, values: list[float], trigger: str, keys: str
) -> None:
    menu = read(tmp_path_factory.mktemp("scan"), keys)
    samples = {"a": toy_events(seed, 60), "b": toy_events(seed + 1, 30)}
    check(menu, [Steps(trigger, tuple(sorted(values)))], memory_catalogue(samples))


def test_workers_change_no_bit(tmp_path: Path, catalogue: Catalogue) -> None:
    check(read(tmp_path, 'fitted_on = "toy"'), [Steps("S", VALUES)], catalogue, executor=engine(200, 2))


# ---- other numbers than thresholds

#: Combinations to scan, with what reads them or shares things with them; NUMBERS are put in.
VARIED = """
[[trigger]]
name = "D"
kind = "combination"
legs = [
  {{ object = "jet", pt = {{ min = {lead} }}, eta = {{ abs_max = {eta} }} }},
  {{ object = "jet", pt = {{ above = {second} }} }},
]
pairs = [{{ legs = [0, 1], mass = {{ min = 10, max = {mass} }}, outside_dr = {{ max = {dr} }} }}]
{keys}
[[trigger]]
name = "TWIN"
kind = "combination"
legs = [
  {{ object = "jet", pt = {{ min = 30 }}, eta = {{ abs_max = 2.0 }} }},
  {{ object = "jet", pt = {{ above = 10 }} }},
]
pairs = [{{ legs = [0, 1], mass = {{ min = 10, max = 120 }}, outside_dr = {{ max = 0.5 }} }}]
[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
above = {photon}
prescale = 3
coherent = "c"
[[trigger]]
name = "L"
kind = "logic"
expression = "D and not G"
[[trigger]]
name = "SEEDED"
kind = "combination"
legs = [{{ object = "muon" }}, {{ object = "muon" }}, {{ object = "muon" }}]
mass3 = {{ max = {mass3} }}
seed = "D or G"
"""
NUMBERS = {"lead": 30.0, "second": 10.0, "eta": 2.0, "mass": 120.0, "dr": 0.5, "photon": 12.0, "mass3": 90.0}
#: Placeholder → the trigger that has it, and its path.
PATHS = {
    "lead": ("D", "legs[0].pt"),
    "second": ("D", "legs[1].pt.above"),
    "eta": ("D", "legs[0].eta"),
    "mass": ("D", "pairs[0].mass.max"),
    "dr": ("D", "pairs[0].outside_dr"),
    "photon": ("G", None),
    "mass3": ("SEEDED", "mass3"),
}


def with_numbers(folder: Path, keys: str = "", **changed: float) -> Menu:
    return menu_from(folder, VARIED.format(**NUMBERS | changed, keys=keys))


def check_varied(
    folder: Path,
    values: dict[str, tuple[float, ...]],
    catalogue: Catalogue,
    keys: str = "",
    executor: Any = None,
) -> Scan:
    """Compare with runs of menus whose files have these numbers."""
    menu = with_numbers(folder, keys)
    steps = [Steps(PATHS[name][0], of, PATHS[name][1]) for name, of in values.items()]
    found = scan(menu, steps, catalogue, executor=executor)
    chosen = list(product(*values.values()))
    assert len(found.points) == len(chosen)
    for of, point in zip(chosen, found.points, strict=True):
        other = with_numbers(folder, keys, **dict(zip(values, of, strict=True)))
        separate = replace(menu, triggers=other.triggers)  # which has the same file
        assert everything(point) == everything(rates_of(emulate([separate], catalogue)))
    return found


@pytest.mark.parametrize("keys", ["", 'coherent = "c"', 'seed = "G"\nprescale = 4'])
@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("lead", (6.0, 12.5, 20.0, 30.0, 44.0, 1e3)),
        ("second", (5.0, 10.0, 17.0)),
        ("eta", (0.5, 1.0, 2.0, 3.0)),
        ("mass", (10.0, 40.0, 120.0, 300.0)),
        ("dr", (0.1, 0.5, 2.0)),
        ("mass3", (10.0, 50.0, 90.0)),
    ],
)
def test_a_scan_of_any_number_equals_separate_runs(
    tmp_path: Path, catalogue: Catalogue, name: str, of: tuple[float, ...], keys: str
) -> None:
    """Read by logic and as a seed, beside a trigger that is equal at one of the values."""
    found = check_varied(tmp_path, {name: of}, catalogue, keys)
    if not keys:
        assert len({tuple(t.total.hz for t in point.triggers) for point in found.points}) > 1


def test_planes_of_numbers(tmp_path: Path, catalogue: Catalogue) -> None:
    """Two of one trigger, of two triggers, and a number and a threshold; three at once."""
    for names in (("lead", "second"), ("mass", "mass3"), ("photon", "lead"), ("second", "photon", "dr")):
        numbers = {name: (NUMBERS[name] * 0.7, NUMBERS[name], NUMBERS[name] * 1.4) for name in names}
        check_varied(tmp_path, numbers, catalogue)


@settings(max_examples=15)
@given(
    st.integers(0, 2**32),
    st.dictionaries(
        st.sampled_from(sorted(PATHS)),
        st.lists(st.floats(10, 150), min_size=1, max_size=4, unique=True).map(lambda of: tuple(sorted(of))),
        min_size=1,
        max_size=2,
    ),
)
def test_any_scan_of_numbers_equals_separate_runs(
    tmp_path_factory: pytest.TempPathFactory, seed: int, values: dict[str, tuple[float, ...]]
) -> None:
    samples = {"a": toy_events(seed, 60), "b": toy_events(seed + 1, 30)}
    check_varied(tmp_path_factory.mktemp("scan"), values, memory_catalogue(samples))


def test_workers_change_no_bit_of_a_scan_of_numbers(tmp_path: Path, catalogue: Catalogue) -> None:
    values = {"lead": (10.0, 30.0), "photon": (8.0, 20.0)}
    check_varied(tmp_path, values, catalogue, executor=engine(70, 2))


def test_budgets_of_others_are_solved_with_the_number_of_the_menu(tmp_path: Path) -> None:
    catalogue = memory_catalogue({"a": [e | {"weight": 1.0} for e in toy_events(1, 600)]})
    text = VARIED.format(**NUMBERS, keys="").replace("above = 12.0", "unique_rate_hz = 20.0")
    menu = menu_from(tmp_path, text.replace(" and not G", "").replace(" or G", ""))
    found = scan(menu, Steps("D", (20.0, 40.0), "legs[0].pt"), catalogue)
    (solved,) = solve_budgets([menu], catalogue)
    for lead, point in zip((20.0, 40.0), found.points, strict=True):
        d = with_numbers(tmp_path, lead=lead).trigger("D")
        triggers = tuple(d if trigger.name == "D" else trigger for trigger in solved.triggers)
        separate = replace(solved, triggers=triggers)
        assert everything(point) == everything(rates_of(emulate([separate], catalogue)))


def test_values_that_contradict_the_menu_are_refused_before_events_are_read(tmp_path: Path) -> None:
    (folder := tmp_path / "none").mkdir()
    with pytest.raises(TrigemuError, match=r"menu\.toml:2: trigger 'D' with pairs.*\.max = 3: .*min"):
        scan(with_numbers(tmp_path), Steps("D", (3.0, 20.0), "pairs[0].mass.max"), folder)


def test_scores_have_no_other_numbers(tmp_path: Path, catalogue: Catalogue) -> None:
    menu = with_numbers(tmp_path)
    with pytest.raises(TrigemuError, match=r"D legs\[0\]\.pt\.min: .*: scan it on samples"):
        scan(menu, Steps("D", (3.0,), "legs[0].pt"), score_table(menu, catalogue))


def test_a_budget_is_met_between_values_of_a_leg(tmp_path: Path) -> None:
    events = [e | {"weight": 1.0} for e in toy_events(1, 300)]
    text = '[[trigger]]\nname = "D"\nkind = "combination"\nlegs = [{object = "jet"}, {object = "jet"}]\n'
    values = (8.0, 16.0, 32.0)
    found = scan(menu_from(tmp_path, text), Steps("D", values, "legs[0].pt"), memory_catalogue({"a": events}))
    counts = [sum(len(e["jet"]) > 1 and e["jet"][0]["pt"] >= value for e in events) for value in values]
    assert [point.rate.hz for point in found.points] == counts
    budget = (counts[0] + counts[1]) / 2
    for entry in budget_brackets(found, budget):
        assert (entry.trigger, entry.vary, entry.low, entry.high) == ("D", "legs[0].pt.min", 8.0, 16.0)
    rows = list(csv.DictReader(io.StringIO(VIEW.csv(found))))
    assert [float(row["D legs[0].pt.min"]) for row in rows] == list(values)
    assert "total rate is" in str(VIEW.page(found, budget_brackets(found, budget)).notes)


# ---- where a budget is met


def test_budgets_are_met_between_values_or_at_one(tmp_path: Path) -> None:
    events = [e | {"weight": 1.0} for e in toy_events(1, 300)]
    text = '[[trigger]]\nname = "S"\nkind = "threshold"\nobservable = "met"\nabove = 1\n'
    found = scan(
        menu_from(tmp_path, text), [Steps("S", (0.0, 10.0, 20.0, 40.0))], memory_catalogue({"a": events})
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
    text = (
        '[[trigger]]\nname = "S"\nkind = "threshold"\nobservable = "met"\nabove = 1\n'
        '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 1\n'
    )
    steps = [Steps("S", (10.0, 40.0)), Steps("J", (10.0, 20.0, 40.0))]
    found = scan(menu_from(tmp_path, text), steps, memory_catalogue({"a": events}))
    hz = [point.rate.hz for point in found.points]
    assert hz[0] > hz[1] > hz[2]
    budget = (hz[1] + hz[2]) / 2
    first = BudgetBracket(budget, "rate_hz", "J", 20.0, 40.0, hz[1], hz[2], (("S", 10.0),))
    assert budget_brackets(found, budget)[0] == first
    assert all(entry.quantity == "rate_hz" for entry in budget_brackets(found, budget))
