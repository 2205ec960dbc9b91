import trigemu.api

from .turnon import MatchedTurnons as MatchedTurnons, Probes as Probes, matched_turnons as matched_turnons
from .turnon_fit import Fit as Fit, fit_turnon as fit_turnon

PLUGIN: trigemu.api.Plugin
