"""Trigger kinds, one per module; `base` is the contract. Plugins add more kinds.

in: tables of a menu, a `Context`
out: `Kind`, which compiles to `Compiled`, which gives decisions or scores
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
