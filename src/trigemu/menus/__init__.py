"""Menus: read, checked, described for editors, written.

in: TOML
out: `Menu` with its `Trigger`s
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
