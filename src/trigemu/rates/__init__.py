"""All rates of a menu with their uncertainties, from the pattern table.

in: an `Emulation`
out: `MenuRates`
"""
