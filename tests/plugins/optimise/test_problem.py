"""Rates and efficiencies at points, along lines and in planes, against the emulation of each menu."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st
from optimise_toys import toy_samples
from toy_menus import as_toml, menus
from toys import is_evaluation, memory_catalogue, menu_from, threshold, toy_events
from trigemu_optimise.goals import read_goals
from trigemu_optimise.problem import Evaluation
from trigemu_optimise.setup import Setup, make_setup
from trigemu_optimise.variables import menu_at

from trigemu import Catalogue, Menu, TrigemuError, emulate, rates_of

BACKGROUND = {"a": toy_events(11, 400), "b": toy_events(12, 150)}
SIGNAL = toy_events(13, 200)
CAP = 1e9


def half_catalogue(evaluation: bool) -> Catalogue:
    """The events of one half, as a background of their own, scaled to all."""
    halves = {}
    for name, events in BACKGROUND.items():
        own = [event for i, event in enumerate(events) if is_evaluation(i) == evaluation]
        scale = sum(event["weight"] for event in events) / sum(event["weight"] for event in own)
        halves[name] = [event | {"weight": scale * event["weight"]} for event in own]
    return memory_catalogue(halves)


def signal_catalogue(evaluation: bool) -> Catalogue:
    own = [event for i, event in enumerate(SIGNAL) if is_evaluation(i) == evaluation]
    return memory_catalogue({"s": own})


def rate(menu: Menu, catalogue: Catalogue, *, group: str | None = None, trigger: str | None = None) -> Any:
    rates = rates_of(emulate([menu], catalogue))
    if trigger:
        return next((t for t in rates.triggers if t.name == trigger), None)
    return rates.rate.hz if group is None else next((g for g in rates.groups if g.name == group), None)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, list[dict[str, Any]]]:
    """A menu, and goals that vary some thresholds, prescales and switches of it, with limits."""
    triggers = draw(menus())
    by_name = sorted(triggers, key=lambda t: t["name"])
    scored = [t for t in by_name if t["kind"] in range(6) and t["enabled"]]
    text = f"[goals]\nrate_hz = {CAP}\n[[channel]]\nsample = 's'\n"
    varied = [t["name"] for t in scored if draw(st.booleans())]
    for name in varied:
        low = draw(st.sampled_from([-2.0, 0.0, 5.0, 20.0]))
        text += f"[[vary]]\ntriggers = ['{name}']\n"
        text += (
            f"above = {{ min = {low}, max = {low + 40}, step = {draw(st.sampled_from([4.0, 7.0, 13.0]))} }}\n"
        )
    switched = [t for t in by_name if t["kind"] != "random" and draw(st.integers(0, 3)) == 0]
    for t in switched:
        text += f"[[vary]]\ntriggers = ['{t['name']}']\nswitch = true\n"
        text += "prescale = [1, 3, 40]\n" if draw(st.booleans()) else ""
    text += f"[[limit]]\ntrigger = '{by_name[0]['name']}'\nquantity = 'unique'\nmax_hz = {CAP}\n"
    for group in {t["group"] for t in by_name if t["group"] and t["enabled"]}:
        text += f"[[limit]]\ngroup = '{group}'\nmax_hz = {CAP}\n"
    return as_toml(triggers, 40e6), text, triggers


def setup_of(folder: Path, menu: str, goals: str) -> Setup | None:
    (folder / "goals.toml").write_text(goals)
    catalogue = memory_catalogue(BACKGROUND, signals={"s": SIGNAL})
    try:
        return make_setup(menu_from(folder, menu), read_goals(folder / "goals.toml"), catalogue)
    except TrigemuError as error:
        expected = ("nothing varies", "there is no [[vary]]", "vary fewer of them", "too many", "disables it")
        if any(text in str(error) for text in expected):
            return None
        raise


@given(cases(), st.data())
@settings(max_examples=20, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_any_menu_at_any_point(case: tuple[str, str, list[dict[str, Any]]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        setup = setup_of(Path(folder), *case[:2])
    if setup is None:
        return
    evaluation = Evaluation(setup.problem)
    sizes = setup.problem.sizes.tolist()
    point = np.array([data.draw(st.integers(0, size - 1)) for size in sizes], np.int64)
    x = data.draw(st.integers(0, len(sizes) - 1))
    y = data.draw(st.sampled_from([-1, *(v for v in range(len(sizes)) if v != x)]))
    rates, efficiencies = evaluation.plane(point, x, y)
    other = point.copy()
    other[x] = data.draw(st.integers(0, sizes[x] - 1))
    if y >= 0:
        other[y] = data.draw(st.integers(0, sizes[y] - 1))
    at = other[x], other[y] if y >= 0 else 0
    for number, (all_rates, efficiency) in enumerate(
        ((rates[:, *at], efficiencies[:, *at]), evaluation.at(other))
    ):
        menu = menu_at(setup.menu, setup.variables, other.tolist())
        catalogue = half_catalogue(False)
        if not any(trigger.enabled for trigger in menu.triggers):
            assert all_rates[0] == 0.0
            return
        assert all_rates[0] == pytest.approx(rate(menu, catalogue), rel=1e-9, abs=1e-9)
        of_signal = rate(menu, signal_catalogue(False)) / sum(
            event["weight"] for i, event in enumerate(SIGNAL) if not is_evaluation(i)
        )
        assert efficiency[0] == pytest.approx(of_signal, rel=1e-9, abs=1e-12)
        background = setup.problem.half.background
        accepted = setup.decisions.accepted(menu, background.event)
        assert background.weight @ accepted == pytest.approx(all_rates[0], rel=1e-9, abs=1e-9)
        for limit, bound in zip(setup.goals.limits, setup.problem.bounds[1:], strict=True):
            named = {"trigger": limit.trigger} if limit.trigger else {"group": limit.group}
            rates_of_it = rate(menu, catalogue, **named)
            expected = 0.0
            if rates_of_it is not None:
                expected = (rates_of_it.unique if limit.quantity == "unique" else rates_of_it.total).hz
            assert bound.rate(all_rates) == pytest.approx(expected, rel=1e-8, abs=1e-6), (number, limit)


LINKED = (
    threshold("A", "jet[0].pt", 20.0)
    + threshold("B", "met", 40.0, 'coherent = "x"')
    + threshold("C", "met", 20.0, 'coherent = "x"\nprescale = 10')
    + '[[trigger]]\nname = "D"\nkind = "logic"\nexpression = "A and not B"\n'
    + threshold("E", "n_jet", 1.0, 'seed = "C or A"')
)


def test_coherent_sets_seeds_and_logic_of_which_all_vary(tmp_path: Path) -> None:
    """The rarest prescale of those that fire does not decide: the others accept more."""
    goals = (
        f"[goals]\nrate_hz = {CAP}\n[[channel]]\nsample = 's'\n[[vary]]\ntriggers = ['A', 'B', 'C']\n"
        "above = { min = 10, max = 60, step = 10 }\n"
    )
    setup = setup_of(tmp_path, LINKED, goals)
    assert setup is not None
    evaluation = Evaluation(setup.problem)
    for x, y in ((0, 1), (1, 2), (2, 0), (1, -1)):
        rates, _ = evaluation.plane(np.array([2, 3, 1]), x, y)
        for at in ((3, 1), (5, 5), (0, 0)) if y >= 0 else ((4, 0),):
            point = np.array([2, 3, 1])
            point[[x, y] if y >= 0 else [x]] = at if y >= 0 else at[:1]
            expected = rate(menu_at(setup.menu, setup.variables, point.tolist()), half_catalogue(False))
            assert rates[0, *at] == pytest.approx(expected)


def test_a_table_that_is_too_large_names_its_triggers(tmp_path: Path) -> None:
    names = [f"T{i}" for i in range(18)]
    text = "".join(
        f'[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = {20 + i}.0\n'
        f'coherent = "all"\nprescale = {i + 1}\n'
        for i, name in enumerate(names)
    )
    (tmp_path / "goals.toml").write_text(
        "[goals]\nrate_hz = 1e5\n[[channel]]\nsample = 's'\n[[vary]]\n"
        f"triggers = {names}\nabove = {{ min = 20, max = 60, step = 5 }}\n"
    )
    with pytest.raises(TrigemuError, match=r"T0, T1.* depend on 18 varied thresholds.*vary fewer of them"):
        make_setup(menu_from(tmp_path, text), read_goals(tmp_path / "goals.toml"), toy_samples())
