"""Simulated samples: Pythia interactions, a small detector model, and the events made from them.

in: a configuration
out: ROOT files and a catalogue
"""

from trigemu.generate.config import Config, ConfigError, Slice, load_config, shipped
from trigemu.generate.events import EventColumns
from trigemu.generate.run import INTERACTIONS, generate, generate_interactions, tune
from trigemu.generate.tuning import tuning_table

__all__ = [
    "INTERACTIONS",
    "Config",
    "ConfigError",
    "EventColumns",
    "Slice",
    "generate",
    "generate_interactions",
    "load_config",
    "shipped",
    "tune",
    "tuning_table",
]
