"""Goals of an optimisation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from optimise_toys import GOALS, toy_samples, write_menu

from fuzzing.edits import spoilt
from fuzzing.formats.base import Files, Format
from trigemu import read_menu

ALL = (
    GOALS.format(cap="3e4")
    + """
[[tie]]
triggers = ["J15", "J30"]
at_least = 5.0
[[limit]]
trigger = "J30"
quantity = "unique"
max_hz = 1e4
[[vary]]
triggers = ["MU"]
prescale = [10]
[live]
min = 0.5
rules = "cms"
"""
)
#: Values in place of others: none, all and too many, of other types, of other triggers, with a unit.
FURTHER = (
    *(0, -1, 1e308, 10**30, 1e300, 1e-300, math.inf, math.nan, "100kHz", "free", "J30"),
    *(["J30", "J15"], {"min": 1, "max": 2}, {"min": 30, "max": 30}, {"min": 1, "max": 2, "step": math.inf}),
    {},
)


def _goals() -> st.SearchStrategy[Files]:
    return spoilt(ALL, FURTHER).map(lambda content: {"goals.toml": content})


def _use_goals(folder: Path) -> Any:
    from trigemu_optimise.goals import read_goals
    from trigemu_optimise.setup import make_setup

    menu = read_menu(write_menu(folder))
    return make_setup(menu, read_goals(folder / "goals.toml"), toy_samples(200)).problem


def _goals_twin(folder: Path, problem: Any) -> str:
    from trigemu_optimise.problem import Evaluation

    rates, efficiencies = Evaluation(problem).at(problem.sizes - 1)
    fine = (rates >= 0).all() and ((efficiencies >= -1e-9) & (efficiencies <= 1 + 1e-9)).all()
    return "" if fine else f"rates {rates}, efficiencies {efficiencies}"


FORMATS = (Format("goals", _goals, _use_goals, _goals_twin),)
