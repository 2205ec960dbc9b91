"""Anomaly triggers: a score of an event from a network in ONNX, and the models of other plugins.

in: a card (TOML) with the inputs and the network
out: the kind `anomaly`; networks and trees, also for single events; cards for models
"""

import lazy_loader

from trigemu.api import Plugin

PLUGIN = Plugin(
    kinds={"anomaly": ".anomaly:Anomaly"},
    commands={"anomaly": ".cli:command"},
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
