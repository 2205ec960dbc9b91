"""Against the largest value of all choices of objects that fit (`object_choices`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from likeness import alike
from object_choices import Event, choices, combinations
from toys import memory_catalogue, menu_from, toy_events

import trigemu
from trigemu import TrigemuError
from trigemu.observables.selections import Scope, Window
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import Context
from trigemu.triggers.combination import Combination, LegThreshold

Of = Callable[[slice], Workspace]


@st.composite
def thresholds(draw: st.DrawFn, most: int = 4) -> tuple[Combination, LegThreshold]:
    """A combination, and the same with a threshold on one leg."""
    kind = draw(combinations(most=most))
    leg = draw(st.integers(0, len(kind.legs) - 1))
    column = draw(st.sampled_from(["pt", "pt", "eta", "isolation"]))
    assume(not any(pair.every and leg == max(pair.legs) for pair in kind.pairs))
    legs = [*kind.legs]
    windows = {name: window for name, window in legs[leg].windows.items() if name != column}
    legs[leg] = msgspec.structs.replace(legs[leg], windows=windows)
    kind = msgspec.structs.replace(kind, legs=tuple(legs))
    asked = {name: getattr(kind, name) for name in kind.__struct_fields__}
    return kind, LegThreshold(**asked, leg=leg, column=column, above=draw(st.sampled_from([0.0, 9.0])))


def best(events: list[Event], number: int, kind: Combination, of: LegThreshold) -> float:
    fitting = choices(events, number, kind)
    return max((np.float32(chosen[of.leg][of.column]) for chosen in fitting), default=-math.inf)


@settings(max_examples=50)
@given(thresholds(), st.integers(0, 149), st.integers(1, 40))
def test_the_score_is_the_largest_value_of_any_choice(
    plain_events: list[Event],
    workspace_of: Of,
    scope: Scope,
    of: tuple[Combination, LegThreshold],
    start: int,
    length: int,
) -> None:
    kind, threshold = of
    rows = slice(start, min(150, start + length))
    compiled = threshold.compile(Context(scope))
    events = plain_events[rows]
    expected = [best(events, number, kind, threshold) for number in range(len(events))]
    assert compiled.evaluate(workspace_of(rows)).tolist() == expected
    threshold = sorted(expected)[len(expected) // 2]
    above = compiled.score_above(workspace_of(rows), threshold)
    assert [max(score, threshold) for score in above.tolist()] == [
        max(score, threshold) for score in expected
    ]


@settings(max_examples=40)
@given(thresholds(most=3), st.sampled_from([0.0, 4.0, 8.0, 15.0, 1e9]))
def test_it_fires_where_a_combination_with_this_window_does(
    fires: Callable[..., list[bool]],
    of: tuple[Combination, LegThreshold],
    above: float,
) -> None:
    kind, threshold = of
    legs = [*kind.legs]
    windows = legs[threshold.leg].windows | {threshold.column: Window(above=above)}
    legs[threshold.leg] = msgspec.structs.replace(legs[threshold.leg], windows=windows)
    kind = msgspec.structs.replace(kind, legs=tuple(legs))
    rows = slice(0, 60)
    assert fires(threshold.at(above), rows) == fires(kind, rows)


MENU = """
[[trigger]]
name = "D"
kind = "leg_threshold"
legs = [{{ object = "jet", eta = {{ abs_max = 2.0 }} }}, {{ object = "jet", pt = {{ min = 10 }} }}]
pairs = [{{ legs = [0, 1], dr = {{ min = 0.5 }} }}]
{threshold}
[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
above = 12.0
[[trigger]]
name = "WIDE"
kind = "combination"
legs = [{{ object = "jet" }}, {{ object = "jet", pt = {{ min = 8 }} }}]
"""


@pytest.mark.parametrize("quantity", ["total", "unique"])
def test_a_budget_is_met(tmp_path: Path, quantity: str) -> None:
    catalogue = memory_catalogue({"a": [e | {"weight": 1.0} for e in toy_events(1, 600)]})
    text = MENU.format(threshold=f"{quantity}_rate_hz = 30.0").replace('"WIDE"', '"WIDE"\nenabled = false')
    menu = menu_from(tmp_path, text)
    rates = trigemu.run(menu, catalogue)["D"]
    met = getattr(rates, quantity)
    assert abs(met.hz - 30.0) <= 2.0  # an event of the half has a weight of about 2
    (solved,) = trigemu.solve_budgets(menu, catalogue)
    trigemu.write_calibrated(solved, tmp_path / "calibrated.toml", catalogue.table.name)
    written = trigemu.run(tmp_path / "calibrated.toml", catalogue)["D"]
    assert met.budgeted
    assert (written.threshold, getattr(written, quantity)) == (rates.threshold, replace(met, budgeted=False))


def test_scans_and_score_tables_agree_with_a_run(tmp_path: Path) -> None:
    catalogue = memory_catalogue({"a": toy_events(1, 300)})
    menu = menu_from(tmp_path, MENU.format(threshold="above = 20"))
    values = (12.0, 20.0, 31.5)
    found = trigemu.scan(menu, trigemu.Steps("D", values), catalogue)
    assert alike(found.points[1].triggers, trigemu.run(menu, catalogue).triggers)
    table = trigemu.score_table(menu, catalogue, vary={"D": (12.0, 60.0)})
    assert [p.rate for p in trigemu.scan(menu, trigemu.Steps("D", values), table).points] == [
        p.rate for p in found.points
    ]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("leg = 2", r"leg = 2: expected one of 0 … 1"),
        ("leg = -1", r"leg = -1: expected an integer >= 0"),
        ("leg = 1", r"legs\[1\]\.pt: the threshold of this leg is `above`, give it no window on pt"),
        ('column = "colour"', "colour"),
        ("", "the key 'above' is missing, or a rate to find it from"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, key: str, message: str) -> None:
    threshold = f"above = 1\n{key}" if key else ""
    with pytest.raises(TrigemuError, match=message):
        trigemu.run(
            menu_from(tmp_path, MENU.format(threshold=threshold)), memory_catalogue({"a": toy_events(1, 9)})
        )


def test_objects_below_the_threshold_cannot_veto(tmp_path: Path) -> None:
    text = MENU.format(threshold="above = 1").replace(
        "dr = { min = 0.5 }", "outside_dr = { max = 0.5 }, every = true"
    )
    menu_from(tmp_path, text)
    with pytest.raises(TrigemuError, match=r"pairs\[0\]\.every: leg 1 has the threshold"):
        menu_from(
            tmp_path, text.replace(", pt = { min = 10 }", "").replace("above = 1", "above = 1\nleg = 1")
        )
