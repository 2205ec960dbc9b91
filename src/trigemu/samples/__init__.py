"""Samples of events: their files, their columns, and their weights in Hz.

in: catalogues, files of events (`formats`, one file a format)
out: `Catalogue`, `Sample`, `Events`
"""

from trigemu.samples.awkward_view import events_from_awkward, is_awkward
from trigemu.samples.catalogue import (
    BadFilesError,
    Catalogue,
    Entries,
    Errors,
    LeftOut,
    without_bad_files,
)
from trigemu.samples.consecutive import not_consecutive
from trigemu.samples.events import (
    MAX_WEIGHT_HZ,
    Collection,
    Events,
    Need,
    event_starts,
    first_nan,
    make_events,
)
from trigemu.samples.formats.cms_vector import CMSVector
from trigemu.samples.formats.cms_words import OBJECT_BITS, SCALES
from trigemu.samples.formats.source import Source
from trigemu.samples.given import SamplesLike, samples_of
from trigemu.samples.locations import opened
from trigemu.samples.margins import entries_with_neighbours, join_events
from trigemu.samples.memory import sample_in_memory
from trigemu.samples.normalise import CatalogueTable, Pileup, Rounding, SampleTable, rate_mistakes
from trigemu.samples.opening import catalogue_of, open_catalogue
from trigemu.samples.recorded import with_decisions
from trigemu.samples.sample import INTERACTIONS, Sample
from trigemu.samples.sealing import seal_catalogue
from trigemu.samples.split import EVALUATION, HALF_NAMES, TRAINING, half_of, is_quarter, other_half
from trigemu.samples.stored import decision_in, stored_need

__all__ = [
    "EVALUATION",
    "HALF_NAMES",
    "INTERACTIONS",
    "MAX_WEIGHT_HZ",
    "OBJECT_BITS",
    "SCALES",
    "TRAINING",
    "BadFilesError",
    "CMSVector",
    "Catalogue",
    "CatalogueTable",
    "Collection",
    "Entries",
    "Errors",
    "Events",
    "LeftOut",
    "Need",
    "Pileup",
    "Rounding",
    "Sample",
    "SampleTable",
    "SamplesLike",
    "Source",
    "catalogue_of",
    "decision_in",
    "entries_with_neighbours",
    "event_starts",
    "events_from_awkward",
    "first_nan",
    "half_of",
    "is_awkward",
    "is_quarter",
    "join_events",
    "make_events",
    "not_consecutive",
    "open_catalogue",
    "opened",
    "other_half",
    "rate_mistakes",
    "sample_in_memory",
    "samples_of",
    "seal_catalogue",
    "stored_need",
    "with_decisions",
    "without_bad_files",
]
