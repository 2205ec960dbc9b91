"""Boosted trees of a trigger on an FPGA: fixed point, Verilog and conifer's HLS, verification, resources.

in: `Menu`s, a `Catalogue`
out: `BitScan`, `Project`, `Estimate`
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"firmware": ".cli:firmware"},
    uses=("anomaly",),
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
