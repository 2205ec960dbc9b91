"""Comparison of menus with the recorded decisions of an experiment, and with earlier versions of themselves.

in: `Menu`s, a `Catalogue`, tolerances
out: `DecisionCheck`, `Gate`
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"gate": ".gate_command:gate"},
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
