"""Networks of hls4ml projects, such as AXOL1TL and CICADA of the CMS Level-1 trigger.

in: the folder that hls4ml wrote (C++)
out: a card and an integer network, for the kind `network`
"""

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    importers={"hls4ml": ".cli:hls4ml"},
    uses=("anomaly",),
)
