"""Recorded data: certified sections, weights from prescales, rates along a run, streams, turn-ons.

in: a `Catalogue` of recorded events, a `Menu`
out: samples with rates in Hz, results of their own
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"rates-vs section": ".along_view:section", "turnon": ".turnon_view:turnon"},
    tables={"stream": ".streams:Streams"},
    weightings={"recorded": ".recorded:recorded"},
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
