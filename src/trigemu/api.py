"""What plugins are written with: the only module of trigemu that a plugin imports.

Its names stand in the stub beside it, in the order of the flow; the reference shows each with its text. A
name is imported when it is used. What is neither here nor in `trigemu.__all__` is private, and may change.
"""

import lazy_loader

from trigemu import __version__ as __version__

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub("trigemu", __file__)
