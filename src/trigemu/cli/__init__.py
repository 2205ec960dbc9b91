"""The command line: one file per command, each a few lines over the other rooms.

in: what users type   out: tables, documents and pages; messages and exit status 2 for mistakes
"""

import lazy_loader

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
