"""What plugins are written with: the only module of trigemu that a plugin imports."""

import lazy_loader

from trigemu import __version__ as __version__

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub("trigemu", __file__)
