"""The interface for plugins: the only module of trigemu that a plugin imports.

The stub lists its names in the order of the flow; the reference documents each. A name is imported when it is
used. Names that are neither here nor in `trigemu.__all__` are private and may change.
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub("trigemu", __file__)
