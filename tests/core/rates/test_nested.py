"""Triggers that can be unique nowhere, since a lower threshold accepts all their events: against every accept
of random menus, and where a reader sees it."""

from __future__ import annotations

import math
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from toy_menus import apart, pt
from toys import memory_catalogue, menu_from, toy_events

from trigemu import Menu, emulate, rates_of
from trigemu.rates.results import MenuRates

#: TOML, and what it means.
KINDS: list[tuple[str, Any]] = [
    *(
        (
            f'kind = "threshold"\nobservable = "jet[{i}].pt"\nabove = {above}',
            lambda e, i=i, above=above: pt(e, "jet", i) > above,
        )
        for i in (0, 1)
        for above in (10, 20, 30)
    ),
    (
        'kind = "combination"\nlegs = [{object = "jet", pt = {min = 25}}, {object = "muon"}]',
        lambda e: pt(e, "jet", 0) >= 25 and bool(e["muon"]),
    ),
    *(
        (
            'kind = "leg_threshold"\nlegs = [{object = "jet"}, {object = "muon"}]\n' + f"above = {above}",
            lambda e, above=above: pt(e, "jet", 0) > above and bool(e["muon"]),
        )
        for above in (15, 25)
    ),
]


def expressions(names: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(names),
        lambda inner: st.tuples(inner, st.sampled_from(["and", "or", "and not"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        max_leaves=3,
    )


@st.composite
def menus(draw: st.DrawFn) -> list[dict[str, Any]]:
    """T0, T1 …, each of which reads earlier ones only."""
    triggers: list[dict[str, Any]] = []
    for i in range(draw(st.integers(2, 7))):
        names = [t["name"] for t in triggers]
        seeds = st.sampled_from([None, None, *(t["seed"] for t in triggers)])
        triggers.append(
            {
                "name": f"T{i}",
                "kind": draw(st.sampled_from(range(len(KINDS)))),
                "seed": draw(st.one_of(seeds, expressions(names))) if names else None,
                "prescale": draw(st.sampled_from([1, 1, 2, 3])),
                "coherent": draw(st.sampled_from([None, "a"])),
                "enabled": i == 0 or draw(st.sampled_from([True, True, True, False])),
                "group": draw(st.sampled_from(["x", "y"])),
            }
        )
        apart(triggers[-1], triggers)
    return triggers


def as_menu(triggers: list[dict[str, Any]]) -> Menu:
    text = ""
    for t in triggers:
        text += f'[[trigger]]\nname = "{t["name"]}"\nprescale = {t["prescale"]}\ngroup = "{t["group"]}"\n'
        text += f"{KINDS[t['kind']][0]}\nenabled = {str(t['enabled']).lower()}\n"
        text += "".join(f'{key} = "{t[key]}"\n' for key in ("seed", "coherent") if t[key])
    with tempfile.TemporaryDirectory() as folder:
        return menu_from(Path(folder), text)


def accepts(event: dict[str, Any], triggers: list[dict[str, Any]], rng: random.Random) -> dict[str, bool]:
    """With one draw of every prescale counter; a seed that is off is read before prescales."""
    fires: dict[str, bool] = {}
    accepted: dict[str, bool] = {}
    counters: dict[str, float] = {}
    for t in triggers:
        fired = bool(KINDS[t["kind"]][1](event))
        seeds = {u["name"]: (accepted if u["enabled"] else fires)[u["name"]] for u in triggers[: len(fires)]}
        drawn = counters.setdefault(t["coherent"] or t["name"], rng.random())
        accepted[t["name"]] = (
            t["enabled"]
            and fired
            and drawn < 1 / t["prescale"]
            and (not t["seed"] or eval(t["seed"], {}, seeds))
        )
        fires[t["name"]] = fired and (not t["seed"] or eval(t["seed"], {}, fires))
    return accepted


@settings(max_examples=60)
@given(menus(), st.integers(0, 2**32))
def test_what_is_nested_never_accepts_alone(triggers: list[dict[str, Any]], seed: int) -> None:
    """Whichever counters accept; its unique rate is exactly 0 then, without a limit."""
    menu, rng = as_menu(triggers), random.Random(seed)
    result = rates_of(emulate([menu], memory_catalogue({"a": toy_events(seed, 60)})))
    nested = [row for row in (*result.triggers, *result.groups) if row.unique.contained_in]
    members = {
        row.name: [t.name for t in menu.enabled if row.name == (t.group if row.kind == "group" else t.name)]
        for row in nested
    }
    for row in nested:
        unique = row.unique
        assert (unique.hz, unique.error_hz, unique.events, unique.upper_limit_hz) == (0.0, 0.0, 0, None)
        assert not {*members[row.name]} & {*unique.contained_in}
    for event in toy_events(seed + 1, 60) if nested else ():
        accepted = accepts(event, triggers, rng)
        for row in nested:
            if any(accepted[name] for name in members[row.name]):
                assert any(accepted[name] for name in row.unique.contained_in)


JET = 'kind = "threshold"\nobservable = "jet[0].pt"\nabove = '
LEGS = 'kind = "leg_threshold"\nlegs = [{ object = "jet" }, { object = "muon" }]\nabove = '


def rates(folder: Path, *triggers: str) -> MenuRates:
    """The rates of a menu with the triggers A, B … and two random ones, R and S."""
    text = "".join(f'[[trigger]]\nname = "{n}"\n{keys}\n' for n, keys in zip("ABCD", triggers, strict=False))
    for name in "RS":
        text += f'[[trigger]]\nname = "{name}"\nkind = "random"\nrate_hz = 1000\n'
    return rates_of(emulate([menu_from(folder, text)], memory_catalogue({"a": toy_events(1, 60)})))


@pytest.mark.parametrize(
    ("first", "second", "nested"),
    [
        (f"{JET}10", f"{JET}20", True),
        (f"{JET}20", f"{JET}20", True),
        (f"{JET}20", f"{JET}10", False),
        (f"{LEGS}10", f"{LEGS}20", True),
        (f"{JET}10", f"{LEGS}1000", False),
        (f"{JET}10", f"{JET}20\nprescale = 20", True),
        (f"{JET}10\nprescale = 10", f"{JET}20\nprescale = 20", False),
        (f'{JET}10\nprescale = 10\ncoherent = "j"', f'{JET}20\nprescale = 20\ncoherent = "j"', True),
        (f'{JET}10\nprescale = 20\ncoherent = "j"', f'{JET}20\nprescale = 10\ncoherent = "j"', False),
        (f'{JET}10\nprescale = 10\ncoherent = "j"', f'{JET}20\nprescale = 20\ncoherent = "k"', False),
        (f"{JET}10", f'{JET}20\nseed = "R"', True),
        (f'{JET}10\nseed = "R"', f'{JET}20\nseed = "R"\nprescale = 2', True),
        (f'{JET}10\nseed = "R"', f'{JET}20\nseed = "S"', False),
        (f'{JET}10\nseed = "R"', f"{JET}1000", False),
    ],
)  # fmt: skip
def test_thresholds_prescales_and_seeds(tmp_path: Path, first: str, second: str, nested: bool) -> None:
    assert rates(tmp_path, first, second)["B"].unique.contained_in == (("A",) if nested else ())


def test_identical_triggers_contain_each_other(tmp_path: Path) -> None:
    combination = 'kind = "combination"\nlegs = [{ object = "muon" }]'
    result = rates(tmp_path, f"{JET}10", f"{JET}10", combination, combination)
    assert [t.unique.contained_in for t in result.triggers[:4]] == [("B",), ("A",), ("D",), ("C",)]
    assert all(t.unique.upper_limit_hz is None and t.total.hz > 0 for t in result.triggers[:4])


def test_a_limit_is_at_most_the_rate_of_a_wider_trigger(tmp_path: Path) -> None:
    """The rarest of those, though the first is named."""
    result = rates(tmp_path, f"{JET}10", f"{JET}60", f"{JET}1000", f"{LEGS}1000")
    limit, free = (result[name].total.upper_limit_hz for name in "CD")
    assert limit is not None
    assert free is not None
    assert math.isclose(limit, min(free, result["B"].total.hz))
    assert result["C"].unique.contained_in == ("A",)
