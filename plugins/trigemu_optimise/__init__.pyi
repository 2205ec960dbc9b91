import trigemu.api

from .goals import (
    ChannelTable as ChannelTable,
    Effort as Effort,
    Goals as Goals,
    GoalsTable as GoalsTable,
    Limit as Limit,
    Live as Live,
    Span as Span,
    Tie as Tie,
    Vary as Vary,
    read_goals as read_goals,
)
from .optimise import Optimised as Optimised, optimise as optimise
from .results import (
    CapResult as CapResult,
    ChannelResult as ChannelResult,
    Contender as Contender,
    LimitResult as LimitResult,
    OnHalf as OnHalf,
    Summary as Summary,
    VariableResult as VariableResult,
)

PLUGIN: trigemu.api.Plugin
