"""Exact sums of weights for each pattern of decisions, and the probabilities with which triggers accept it.

in: decision bits, weights
out: `PatternTable`, `Acceptance`, the fraction of each rate (`quantities`)
"""

import lazy_loader

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
