"""The event loop, on any engine; solving of rate budgets; reweighting to other pile-up or
luminosity.

in: `Menu`s, a `Catalogue`
out: `Emulation`: the plan and its pattern table
"""

from trigemu.emulation.budgets import cut_for, solve_budgets, ties
from trigemu.emulation.engine import (
    Chunk,
    Job,
    Progress,
    TableTask,
    Task,
    chunks_of,
    over_background,
    over_samples,
)
from trigemu.emulation.fired import decisions, fired_in
from trigemu.emulation.given import emulation_of
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

__all__ = [
    "Axis",
    "Chunk",
    "Emulation",
    "EventTable",
    "Job",
    "Progress",
    "TableTask",
    "Task",
    "at_luminosity",
    "at_pileup",
    "chunks_of",
    "crossing_scale",
    "cut_for",
    "decisions",
    "emulate",
    "emulation_of",
    "event_table",
    "fired_in",
    "half_scales",
    "over_background",
    "over_samples",
    "passes",
    "refuse_negative",
    "solve_budgets",
    "ties",
    "unseen_half",
    "weights_by_half",
]
