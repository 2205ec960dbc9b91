"""Formats of sample files other than NanoAOD (PHYSLITE, orbit NanoAOD, Delphes, Parquet and HDF5), and the
command that lists samples and the columns of files.

in: files of events
out: samples, lists of them
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
    commands={"samples": ".samples_command:samples"},
)
