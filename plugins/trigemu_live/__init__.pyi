import trigemu.api

from .fill import through_fill as through_fill
from .fill_config import (
    ColumnTable as ColumnTable,
    ControlTable as ControlTable,
    FillConfig as FillConfig,
    FillTable as FillTable,
    read_fill as read_fill,
)
from .fill_results import Fill as Fill, FillTrace as FillTrace
from .filling import (
    Filling as Filling,
    every_slot as every_slot,
    read_filling as read_filling,
    scheme_names as scheme_names,
    spread as spread,
)
from .live import live_rates as live_rates
from .ordered import (
    OrderedAccepts as OrderedAccepts,
    OrderedItem as OrderedItem,
    Vetoed as Vetoed,
    accepts_in_order as accepts_in_order,
)
from .results import LiveItem as LiveItem, LiveRates as LiveRates
from .rules import (
    LiveFraction as LiveFraction,
    Rules as Rules,
    largest_input_rate as largest_input_rate,
    live_fraction as live_fraction,
    read_rules as read_rules,
    rule_names as rule_names,
)

PLUGIN: trigemu.api.Plugin
"""`trigemu live` and `trigemu fill`"""
