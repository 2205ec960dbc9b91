"""Triggers that can be unique nowhere: against every accept of random menus, and where a reader sees it."""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from toy_menus import apart, pt
from toys import memory_catalogue, menu_from, toy_events

from trigemu import Menu, emulate, rates_of, read_menu
from trigemu.base.errors import PluginError
from trigemu.rates.containment import Containment

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
    ('kind = "threshold"\nobservable = "n_muon"\nabove = 1', lambda e: len(e["muon"]) > 1),
    (
        'kind = "combination"\nlegs = [{object = "muon", pt = {min = 9}}, {object = "muon"}]\n'
        'pairs = [{legs = [0, 1], charge = "opposite"}]',
        lambda e: any(a["pt"] >= 9 and a["charge"] != b["charge"] for a in e["muon"] for b in e["muon"]),
    ),
    (
        'kind = "combination"\nlegs = [{object = "jet", pt = {min = 25}}, {object = "muon"}]',
        lambda e: pt(e, "jet", 0) >= 25 and bool(e["muon"]),
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
        kind = draw(st.sampled_from([*range(len(KINDS)), *(["logic"] * 3 if names else [])]))
        triggers.append(
            {
                "name": f"T{i}",
                "kind": kind,
                "expression": draw(expressions(names)) if kind == "logic" else None,
                "seed": draw(st.one_of(st.none(), st.none(), expressions(names))) if names else None,
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
        logic = f'kind = "logic"\nexpression = "{t["expression"]}"'
        text += f'[[trigger]]\nname = "{t["name"]}"\nprescale = {t["prescale"]}\ngroup = "{t["group"]}"\n'
        text += (logic if t["kind"] == "logic" else KINDS[t["kind"]][0]) + "\n"
        text += f"enabled = {str(t['enabled']).lower()}\n"
        text += "".join(f'{key} = "{t[key]}"\n' for key in ("seed", "coherent") if t[key])
    with tempfile.TemporaryDirectory() as folder:
        return menu_from(Path(folder), text)


def accepts(event: dict[str, Any], triggers: list[dict[str, Any]], rng: random.Random) -> dict[str, bool]:
    """With one draw of every prescale counter; a seed that is off is read before prescales."""
    fires: dict[str, bool] = {}
    accepted: dict[str, bool] = {}
    counters: dict[str, float] = {}
    for t in triggers:
        logic = t["kind"] == "logic"
        fired = eval(t["expression"], {}, fires) if logic else bool(KINDS[t["kind"]][1](event))
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


@settings(max_examples=80)
@given(menus(), st.integers(0, 2**32))
def test_what_is_contained_never_accepts_alone(triggers: list[dict[str, Any]], seed: int) -> None:
    menu, rng = as_menu(triggers), random.Random(seed)
    containment = Containment(menu, menu.enabled)
    members = [[t.name] for t in menu.enabled]
    members += [[t.name for t in menu.enabled if t.group == group] for group in ("x", "y")]
    claims = [(names, within) for names in members if (within := containment.of(names))]
    for event in toy_events(seed, 60) if claims else ():
        accepted = accepts(event, triggers, rng)
        for names, within in claims:
            assert not {*names} & {*within}
            assert not any(accepted[name] for name in names) or any(accepted[name] for name in within)


@settings(max_examples=25)
@given(menus(), st.integers(0, 2**32))
def test_what_is_contained_has_no_unique_rate(triggers: list[dict[str, Any]], seed: int) -> None:
    menu = as_menu(triggers)
    containment = Containment(menu, menu.enabled)
    result = rates_of(emulate([menu], memory_catalogue({"a": toy_events(seed, 60)})))
    for t in (*result.triggers, *result.groups):
        group = t.kind == "group"
        within = containment.of([u.name for u in menu.enabled if t.name == (u.group if group else u.name)])
        if within:
            assert (t.unique.hz, t.unique.error_hz, t.unique.events) == (0.0, 0.0, 0)
            assert t.unique.upper_limit_hz is None
        assert t.unique.contained_in == within


JET = 'kind = "threshold"\nobservable = "jet[0].pt"\nabove = '
MENU = f"""
[[trigger]]
name = "J10"
{JET}10
[[trigger]]
name = "J20"
{JET}20
[[trigger]]
name = "MET"
kind = "threshold"
observable = "met"
above = 10
[[trigger]]
name = "BOTH"
kind = "logic"
expression = "J20 and MET"
[[trigger]]
name = "EITHER"
kind = "logic"
expression = "J20 or MET"
[[trigger]]
name = "SEEDED"
kind = "combination"
legs = [{{ object = "muon" }}]
seed = "MET"
[[trigger]]
name = "RANDOM"
kind = "random"
rate_hz = 1000
"""


def within(folder: Path, text: str, *names: str) -> tuple[str, ...]:
    menu = menu_from(folder, text)
    return Containment(menu, menu.enabled).of(names)


def changed(name: str, keys: str) -> str:
    """The menu with further keys of a trigger."""
    return MENU.replace(f'name = "{name}"\n', f'name = "{name}"\n{keys}\n')


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (["J10"], MENU, ()),
        (["J20"], MENU, ("J10",)),
        (["BOTH"], MENU, ("J10",)),
        (["EITHER"], MENU, ("J10", "MET")),
        (["MET"], MENU, ("EITHER",)),
        (["MET"], changed("EITHER", "prescale = 2"), ()),
        (["MET"], changed("EITHER", "enabled = false"), ()),
        (["SEEDED"], MENU, ("MET",)),
        (["SEEDED"], changed("MET", "prescale = 50"), ("MET",)),
        (["SEEDED"], changed("MET", "enabled = false"), ("EITHER",)),
        (["SEEDED"], changed("SEEDED", "prescale = 7"), ("MET",)),
        (["J20", "MET"], MENU, ("EITHER",)),
        (["RANDOM"], MENU, ()),
        (["J20"], changed("J10", "prescale = 3"), ("EITHER",)),
        (["EITHER"], changed("J10", "prescale = 3"), ("J20", "MET")),
        (["J20"], changed("J10", "prescale = 3").replace("J20 or MET", "MET"), ()),
    ],
)  # fmt: skip
def test_what_a_reader_sees(tmp_path: Path, names: list[str], text: str, expected: tuple[str, ...]) -> None:
    assert within(tmp_path, text, *names) == expected


@pytest.mark.parametrize(
    ("first", "second", "contained"),
    [
        ('prescale = 10\ncoherent = "j"', 'prescale = 20\ncoherent = "j"', True),
        ('prescale = 10\ncoherent = "j"', 'prescale = 10\ncoherent = "j"', True),
        ('prescale = 20\ncoherent = "j"', 'prescale = 10\ncoherent = "j"', False),
        ('prescale = 10\ncoherent = "j"', 'prescale = 20\ncoherent = "k"', False),
        ("prescale = 10", "prescale = 20", False),
        ("", "prescale = 20", True),
        ('seed = "R"', 'seed = "R"', True),
        ('seed = "R"', 'seed = "R"\nprescale = 2', True),
        ('seed = "R"\nprescale = 2', 'seed = "R"\nprescale = 2', False),
        ('seed = "R"\nprescale = 2\ncoherent = "j"', 'seed = "R"\nprescale = 2\ncoherent = "j"', True),
        ('seed = "R"', "", False),
        ('seed = "R"', 'seed = "R and S"', True),
        ('seed = "R and S"', 'seed = "R"', False),
        ('seed = "R or S"', 'seed = "S"', True),
    ],
)  # fmt: skip
def test_prescales_and_seeds(tmp_path: Path, first: str, second: str, contained: bool) -> None:
    """R and S are random, prescaled, and take much less: the second is within the first or within nothing."""
    text = f'[[trigger]]\nname = "A"\n{JET}10\n{first}\n[[trigger]]\nname = "B"\n{JET}20\n{second}\n'
    for name in "RS":
        text += f'[[trigger]]\nname = "{name}"\nkind = "random"\nrate_hz = 1000\n'
    found = within(tmp_path, text, "B")
    seeds = re.findall("[RS]", second.partition("seed")[2])
    assert found == (("A",) if contained else tuple(seeds))


def test_identical_triggers_contain_each_other(tmp_path: Path) -> None:
    text = "".join(f'[[trigger]]\nname = "{name}"\n{JET}10\n' for name in "AB")
    result = rates_of(emulate([menu_from(tmp_path, text)], memory_catalogue({"a": toy_events(1, 50)})))
    assert [t.unique.contained_in for t in result.triggers] == [("B",), ("A",)]
    assert all(t.unique.upper_limit_hz is None and t.total.hz > 0 for t in result.triggers)


def test_a_long_expression_claims_nothing_and_takes_no_time(tmp_path: Path) -> None:
    names = [f"M{i}" for i in range(24)]
    text = "".join(
        f'[[trigger]]\nname = "{n}"\nkind = "threshold"\nobservable = "met * {i + 1}"\nabove = 1\n'
        for i, n in enumerate(names)
    )
    pairs = " and ".join(f"({a} or {b})" for a, b in zip(names[::2], names[1::2], strict=True))
    text += f'[[trigger]]\nname = "LONG"\nkind = "logic"\nexpression = "{pairs}"\n'
    assert within(tmp_path, text, "LONG") == ()


def test_a_chain_that_reads_each_trigger_twice_takes_no_time(tmp_path: Path) -> None:
    """As deep as a menu may be: 2³² paths, found once each, without too many nested calls."""
    text = '[[trigger]]\nname = "T0"\nkind = "threshold"\nobservable = "met"\nabove = 1\n'
    for i in range(1, 34):
        read = f"T{i - 1} and (T{i - 1} or T{i - 1})"
        text += f'[[trigger]]\nname = "T{i}"\nkind = "logic"\nexpression = "{read}"\n'
    menu = menu_from(tmp_path, text)
    assert Containment(menu, menu.enabled).of(["T33"]) == ("T0",)


def test_a_plugin_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from trigemu.api import questions\n"
        "from trigemu.triggers.threshold import Threshold\n"
        "class Broken(Threshold, frozen=True): pass\n"
        "@questions.kind_extent.register(Broken)\ndef _(kind, context): return 1 / 0\n"
        'KINDS = {"broken": Broken}\n'
    )
    text = '[menu]\nplugins = ["broken"]\n[[trigger]]\nname = "B"\nkind = "broken"\n'
    text += 'observable = "met"\nabove = 1\n'
    (tmp_path / "menu.toml").write_text(text)
    menu = read_menu(tmp_path / "menu.toml", [tmp_path])
    with pytest.raises(PluginError, match=r"menu\.toml:3: trigger 'B' \(kind 'broken'\) failed: ZeroDiv"):
        menu.extent(menu.trigger("B"))
