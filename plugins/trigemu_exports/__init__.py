"""Results in the form of other libraries: data frames, histograms, tables of HEPData, corrections.

in: results
out: objects of pandas, hist, hepdata-lib and correctionlib
"""

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    exports={
        "pandas": ".frames:frame",
        "hist": ".histograms:histogram",
        "hepdata": ".hepdata:tables",
        "correction": ".correction:correction",
    },
)
