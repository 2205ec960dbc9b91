"""Quantities computed per event: selections of objects, expressions, conditions, the inputs of models.

in: texts of menus and cards, `Events`
out: `Number`, `Condition`, `ObjectSelection`, evaluated in a `Workspace`
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
