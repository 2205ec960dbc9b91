"""Rates of menus with seeds, prescale counters and levels against fractions, event by event."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
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
    return found


@settings(max_examples=40)
@given(st.one_of(*(toy_menus(levels=levels) for levels in (0, 2, 3))), st.integers(0, 2**32))
def test_any_menu(menu: ToyMenu, seed: int) -> None:
    samples = toy_samples(menu, seed, 200, 20)
    with tempfile.TemporaryDirectory() as folder:
        result = run(menu_from(Path(folder), as_toml(menu)), catalogue_of(menu, samples))
    patterns: dict[tuple[bool, ...], list[float]] = {}
    for event in (event for part in samples.values() for event in part):
        weight = event.weight * menu.crossing_rate_hz / 40e6
        patterns.setdefault(tuple(event.decisions.values()), []).append(weight)
    names = [t.name for t in menu.given]
    each = [contributions(menu, dict(zip(names, pattern, strict=True))) for pattern in patterns]
    sums = np.array([(len(w), math.fsum(w), math.fsum(x * x for x in w)) for w in patterns.values()]).T
    alone, found, whole = constant(menu), rates_in(result), sums.sum(axis=1)

    def check(hz: float, error_hz: float, of: list[Fraction], same: Fraction) -> np.ndarray:
        f = np.array(of, float)
        assert hz == pytest.approx(float(f @ sums[1]), rel=1e-11, abs=ROUNDING * whole[1])
        varying = (f - float(same)) if any(of) else np.zeros(len(f))  # or there is a limit
        error = math.sqrt(varying**2 @ sums[2])
        assert error_hz == pytest.approx(error, rel=1e-9, abs=ROUNDING * math.sqrt(whole[2]))
        return f

    labels = [labelled(f) for f in each]
    for label, same in labelled(alone).items():
        rate = found[label]
        f = check(rate.hz, rate.error_hz, [one[label] for one in labels], same)
        some, most = (float((np.abs(f) > least) @ sums[0]) for least in (ROUNDING, 0.0))
        assert some <= rate.events <= most or label[0] == "lost"
    on = [t.name for t in menu.enabled]
    for i, s in enumerate(on):
        for j, t in enumerate(on):
            hz, error_hz = result.overlap[i, j], result.overlap_error[i, j]
            check(hz, error_hz, [f.overlap[s, t] for f in each], alone.overlap[s, t])
