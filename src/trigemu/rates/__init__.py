"""All rates of a menu with their uncertainties, from the pattern table.

in: an `Emulation`
out: `MenuRates`
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
