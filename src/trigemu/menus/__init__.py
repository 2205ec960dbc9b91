"""Menus: read, checked, described for editors, imported from experiments (`importers`), written.

in: TOML
out: `Menu` with its `Trigger`s
"""

from trigemu.menus.calibrated import write_calibrated
from trigemu.menus.given import MenuLike, MenusLike, menu_of, menus_of
from trigemu.menus.menu import (
    Budget,
    Menu,
    PrescaleColumns,
    Solution,
    Trigger,
    named_apart,
    own_prescale,
)
from trigemu.menus.misread import lost_prescales, signed_differences
from trigemu.menus.prescales import ALL_COLUMNS, at_column, chosen_columns, read_prescales
from trigemu.menus.read import read_menu
from trigemu.menus.schema import menu_schema
from trigemu.menus.units import unit_of_observable, unit_of_threshold
from trigemu.menus.variation import number_path, with_values

__all__ = [
    "ALL_COLUMNS",
    "Budget",
    "Menu",
    "MenuLike",
    "MenusLike",
    "PrescaleColumns",
    "Solution",
    "Trigger",
    "at_column",
    "chosen_columns",
    "lost_prescales",
    "menu_of",
    "menu_schema",
    "menus_of",
    "named_apart",
    "number_path",
    "own_prescale",
    "read_menu",
    "read_prescales",
    "signed_differences",
    "unit_of_observable",
    "unit_of_threshold",
    "with_values",
    "write_calibrated",
]
