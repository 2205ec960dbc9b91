"""Studies of menus beyond their rates: comparisons, scans, efficiencies, exclusive rates, and rates in bins.

in: `Menu`s, a `Catalogue`, an `Emulation`
out: one result for each study, which contains only numbers
"""
