"""Simulated samples: Pythia interactions, a small detector model, and crossings from them.

in: a configuration
out: ROOT files and a catalogue
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"generate": ".cli:generate"},
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
