"""Every rate of a menu, pattern by pattern, against every outcome of every counter."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from counters_menus import TWO_LEVELS, any_menu, menu_with_bits, toy_patterns
from counters_twin import ToyMenu, contributions
from hypothesis import given, settings, strategies as st

from trigemu.counting import Label, acceptances, fractions, members_by_level

CLOSE = {"rel": 1e-12, "abs": 1e-15}


@settings(max_examples=40)
@given(any_menu, st.integers(0, 2**32))
def test_every_rate_of_a_menu(toy: ToyMenu, seed: int) -> None:
    menu, bits = menu_with_bits(toy)
    words, given = toy_patterns(toy, seed)
    found = fractions(menu, acceptances(words, menu, bits))
    levels = toy.levels or ("",)
    for row, fired in enumerate(given):
        f = contributions(toy, fired)
        expected: dict[tuple[str, str, str], Fraction] = {("menu", "", "rate"): f.menu}
        for level in levels:
            expected["level", level, "rate"] = f.levels.get(level, f.menu)
        for before, after in itertools.pairwise(toy.levels):
            expected["level", after, "rejected"] = f.levels[before] - f.levels[after]
        for name in f.total:
            for quantity in ("total", "unique", "share"):
                expected["trigger", name, quantity] = getattr(f, quantity)[name]
            expected["trigger", name, "covered"] = f.total[name] - f.unique[name]
        for name, lost in f.lost.items():
            expected["trigger", name, "lost"] = lost
        for name in f.group_total:
            for quantity in ("total", "unique", "share"):
                expected["group", name, quantity] = getattr(f, f"group_{quantity}")[name]
            expected["group", name, "covered"] = f.group_total[name] - f.group_unique[name]
        if not toy.levels:  # then there is one without a name
            found.pop(Label("level", "", "rate"), None)
            del expected["level", "", "rate"]
        assert {tuple(label) for label in found} == set(expected)
        for label, values in found.items():
            assert values[row] == pytest.approx(float(expected[tuple(label)]), **CLOSE), label


def test_levels_share_the_triggers_among_them() -> None:
    menu, _ = menu_with_bits(TWO_LEVELS)
    levels = members_by_level(menu)
    assert list(levels) == ["L1", "HLT"]
    assert (np.sum(list(levels.values()), axis=0) == 1).all()
