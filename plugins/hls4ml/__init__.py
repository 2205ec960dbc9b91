"""Networks of hls4ml projects, such as AXOL1TL and CICADA of the CMS Level-1 trigger.

in: the folder that hls4ml wrote (C++)
out: a card and an integer network, for the kind `network`
"""

import lazy_loader

from trigemu.api import Plugin

PLUGIN = Plugin(
    importers={"hls4ml": ".cli:hls4ml"},
    uses=("anomaly",),
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
