import trigemu.api

from .goals import (
    ChannelTable as ChannelTable,
    Effort as Effort,
    GoalsTable as GoalsTable,
    Limit as Limit,
    Live as Live,
    Tie as Tie,
    Vary as Vary,
    read_goals as read_goals,
)
from .optimise import Optimised as Optimised, optimise as optimise
from .results import Summary as Summary

PLUGIN: trigemu.api.Plugin
