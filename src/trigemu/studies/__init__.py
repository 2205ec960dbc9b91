"""Studies of menus beyond their rates: comparisons, scans, efficiencies, exclusive rates, rates in bins,
validation against recorded decisions, timing (`timing`).

in: `Menu`s, a `Catalogue`, an `Emulation`
out: one result per study, numbers only
"""

import lazy_loader

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
