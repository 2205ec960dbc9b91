"""The event loop, on any engine; rate budgets; reweighting to another pile-up or luminosity.

in: `Menu`s, a `Catalogue`
out: `Emulation`: the plan and its pattern table
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
