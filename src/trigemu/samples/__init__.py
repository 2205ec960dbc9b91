"""Samples of events: their files, their columns, and their weights in Hz.

in: catalogues, files of events (`formats`, one file a format)
out: `Catalogue`, `Sample`, `Events`
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
