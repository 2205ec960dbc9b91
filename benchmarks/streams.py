"""Decisions of streams and of batches on every event of the background:
`python benchmarks/streams.py MENU …`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from trigemu_latency import ARRAYS_FROM, Stream

import trigemu

PART = 32_768
#: Events per call: few enough that the stream decides them one by one.
FEW = ARRAYS_FROM - 1


def compared(menu: Path) -> Iterator[tuple[int, int, float]]:
    """Yield for each part of the background: the numbers of events and of different decisions, and the time
    of the stream in s."""
    catalogue = trigemu.open_catalogue()
    (solved,) = trigemu.solve_budgets(trigemu.read_menu(menu), catalogue)
    plan = trigemu.make_plan([solved])
    for sample in catalogue.background:
        for start in range(0, sample.entries, PART):
            events = sample.read(0, start, min(start + PART, sample.entries), plan.needs)
            stream, words = Stream(plan, events), trigemu.decide(events, plan)
            begin = time.perf_counter()
            ranges = [(at, min(at + FEW, len(events))) for at in range(0, len(events), FEW)]
            decisions = np.concatenate([stream.decide_many(*rows) for rows in ranges])
            took = time.perf_counter() - begin
            yield len(events), int((decisions != words).any(axis=1).sum()), took


def main() -> int:
    failed = 0
    for menu in map(Path, sys.argv[1:]):
        events, differ, took = (sum(column) for column in zip(*compared(menu), strict=True))
        failed += differ
        line = f"{menu.name}: {events} events, {differ} differ"
        print(f"{line}, {1e9 * took / events:.0f} ns an event", flush=True)  # noqa: T201
    return int(np.sign(failed))


if __name__ == "__main__":
    sys.exit(main())
