from .menu_rates import (
    column_rates as column_rates,
    rates_of as rates_of,
    rates_of_columns as rates_of_columns,
    run as run,
)
from .results import (
    FEW_EVENTS as FEW_EVENTS,
    ColumnRates as ColumnRates,
    Half as Half,
    LevelRates as LevelRates,
    MenuRates as MenuRates,
    Rate as Rate,
    TriggerRates as TriggerRates,
)
