"""Menus held against the decisions that an experiment recorded, and against earlier versions of themselves.

in: `Menu`s, a `Catalogue`, tolerances
out: `DecisionCheck`, `Gate`
"""

import lazy_loader

from trigemu.api import Plugin

PLUGIN = Plugin(
    commands={"gate": ".cli_gate:gate"},
)

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
