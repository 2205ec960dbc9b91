"""Formats of sample files beside those of NanoAOD: PHYSLITE, Delphes, Parquet and HDF5.

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

# What is exported stands in the stub; it is imported when it is used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
