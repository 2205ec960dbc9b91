"""Kernel: consecutive crossings in their own order."""

from __future__ import annotations

from trigemu.api import BoolArray, IntArray, kernel

from .counts import Counts
from .crossing_kernels import Beam, add, decide, judge
from .filling import ORBIT


@kernel
def run_ordered(
    beam: Beam,
    counts: Counts,
    starts: IntArray,
    fired: IntArray,
    pattern: IntArray,
    random: IntArray,
    hits: BoolArray,
    first: int,
    causes: IntArray,
    accepted: BoolArray,
) -> None:
    """Judge n crossings from the slot `first` on.

    starts, fired: the nodes of each pattern; pattern: int64[n]; random: int64[k], nodes that accept where
    hits: bool[n, k]. causes: int64[n], is set to what `judge` returns; accepted: bool[n, t], the enabled
    triggers.
    """
    rows, links, code = beam.nodes.rows, beam.nodes.links, beam.nodes.code
    counters, steps = beam.counters.counters, beam.counters.steps
    memory = beam.memory
    for k in range(len(pattern)):
        crossing = first + k
        memory.listed[-1] = 0
        for r in range(len(random)):
            if hits[k, r] and not beam.removed[random[r]]:
                add(rows, memory.accepted, memory.listed, random[r])
        for j in range(starts[pattern[k]], starts[pattern[k] + 1]):
            n = fired[j]
            if not beam.removed[n] and decide(
                links, code, counters, steps, memory.accepted, memory.stack, n, crossing
            ):
                add(rows, memory.accepted, memory.listed, n)
        causes[k] = judge(beam, counts, crossing, crossing // ORBIT, crossing % ORBIT)
        for j in range(memory.listed[-1]):
            accepted[k, rows[memory.listed[j], 0]] = True
        memory.accepted[:] = False
