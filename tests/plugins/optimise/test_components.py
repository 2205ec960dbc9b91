"""Independent components of a menu, and what is too large for a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from optimise_toys import toy_samples
from toys import menu_from
from trigemu_optimise.goals import read_goals
from trigemu_optimise.rows import components_of
from trigemu_optimise.setup import make_setup
from trigemu_optimise.variables import Variable

from trigemu import Menu, TrigemuError

LINKED = """
[[trigger]]
name = "A"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0

[[trigger]]
name = "B"
kind = "threshold"
observable = "met"
above = 20.0
coherent = "x"

[[trigger]]
name = "C"
kind = "threshold"
observable = "met"
above = 30.0
coherent = "x"

[[trigger]]
name = "D"
kind = "logic"
expression = "A and not B"

[[trigger]]
name = "E"
kind = "threshold"
observable = "n_jet"
above = 1.0
seed = "C or A"

[[trigger]]
name = "F"
kind = "threshold"
observable = "n_muon"
above = 0.5
"""


def test_counters_and_seeds_connect(tmp_path: Path) -> None:
    """Triggers that read decisions depend on them, without being connected."""
    menu: Menu = menu_from(tmp_path, LINKED)
    found = components_of(menu, [Variable("above", ("A",), (10.0, 20.0), 20.0)])
    assert [component.triggers for component in found] == [("A", "B", "C", "E"), ("D",), ("F",)]
    assert [component.leaves for component in found] == [("A",), ("A",), ()]
    assert [component.fixed for component in found] == [("B", "C", "E"), ("B",), ("F",)]
    assert [component.varies for component in found] == [True, True, False]


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
