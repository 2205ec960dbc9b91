"""Triggers on the score of a model, such as anomaly triggers, and the models of other plugins.

in: a card (TOML) with the inputs and the model: ONNX, or boosted trees
out: the kind `network`, or `anomaly`; networks and trees, also for single events; cards for models
"""

import lazy_loader

from trigemu.api import Plugin

PLUGIN = Plugin(
    kinds={"anomaly": ".anomaly:Anomaly", "network": ".anomaly:Anomaly"},
    commands={"anomaly": ".cli:command"},
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
