"""Results as documents, tables for a terminal (`text`), figures (`figures`) and a page (`report`). Nothing is
computed here, and each part is imported alone: figures need Matplotlib, a terminal does not.

in: results
out: text, figures, HTML
"""

import lazy_loader

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
