"""The event loop, on any engine; solving of rate budgets; reweighting to other pile-up or
luminosity.

in: `Menu`s, a `Catalogue`
out: `Emulation`: the plan and its pattern table
"""

from trigemu.emulation.budgets import cut_for, solve_budgets, ties
from trigemu.emulation.chunks import Chunk, chunks_of, entries_of
from trigemu.emulation.counted import Counted
from trigemu.emulation.engine import (
    Job,
    Progress,
    TableTask,
    Task,
    over_background,
    over_samples,
)
from trigemu.emulation.fired import decisions, fired_in
from trigemu.emulation.given import emulation_of
from trigemu.emulation.kept import check_events, check_kept
from trigemu.emulation.loop import Axis, Emulation, emulate
from trigemu.emulation.per_event import EventTable, event_table, passes
from trigemu.emulation.reweight import at_luminosity, at_pileup
from trigemu.emulation.scaling import (
    crossing_scale,
    half_scales,
    refuse_negative,
    unseen_half,
    weights_by_half,
)
from trigemu.emulation.score_files import read_scores, write_scores
from trigemu.emulation.score_pass import passes_to_score, score_table
from trigemu.emulation.scores import Offer, Scores, Stored, definition

__all__ = [
    "Axis",
    "Chunk",
    "Counted",
    "Emulation",
    "EventTable",
    "Job",
    "Offer",
    "Progress",
    "Scores",
    "Stored",
    "TableTask",
    "Task",
    "at_luminosity",
    "at_pileup",
    "check_events",
    "check_kept",
    "chunks_of",
    "crossing_scale",
    "cut_for",
    "decisions",
    "definition",
    "emulate",
    "emulation_of",
    "entries_of",
    "event_table",
    "fired_in",
    "half_scales",
    "over_background",
    "over_samples",
    "passes",
    "passes_to_score",
    "read_scores",
    "refuse_negative",
    "score_table",
    "solve_budgets",
    "ties",
    "unseen_half",
    "weights_by_half",
    "write_scores",
]
