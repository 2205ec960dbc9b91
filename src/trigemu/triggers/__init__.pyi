from .base import (
    BitKind as BitKind,
    Compiled as Compiled,
    Context as Context,
    Kind as Kind,
    ScoreKind as ScoreKind,
    TrainedOn as TrainedOn,
)
from .combination.kind import (
    CUT as CUT,
    LEG as LEG,
    MATCH_AFTER as MATCH_AFTER,
    MAX_LEGS as MAX_LEGS,
    MAX_STEPS as MAX_STEPS,
    CompiledCombination as CompiledCombination,
    search as search,
)
from .combination.leg_threshold import (
    CompiledLegThreshold as CompiledLegThreshold,
    LegThreshold as LegThreshold,
)
from .combination.pairs import COLUMNS as COLUMNS
from .extent import Extent as Extent
from .external import CompiledExternal as CompiledExternal
from .function import CompiledFunction as CompiledFunction
from .kinds import AnyKind as AnyKind, Kinds as Kinds
from .logic import Expression as Expression, Logic as Logic, parse_expression as parse_expression
from .questions import (
    Question as Question,
    SampleCheck as SampleCheck,
    answers as answers,
    kind_extent as kind_extent,
    lacking as lacking,
    objects_needed as objects_needed,
    objects_used as objects_used,
    preselection as preselection,
    sample_check as sample_check,
    score_above as score_above,
    threshold_observables as threshold_observables,
    warnings_of as warnings_of,
    without_soft_objects as without_soft_objects,
)
from .random import Random as Random
from .threshold import CompiledThreshold as CompiledThreshold
