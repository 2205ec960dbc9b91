"""The command line: one file per command, each a thin layer over the other subpackages.

in: what users type   out: tables, documents and pages; messages and exit status 2 for mistakes
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
