"""Files of events: formats other than NanoAOD (PHYSLITE, orbit NanoAOD, Delphes, Parquet and HDF5), lists and
spectra of what they contain, and tables of the events that a menu may accept.

in: files of events
out: samples, lists, spectra and tables of events
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
    commands={
        "samples": ".samples_command:samples",
        "scores": ".tables_command:scores",
        "events": ".tables_command:events",
    },
    exports={"spectra": ".spectra:spectra"},
    uses=("exports",),
)
