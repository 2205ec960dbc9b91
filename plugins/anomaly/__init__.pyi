import trigemu.api

from . import integer_file as integer_file
from .anomaly import (
    InputBlock as InputBlock,
    Scorer as Scorer,
    is_above as is_above,
    open_scorer as open_scorer,
    preselected as preselected,
    read_inputs as read_inputs,
    scores_among as scores_among,
)
from .boosted import Trees as Trees, compile_trees as compile_trees, load_trees as load_trees
from .card import Card as Card, CardTable as CardTable, ModelFile as ModelFile, open_card as open_card
from .card_text import (
    input_blocks as input_blocks,
    input_tables as input_tables,
    network_table as network_table,
)
from .fixed_point import (
    MAX_INTEGER as MAX_INTEGER,
    MAX_WIDTH as MAX_WIDTH,
    MAX_WORD as MAX_WORD,
    OVERFLOWS as OVERFLOWS,
    ROUNDINGS as ROUNDINGS,
    SATURATING as SATURATING,
    ApFixed as ApFixed,
)
from .fixed_row import FixedRow as FixedRow, score_by as score_by
from .integer_network import IntegerNetwork as IntegerNetwork
from .model_call import Model as Model, ModelCall as ModelCall, Native as Native
from .models import open_model as open_model
from .network import Engine as Engine, Network as Network
from .onnx_session import SessionRow as SessionRow
from .precision import PrecisionTable as PrecisionTable, TreeModel as TreeModel, table_of as table_of
from .score_model import ScoreModel as ScoreModel
from .single_row import (
    CalledRow as CalledRow,
    NativeDecision as NativeDecision,
    NativeRow as NativeRow,
    RowFunction as RowFunction,
    StepRow as StepRow,
)
from .step_model import KERNELS as KERNELS
from .tree_cells import CellRow as CellRow, cell_table as cell_table
from .trees import (
    MAX_DEPTH as MAX_DEPTH,
    MAX_NODES as MAX_NODES,
    MAX_TREES as MAX_TREES,
    Ensemble as Ensemble,
    FixedEnsemble as FixedEnsemble,
    Precision as Precision,
)
from .xgboost_file import LOGISTIC as LOGISTIC, QUANTILE as QUANTILE, Objective as Objective

PLUGIN: trigemu.api.Plugin
