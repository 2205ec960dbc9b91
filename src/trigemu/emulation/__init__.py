"""The event loop, on any engine; solving of rate budgets; reweighting to other pile-up or
luminosity.

in: `Menu`s, a `Catalogue`
out: `Emulation`: the plan and its pattern table
"""

import lazy_loader

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
