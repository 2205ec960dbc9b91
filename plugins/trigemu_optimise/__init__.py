"""The best menu under a cap on its rate: thresholds, prescales and switches for channels of signals.

in: a `Menu`, goals (TOML), a `Catalogue` with signals
out: `Optimised`, the best menu with its numbers
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"optimise": ".cli:optimise"},
    sections={"optimise": ".view:sections"},
    uses=("live",),
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
