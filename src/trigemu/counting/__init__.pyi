from . import checked as checked
from .acceptance import (
    Acceptance as Acceptance,
    Pairs as Pairs,
    Part as Part,
    acceptances as acceptances,
    own_decisions as own_decisions,
    pairs_between as pairs_between,
    raw_decisions as raw_decisions,
)
from .checked import (
    check_array as check_array,
    check_known as check_known,
    check_samples as check_samples,
    check_scores as check_scores,
    check_table as check_table,
    check_weights as check_weights,
    check_within as check_within,
)
from .coherent import Sets as Sets
from .entries import distinct_entries as distinct_entries
from .exact import LIMBS as LIMBS
from .pair_sums import PairSums as PairSums
from .patterns import (
    Keys as Keys,
    PatternTable as PatternTable,
    complete_table as complete_table,
    count_patterns as count_patterns,
    empty_table as empty_table,
    merge_tables as merge_tables,
)
from .quantities import (
    COMPARED as COMPARED,
    LISTED as LISTED,
    MEANINGS as MEANINGS,
    MENU as MENU,
    QUANTITIES as QUANTITIES,
    Label as Label,
    fractions as fractions,
    members_by_level as members_by_level,
)
from .rate_sums import RateSums as RateSums, pattern_blocks as pattern_blocks, varying as varying
from .scales import Scales as Scales
from .score_table import ScoreTable as ScoreTable, merge_score_tables as merge_score_tables
from .shared import Covariance as Covariance, Parents as Parents, SharedEvents as SharedEvents
