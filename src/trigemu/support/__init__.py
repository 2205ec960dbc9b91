"""What every room needs, independent of triggers: errors, atomic file writing, kernels, array types, TOML
with line numbers, the machine, and engines that run work on it or elsewhere (`execution`).

in: files, numbers
out: messages, typed tables, compiled kernels
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
