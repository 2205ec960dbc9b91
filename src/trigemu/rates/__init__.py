"""All rates of a menu with their uncertainties, from the pattern table alone.

in: an `Emulation`
out: `MenuRates`
"""

from trigemu.rates.menu_rates import column_rates, rates_of, run
from trigemu.rates.results import (
    FEW_EVENTS,
    ColumnRates,
    Half,
    LevelRates,
    MenuRates,
    Rate,
    TriggerRates,
)

__all__ = [
    "FEW_EVENTS",
    "ColumnRates",
    "Half",
    "LevelRates",
    "MenuRates",
    "Rate",
    "TriggerRates",
    "column_rates",
    "rates_of",
    "run",
]
