"""What an experiment records: bunch trains, dead time and trigger rules between a menu and its readout.

in: `Menu`s, a `Catalogue`, a `Filling` and `Rules`
out: `LiveRates`, what is recorded and what is lost, to which rule and because of which trigger; `Fill`, a
menu while the luminosity falls
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"fill": ".cli:fill", "live": ".cli:live"},
    sections={"live": ".report:sections"},
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
