"""Triggers on the score of a model, such as anomaly triggers, and the models of other plugins.

in: a card (TOML) with the inputs and the model: ONNX, boosted trees, or the C++ of hls4ml
out: the kind `network`, or `anomaly`; networks and trees, also for single events; cards for models
"""

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    kinds={"anomaly": ".anomaly:Anomaly", "network": ".anomaly:Anomaly"},
    commands={"anomaly": ".cli:command"},
    importers={"hls4ml": ".hls4ml.command:hls4ml"},
)
