"""Tables for a terminal, JSON and CSV, one file per command."""

import lazy_loader

# Plugins take this one as a whole.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["validate"])
