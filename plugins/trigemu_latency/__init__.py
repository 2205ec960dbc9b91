"""The latency of a menu: decisions of its triggers one event at a time, and their times.

in: `Menu`s, `Events`
out: `Stream`, which decides single events; `Bench`, the times
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"bench": ".cli:bench"},
    uses=("anomaly",),
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
