"""File formats, one per module. Each reads columns of ranges of entries (`source.Source`) and recognises its
own files. Formats are tried in this order; test vectors come last because they accept any text."""

from __future__ import annotations

from collections.abc import Mapping

from trigemu.samples.formats.challenge import Challenge
from trigemu.samples.formats.cms_vector import CMSVector
from trigemu.samples.formats.delphes import Delphes
from trigemu.samples.formats.nanoaod import NanoAOD
from trigemu.samples.formats.parquet import Parquet
from trigemu.samples.formats.physlite import Physlite
from trigemu.samples.formats.source import Source

#: Name of a format in catalogues → its reader.
FORMATS: Mapping[str, type[Source]] = {
    "nanoaod": NanoAOD,
    "physlite": Physlite,
    "delphes": Delphes,
    "parquet": Parquet,
    "challenge": Challenge,
    "cms-l1-vector": CMSVector,
}
