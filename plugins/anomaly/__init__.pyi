import trigemu.api

from .anomaly import InputBlock as InputBlock
from .anomaly import Scorer as Scorer
from .anomaly import event_blocks as event_blocks
from .anomaly import of_asked as of_asked
from .anomaly import open_scorer as open_scorer
from .anomaly import read_inputs as read_inputs
from .anomaly import scores_among as scores_among
from .card import Card as Card
from .card import CardTable as CardTable
from .card import ModelFile as ModelFile
from .card import open_card as open_card
from .fixed_point import MAX_INTEGER as MAX_INTEGER
from .fixed_point import MAX_WIDTH as MAX_WIDTH
from .fixed_point import OVERFLOWS as OVERFLOWS
from .fixed_point import ROUNDINGS as ROUNDINGS
from .fixed_point import SATURATING as SATURATING
from .fixed_point import ApFixed as ApFixed
from .fixed_row import FixedRow as FixedRow
from .fixed_row import score_by as score_by
from .machine_code import CodeRecipe as CodeRecipe
from .machine_code import build_library as build_library
from .machine_code import last_words as last_words
from .machine_code import open_library as open_library
from .network import Network as Network
from .precision import PrecisionTable as PrecisionTable
from .precision import TreeModel as TreeModel
from .precision import table_of as table_of
from .single_row import Row as Row
from .single_row import add_leaves as add_leaves
from .single_row import decided as decided
from .single_row import settled_decision as settled_decision
from .single_row import tree_score as tree_score
from .tree_cells import CellRow as CellRow
from .tree_cells import cell_table as cell_table
from .trees import MAX_DEPTH as MAX_DEPTH
from .trees import MAX_NODES as MAX_NODES
from .trees import MAX_TREES as MAX_TREES
from .trees import Ensemble as Ensemble
from .trees import FixedEnsemble as FixedEnsemble
from .trees import Precision as Precision

PLUGIN: trigemu.api.Plugin
