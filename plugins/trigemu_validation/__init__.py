"""Checks of menus: of what they say, against the recorded decisions of an experiment, and against earlier
versions of themselves.

in: `Menu`s, a `Catalogue`, tolerances
out: `DecisionCheck`, `Gate`
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={
        "check-menu": ".check_menu:check_menu",
        "schema": ".check_menu:schema",
        "gate": ".gate_command:gate",
    },
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
