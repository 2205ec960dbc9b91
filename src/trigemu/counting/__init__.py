"""Exact sums of weights for each pattern of decisions, and the probabilities with which triggers accept it.

in: decision bits, weights
out: `PatternTable`, `Acceptance`, the fraction of each rate (`quantities`)
"""

from trigemu.counting.acceptance import (
    Acceptance,
    Pairs,
    Part,
    acceptances,
    own_decisions,
    pairs_between,
    raw_decisions,
)
from trigemu.counting.checked import (
    check_array,
    check_known,
    check_samples,
    check_scores,
    check_table,
    check_weights,
    check_within,
)
from trigemu.counting.coherent import Sets
from trigemu.counting.entries import distinct_entries
from trigemu.counting.exact import LIMBS
from trigemu.counting.pair_sums import PairSums
from trigemu.counting.patterns import (
    Keys,
    PatternTable,
    complete_table,
    count_patterns,
    empty_table,
    merge_tables,
)
from trigemu.counting.quantities import COMPARED, LISTED, MENU, QUANTITIES, Label, fractions, members_by_level
from trigemu.counting.rate_sums import RateSums, pattern_blocks
from trigemu.counting.scales import Scales
from trigemu.counting.score_table import ScoreTable, merge_score_tables
from trigemu.counting.shared import Covariance, Parents, SharedEvents

__all__ = [
    "COMPARED",
    "LIMBS",
    "LISTED",
    "MENU",
    "QUANTITIES",
    "Acceptance",
    "Covariance",
    "Keys",
    "Label",
    "PairSums",
    "Pairs",
    "Parents",
    "Part",
    "PatternTable",
    "RateSums",
    "Scales",
    "ScoreTable",
    "Sets",
    "SharedEvents",
    "acceptances",
    "check_array",
    "check_known",
    "check_samples",
    "check_scores",
    "check_table",
    "check_weights",
    "check_within",
    "complete_table",
    "count_patterns",
    "distinct_entries",
    "empty_table",
    "fractions",
    "members_by_level",
    "merge_score_tables",
    "merge_tables",
    "own_decisions",
    "pairs_between",
    "pattern_blocks",
    "raw_decisions",
]
