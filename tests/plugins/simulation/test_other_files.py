from __future__ import annotations

import pytest
from project import ROOT

from trigemu import open_catalogue, read_menu
from trigemu.api import TableError
from trigemu_simulation.config import load_config


def test_a_menu_is_no_configuration() -> None:
    with pytest.raises(TableError, match="this is a menu, not a configuration of simulated samples: "):
        load_config(ROOT / "menus" / "primary.toml")


def test_a_configuration_is_neither_menu_nor_catalogue() -> None:
    file = ROOT / "plugins" / "simulation" / "configs" / "embedded.toml"
    for read, case in ((read_menu, "a menu"), (open_catalogue, "a catalogue of samples")):
        with pytest.raises(TableError, match=f"this is a configuration of simulated samples, not {case}"):
            read(file)  # type: ignore[operator]
