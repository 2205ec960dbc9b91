"""What every room needs, with no knowledge of triggers: errors, atomic file writing, kernels, array types,
TOML with line numbers, the machine, and engines that do work on it or elsewhere (`execution`).

in: files, numbers
out: messages, typed tables, compiled kernels
"""

import lazy_loader

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
