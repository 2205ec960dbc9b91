"""Studies of menus beyond their rates: comparisons, scans, efficiencies, exclusive rates, and rates in bins.

in: `Menu`s, a `Catalogue`, an `Emulation`
out: one result for each study, which contains only numbers
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
