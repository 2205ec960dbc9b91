"""Sets of efficiency profiles, measured on toy signals, and their corrections."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from toys import memory_catalogue

from fuzzing.edits import spoilt
from fuzzing.formats.base import EVENTS, Files, Format
from fuzzing.formats.menus import PLAIN

PROFILE = """
[profile]
menus = ["menu.toml"]
samples = ["s"]
require = "n_jet >= 1"
triggers = ["T0"]
name = "x"

[[observable]]
expression = "jet[0].pt"
bins = "0:150:10"
label = "leading jet"
unit = "GeV"

[[observable]]
expression = "n_muon"
bins = [-0.5, 0.5, 1.5, 5.5]

[[category]]
condition = "n_jet == 1"
label = "one jet"

[[reference]]
menu = "menu"
trigger = "T0"
quantity = "total_hz"
value = 1420.0
source = "toy"
"""


def _cases() -> st.SearchStrategy[Files]:
    further = (
        *("menu.toml", "0:1e9:1e-3", "5:1:1", "0:10:0", "0:nan:1", "s", "T0", "ht", "0,10,20"),
        *([3.0, 2.0], [0, 1, 2], [0.0, 30.0, math.inf], [-math.inf, 0.0, 30.0]),
    )
    whole = spoilt(PROFILE, further, ("0:1e9:1e-3", "0:10:0"))
    return whole.map(lambda content: {"profile.toml": content, "menu.toml": PLAIN.encode()})


def _use(folder: Path) -> Any:
    import trigemu
    from trigemu.studies.efficiency_profiles import read_profiles

    profiles = read_profiles(folder / "profile.toml")
    menus = [trigemu.read_menu(menu) for menu in profiles.menus]
    catalogue = memory_catalogue({"a": EVENTS[:5]}, signals={"s": EVENTS})
    measured = profiles.measure(menus, catalogue)
    measured.to_correction()
    return measured


FORMATS = (Format("profiles", _cases, _use),)
