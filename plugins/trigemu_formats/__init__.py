"""Formats of sample files other than NanoAOD: PHYSLITE, orbit NanoAOD, Delphes, Parquet and HDF5.

in: files of events
out: samples
"""

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    formats={
        "physlite": ".physlite:Physlite",
        "delphes": ".delphes:Delphes",
        "parquet": ".parquet:Parquet",
        "challenge": ".challenge:Challenge",
        "orbit": ".orbit:Orbits",
    },
)
