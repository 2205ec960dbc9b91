"""Exact sums of weights for each pattern of decisions, and the probabilities that triggers accept it.

in: decision bits, weights
out: `PatternTable`, `Acceptance`, the fraction of each rate (`quantities`)
"""

import lazy_loader

# The stub lists the exported names; each is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
