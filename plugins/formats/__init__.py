"""Formats of sample files other than NanoAOD: PHYSLITE, Delphes, Parquet and HDF5.

in: files of events
out: samples
"""

import lazy_loader

from trigemu.api import Plugin

PLUGIN = Plugin(
    formats={
        "physlite": ".physlite:Physlite",
        "delphes": ".delphes:Delphes",
        "parquet": ".parquet:Parquet",
        "challenge": ".challenge:Challenge",
    },
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
