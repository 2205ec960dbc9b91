"""All rates of a menu with their uncertainties, from the pattern table alone.

in: an `Emulation`
out: `MenuRates`
"""

import lazy_loader

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
