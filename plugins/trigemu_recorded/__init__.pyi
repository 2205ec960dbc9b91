import trigemu.api

from .along import RatesAlong as RatesAlong, RunRates as RunRates, rates_along as rates_along
from .trends import Part as Part, Trend as Trend

PLUGIN: trigemu.api.Plugin
