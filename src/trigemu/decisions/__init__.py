"""Events × triggers → decision bits: a plan that evaluates each distinct trigger once, in batches or one
event at a time (`stream`).

in: `Menu`s, `Events`
out: `Plan`, packed decisions, `Stream`
"""

from trigemu.decisions.plan import Plan, Slot, decide, lacks, lacks_neighbours, make_plan
from trigemu.decisions.stream.stream import ARRAYS_FROM, Stream

__all__ = ["ARRAYS_FROM", "Plan", "Slot", "Stream", "decide", "lacks", "lacks_neighbours", "make_plan"]
