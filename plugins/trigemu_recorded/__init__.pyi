import trigemu.api

from .along import RatesAlong as RatesAlong, RunRates as RunRates, rates_along as rates_along
from .streams import Stream as Stream, StreamRates as StreamRates, Written as Written
from .trends import Part as Part, Trend as Trend
from .turnon import MatchedTurnons as MatchedTurnons, Probes as Probes, matched_turnons as matched_turnons
from .turnon_fit import Fit as Fit, fit_turnon as fit_turnon

PLUGIN: trigemu.api.Plugin
