from . import split as split
from .awkward_view import events_from_awkward as events_from_awkward, is_awkward as is_awkward
from .catalogue import (
    BadFilesError as BadFilesError,
    Catalogue as Catalogue,
    Errors as Errors,
    LeftOut as LeftOut,
    without_bad_files as without_bad_files,
)
from .consecutive import not_consecutive as not_consecutive
from .errors import SampleError as SampleError, UnreadableError as UnreadableError
from .events import (
    MAX_WEIGHT_HZ as MAX_WEIGHT_HZ,
    Collection as Collection,
    Events as Events,
    Need as Need,
    event_starts as event_starts,
    first_nan as first_nan,
    make_events as make_events,
)
from .formats.source import Schema as Schema, Source as Source
from .locations import opened as opened
from .margins import entries_with_neighbours as entries_with_neighbours, join_events as join_events
from .memory import sample_in_memory as sample_in_memory
from .normalise import (
    CatalogueTable as CatalogueTable,
    Pileup as Pileup,
    Rounding as Rounding,
    SampleTable as SampleTable,
    rate_mistakes as rate_mistakes,
)
from .opening import catalogue_of as catalogue_of, open_catalogue as open_catalogue
from .recorded import with_decisions as with_decisions
from .sample import INTERACTIONS as INTERACTIONS, Sample as Sample
from .samples_like import SamplesLike as SamplesLike, samples_of as samples_of
from .split import (
    EVALUATION as EVALUATION,
    HALF_NAMES as HALF_NAMES,
    TRAINING as TRAINING,
    half_of as half_of,
    is_quarter as is_quarter,
    other_half as other_half,
)
from .stored import decision_in as decision_in, stored_need as stored_need
