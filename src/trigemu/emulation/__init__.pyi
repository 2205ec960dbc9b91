from . import scaling as scaling
from .budgets import solve_budgets as solve_budgets, threshold_for as threshold_for, ties as ties
from .chunks import Chunk as Chunk, chunks_of as chunks_of, entries_of as entries_of
from .counted import Counted as Counted, constant_in as constant_in
from .emulation_like import emulation_of as emulation_of
from .engine import (
    Job as Job,
    Progress as Progress,
    TableTask as TableTask,
    Task as Task,
    over_background as over_background,
    over_samples as over_samples,
)
from .event_files import check_event_file as check_event_file, write_events as write_events
from .fed import fed_menu as fed_menu
from .fired import decisions as decisions, fired_in as fired_in
from .loop import Axis as Axis, Emulation as Emulation, emulate as emulate
from .per_event import EventTable as EventTable, event_table as event_table, passes as passes
from .plan import (
    LackingError as LackingError,
    Plan as Plan,
    Slot as Slot,
    decide as decide,
    lacks as lacks,
    lacks_neighbours as lacks_neighbours,
    make_plan as make_plan,
)
from .reweight import at_luminosity as at_luminosity, at_pileup as at_pileup
from .scaling import (
    crossing_scale as crossing_scale,
    half_scales as half_scales,
    refuse_negative as refuse_negative,
    unseen_half as unseen_half,
    weights_by_half as weights_by_half,
)
from .score_files import read_scores as read_scores, write_scores as write_scores
from .score_pass import passes_to_score as passes_to_score, score_table as score_table
from .scores import (
    Scores as Scores,
    Stored as Stored,
    ThresholdRange as ThresholdRange,
    definition as definition,
)
from .stored_results import check_events as check_events, check_result as check_result
from .too_loose import too_loose_in_first as too_loose_in_first
from .unlike import compare_with_training as compare_with_training
from .unreached import explain_idle as explain_idle, unreached_in_first as unreached_in_first
