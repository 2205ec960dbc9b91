from .anomaly import (
    CompiledAnomaly,
    InputBlock,
    Scorer,
    event_blocks,
    of_asked,
    open_scorer,
    read_inputs,
    scores_among,
)
from .base import BitKind, Compiled, Context, Kind, Model, ModelCall, Native, ScoreKind, TrainedOn
from .combination.kind import (
    CUT,
    LEG,
    MATCH_AFTER,
    MAX_LEGS,
    MAX_STEPS,
    CompiledCombination,
    search,
)
from .combination.pairs import COLUMNS
from .extent import Extent
from .external import CompiledExternal
from .function import CompiledFunction
from .kinds import KINDS
from .logic import Expression, Logic, parse_expression
from .models.card import Card, CardTable, ModelFile, contents_of, open_card
from .models.fixed_point import (
    MAX_INTEGER,
    MAX_WIDTH,
    OVERFLOWS,
    ROUNDINGS,
    SATURATING,
    ApFixed,
)
from .models.fixed_row import FixedRow, score_by
from .models.machine_code import CodeRecipe, build_library, last_words, open_library
from .models.network import Network
from .models.precision import PrecisionTable, TreeModel, table_of
from .models.single_row import Row, add_leaves, decided, score_at, score_of, settled_decision, tree_score
from .models.tree_cells import CellRow, CellTable, cell_table
from .models.trees import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_TREES,
    Ensemble,
    FixedEnsemble,
    Precision,
)
from .plugin_sources import load_from, plugins_in, sources_of
from .plugins import Plugin, available, place_of, place_of_method, reason_of, search_path
from .random import Random

__all__ = [
    "COLUMNS",
    "CUT",
    "KINDS",
    "LEG",
    "MATCH_AFTER",
    "MAX_DEPTH",
    "MAX_INTEGER",
    "MAX_LEGS",
    "MAX_NODES",
    "MAX_STEPS",
    "MAX_TREES",
    "MAX_WIDTH",
    "OVERFLOWS",
    "ROUNDINGS",
    "SATURATING",
    "ApFixed",
    "BitKind",
    "Card",
    "CardTable",
    "CellRow",
    "CellTable",
    "CodeRecipe",
    "Compiled",
    "CompiledAnomaly",
    "CompiledCombination",
    "CompiledExternal",
    "CompiledFunction",
    "Context",
    "Ensemble",
    "Expression",
    "Extent",
    "FixedEnsemble",
    "FixedRow",
    "InputBlock",
    "Kind",
    "Logic",
    "Model",
    "ModelCall",
    "ModelFile",
    "Native",
    "Network",
    "Plugin",
    "Precision",
    "PrecisionTable",
    "Random",
    "Row",
    "ScoreKind",
    "Scorer",
    "TrainedOn",
    "TreeModel",
    "add_leaves",
    "available",
    "build_library",
    "cell_table",
    "contents_of",
    "decided",
    "event_blocks",
    "last_words",
    "load_from",
    "of_asked",
    "open_card",
    "open_library",
    "open_scorer",
    "parse_expression",
    "place_of",
    "place_of_method",
    "plugins_in",
    "read_inputs",
    "reason_of",
    "score_at",
    "score_by",
    "score_of",
    "scores_among",
    "search",
    "search_path",
    "settled_decision",
    "sources_of",
    "table_of",
    "tree_score",
]
