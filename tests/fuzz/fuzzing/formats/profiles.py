"""Sets of efficiency profiles, measured on toy signals, and their corrections; efficiencies are counted event
by event."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from toys import memory_catalogue

from fuzzing.edits import byte_edits, table_edits, word_edits
from fuzzing.formats.base import EVENTS, Files, Format, toy_catalogue
from fuzzing.formats.menus import PLAIN
from fuzzing.tables import as_toml

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
        "menu.toml",
        "0:1e9:1e-3",
        "5:1:1",
        "0:10:0",
        "0:nan:1",
        "s",
        "T0",
        "ht",
        "0,10,20",
        [3.0, 2.0],
        [0, 1, 2],
        [0.0, 30.0, math.inf],
        [-math.inf, 0.0, 30.0],
    )
    spoilt = st.one_of(
        table_edits(tomllib.loads(PROFILE), further).map(as_toml),
        table_edits(tomllib.loads(PROFILE), further, most=1).map(as_toml),
        word_edits(PROFILE, ("0:1e9:1e-3", "0:10:0")),
    ).map(lambda text: text.encode("utf-8", "surrogatepass"))
    whole = st.one_of(spoilt, spoilt, spoilt, byte_edits(PROFILE.encode()))
    return whole.map(lambda content: {"profile.toml": content, "menu.toml": PLAIN.encode()})


def _use(folder: Path) -> Any:
    import trigemu
    from trigemu.studies.efficiency_profiles import read_profiles

    profiles = read_profiles(folder / "profile.toml")
    menus = [trigemu.read_menu(menu) for menu in profiles.menus]
    catalogue = memory_catalogue({"a": EVENTS[:5]}, signals={"s": EVENTS})
    assert toy_catalogue()
    measured = profiles.measure(menus, catalogue)
    measured.to_correction()
    return measured


FORMATS = (Format("profiles", 60, _cases, _use),)
