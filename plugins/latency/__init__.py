"""The latency of a menu: its triggers decided one event at a time, and the time that each takes.

in: `Menu`s, `Events`
out: `Stream`, which decides single events; `Bench`, the times
"""

import lazy_loader

from trigemu.api import Plugin

PLUGIN = Plugin(
    commands={"bench": ".cli:bench"},
    warm={"stream": ".stream.stream:compile_stream"},
    uses=("anomaly",),
)

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
