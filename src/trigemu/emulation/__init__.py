"""The event loop, in any number of processes; solving of rate budgets; reweighting to other pile-up or
luminosity.

in: `Menu`s, a `Catalogue`
out: `Emulation`: the plan and its pattern table
"""

from trigemu.emulation.budgets import cut_for, solve_budgets, ties
from trigemu.emulation.engine import CHUNK_EVENTS, Chunk, Job, chunks_of, over_background, over_samples
from trigemu.emulation.loop import Axis, Emulation, Progress, emulate, is_fitted
from trigemu.emulation.reweight import at_luminosity, at_pileup
from trigemu.emulation.scaling import crossing_scale, half_scales, refuse_negative, weights_by_half

__all__ = [
    "CHUNK_EVENTS",
    "Axis",
    "Chunk",
    "Emulation",
    "Job",
    "Progress",
    "at_luminosity",
    "at_pileup",
    "chunks_of",
    "crossing_scale",
    "cut_for",
    "emulate",
    "half_scales",
    "is_fitted",
    "over_background",
    "over_samples",
    "refuse_negative",
    "solve_budgets",
    "ties",
    "weights_by_half",
]
