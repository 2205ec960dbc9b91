"""The values that goals allow, ties between them, and the halves of a menu with a trained model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from optimise_toys import toy_samples, write_goals, write_menu

from trigemu import read_menu
from trigemu.api import scaling
from trigemu_optimise.goals import read_goals
from trigemu_optimise.setup import make_setup
from trigemu_optimise.variable import menu_at
from trigemu_optimise.variables import FREE_VALUES, round_step


@given(st.floats(1e-6, 1e9))
def test_steps_are_round_and_not_too_many(width: float) -> None:
    step = round_step(width)
    digits = float(f"{step:.0e}".split("e")[0])
    assert digits in (1, 2, 5)
    assert FREE_VALUES / 3 < width / step + 1 <= FREE_VALUES


def test_equal_thresholds_are_one_variable(tmp_path: Path) -> None:
    more = '[[tie]]\ntriggers = ["J30", "J15"]\n'
    setup = make_setup(
        read_menu(write_menu(tmp_path)), read_goals(write_goals(tmp_path, 3e4, more)), toy_samples(200)
    )
    assert [variable.name for variable in setup.variables] == ["J30 = J15", "MET40", "MET40 prescale"]
    menu = menu_at(setup.menu, setup.variables, [5, 0, 0])
    thresholds = {menu.trigger(name).description.threshold for name in ("J30", "J15")}
    assert thresholds == {setup.variables[0].values[5]}


def test_values_that_ties_exclude_are_left_out(tmp_path: Path) -> None:
    more = '[[tie]]\ntriggers = ["J15", "J30"]\nat_least = 20\n'
    setup = make_setup(
        read_menu(write_menu(tmp_path)), read_goals(write_goals(tmp_path, 3e4, more)), toy_samples(200)
    )
    first, second, *_ = setup.variables
    assert (first.values[0], first.values[-1]) == (30.0, 80.0)
    assert (second.values[0], second.values[-1]) == (10.0, 60.0)


@pytest.mark.parametrize("trained", [0, 1])
def test_only_events_that_no_model_was_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: int
) -> None:
    """Each quarter is scaled to all events; signals are halved once."""
    plain = make_setup(read_menu(write_menu(tmp_path)), read_goals(write_goals(tmp_path, 3e4)), toy_samples())
    monkeypatch.setattr(scaling, "unseen_half", lambda *_: 1 - trained)
    setup = make_setup(plain.written, replace(plain.goals), toy_samples())
    table = setup.tables[0]
    chosen = [setup.fitted.chosen[0], setup.unseen.chosen[0]]
    assert not set(chosen[0]) & set(chosen[1])
    assert set(np.concatenate(chosen)) == set(np.flatnonzero(table.half == 1 - trained))
    for half in (setup.fitted, setup.unseen):
        rate, everything = half.background.weight.sum(), plain.fitted.background.weight.sum()
        assert rate == pytest.approx(everything, rel=0.15)
    signals = [half.chosen[1] for half in (setup.fitted, setup.unseen)]
    assert len(signals[0]) + len(signals[1]) == len(setup.tables[1])
    assert "which no model of the menu was trained on" in setup.halves.text
