from .menu_rates import column_rates as column_rates, rates_of as rates_of, run as run
from .results import (
    FEW_EVENTS as FEW_EVENTS,
    ColumnRates as ColumnRates,
    Half as Half,
    LevelRates as LevelRates,
    MenuRates as MenuRates,
    Rate as Rate,
    TriggerRates as TriggerRates,
)
