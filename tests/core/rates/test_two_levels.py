"""Rates of menus with seeds, prescale counters and levels against fractions, event by event."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from counters_menus import as_toml, catalogue_of, toy_menus, toy_samples
from counters_twin import Contributions, ToyMenu, contributions, names_in
from hypothesis import given, settings, strategies as st
from toys import menu_from

from trigemu import run
from trigemu.api import MenuRates, Rate

Label = tuple[str, str]
#: By how much of the menu a difference of probabilities may be off.
ROUNDING = 1e-14


def constant(menu: ToyMenu) -> Contributions:
    """Of an event that nothing accepts but random triggers and what reads these alone."""
    names: set[str] = set()
    for _ in menu.triggers:  # in any order
        for t in menu.triggers:
            read = [e for e in (t.seed, t.logic) if e is not None]
            if (t.random_hz or t.logic) and all(names_in(e) <= names for e in read):
                names.add(t.name)
    plain = {"logic": None, "random_hz": None, "seed": None}
    alone = tuple(t if t.name in names else replace(t, **plain) for t in menu.triggers)
    only = replace(menu, triggers=alone)
    return contributions(only, {t.name: False for t in only.given})


def labelled(f: Contributions) -> Mapping[Label, Fraction]:
    found = {("level", name): value for name, value in f.levels.items()} | {("menu", ""): f.menu}
    for quantity in ("total", "unique", "share", "lost", "group_total", "group_unique", "group_share"):
        found |= {(quantity, name): value for name, value in getattr(f, quantity).items()}
    return found


def rates_in(result: MenuRates) -> dict[Label, Rate]:
    found = {("level", level.name): level.rate for level in result.levels} | {("menu", ""): result.rate}
    for kind, rows in (("", result.triggers), ("group_", result.groups)):
        found |= {(kind + quantity, t.name): t.rates[quantity] for t in rows for quantity in t.rates}
    return found | {("lost", t.name): t.lost for t in result.triggers if t.lost}


@settings(max_examples=60)
@given(st.one_of(*(toy_menus(levels=levels) for levels in (0, 2, 3))), st.integers(0, 2**32))
def test_any_menu(menu: ToyMenu, seed: int) -> None:
    samples = toy_samples(menu, seed, 200, 20)
    with tempfile.TemporaryDirectory() as folder:
        result = run(menu_from(Path(folder), as_toml(menu)), catalogue_of(menu, samples))
    known: dict[tuple[bool, ...], Contributions] = {}
    events = []
    for event in (event for part in samples.values() for event in part):
        pattern = tuple(event.decisions.values())
        if pattern not in known:
            known[pattern] = contributions(menu, event.decisions)
        events.append((event.weight * menu.crossing_rate_hz / 40e6, known[pattern]))
    alone, found = constant(menu), rates_in(result)
    whole = math.fsum(w for w, _ in events), math.sqrt(math.fsum(w * w for w, _ in events))

    def check(hz: float, error_hz: float, added: list[tuple[float, Fraction]], same: Fraction) -> None:
        assert hz == pytest.approx(math.fsum(w * f for w, f in added), rel=1e-11, abs=ROUNDING * whole[0])
        some = any(f for _, f in added)  # or there is a limit
        error = math.sqrt(math.fsum((w * (f - same)) ** 2 for w, f in added)) if some else 0.0
        assert error_hz == pytest.approx(error, rel=1e-9, abs=ROUNDING * whole[1])

    by_event = [(w, labelled(f)) for w, f in events]
    assert found.keys() == labelled(alone).keys()
    for label, rate in found.items():
        added = [(w, f[label]) for w, f in by_event]
        check(rate.hz, rate.error_hz, added, labelled(alone)[label])
        counted = sum(f != 0 for _, f in added)
        assert sum(abs(f) > ROUNDING for _, f in added) <= rate.events <= counted or label[0] == "lost"
    names = [t.name for t in menu.enabled]
    for i, s in enumerate(names):
        for j, t in enumerate(names):
            added = [(w, f.overlap[s, t]) for w, f in events]
            check(result.overlap[i, j], result.overlap_error[i, j], added, alone.overlap[s, t])
