"""Simulated samples: Pythia interactions, a small detector model, and the events made from them.

in: a configuration
out: ROOT files and a catalogue
"""

import lazy_loader

from trigemu.api import Plugin

PLUGIN = Plugin(
    commands={"generate": ".cli:generate"},
)

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
