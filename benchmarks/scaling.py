"""Cost against size: time and memory against the number of events, time against the number of triggers, and
the speed-up by a second worker. Menus run from ROOT; numbers are printed, and drawn in `scaling.png` in this
folder.

python benchmarks/scaling.py        (three to four minutes; 450 MB in the temporary folder; Linux, two cores)
"""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cluster import pool_workers
from repeat import CATALOGUE, write_repeated
from running import hold

import trigemu
from menus import FULL, menu_of
from trigemu.base.processes import worker_pool

EVENTS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
TRIGGERS = (2, 10, 50, 200)
#: Of the samples: the one that warms processes, the one for several numbers of triggers, the one for workers.
SMALL, MEDIUM, LARGE = EVENTS[0], EVENTS[2], EVENTS[-1]
ROUNDS = 5
PRIMARY = FULL.with_name("primary.toml")
PICTURE = Path(__file__).with_suffix(".png")
GREY = "#717581"


@dataclass(frozen=True)
class Measured:
    """events: their number. seconds: the shortest of ROUNDS runs, from an open catalogue to rates. before,
    peak: resident memory in MB, after all imports and at its highest."""

    events: int
    seconds: float
    before: float
    peak: float

    @property
    def nanoseconds(self) -> float:
        """An event."""
        return self.seconds / self.events * 1e9


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for events in EVENTS:
            write_repeated(folder / str(events), events)
        sizes = {}
        for menu, cores in ((PRIMARY, 2), (PRIMARY, 1), (FULL, 1)):
            label = f"{menu.name}, {'one core' if cores == 1 else 'two cores'}"
            sizes[label] = [_alone(folder, menu, events, cores) for events in EVENTS]
            _report(label, "events", EVENTS, sizes[label])
        triggers = []
        for number in TRIGGERS:
            file = folder / f"{number}.toml"
            file.write_text(menu_of(number))
            triggers.append(_alone(folder, file, MEDIUM, 1))
        _report("thresholds and combinations, one core", "triggers", TRIGGERS, triggers)
        _report_workers(folder)
    _draw(sizes, triggers)


def _alone(folder: Path, menu: Path, events: int, cores: int) -> Measured:
    """Measure in a process that does nothing else."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, folder, menu, events, cores).result()


def _measure(folder: Path, menu: Path, events: int, cores: int) -> Measured:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    before = _memory("VmRSS")
    read = trigemu.read_menu(menu)
    trigemu.run(read, trigemu.open_catalogue(folder / str(SMALL) / CATALOGUE))
    catalogue = trigemu.open_catalogue(folder / str(events) / CATALOGUE)
    seconds = min(_timed(lambda: trigemu.run(read, catalogue)) for _ in range(ROUNDS))
    return Measured(events, seconds, before, _memory("VmHWM"))


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _memory(key: str) -> float:
    return int(re.findall(rf"{key}:\s*(\d+) kB", Path("/proc/self/status").read_text())[0]) / 1024


def _report(what: str, axis: str, numbers: tuple[int, ...], measured: list[Measured]) -> None:
    sys.stdout.write(f"{what}\n{axis:>12} {'ns/event':>10} {'MB before':>10} {'MB peak':>8}\n")
    for number, m in zip(numbers, measured, strict=True):
        sys.stdout.write(f"{number:12,} {m.nanoseconds:10.1f} {m.before:10.0f} {m.peak:8.0f}\n")
    sys.stdout.flush()


def _report_workers(folder: Path) -> None:
    """Return the best of ROUNDS with one worker and with two, in turns."""
    menu = trigemu.read_menu(PRIMARY)
    warm, catalogue = (trigemu.open_catalogue(folder / str(n) / CATALOGUE) for n in (MEDIUM, LARGE))
    cores = sorted(os.sched_getaffinity(0))
    with worker_pool(1) as one, worker_pool(2) as two:
        pools = (one, two)
        for pool in pools:
            for _ in range(2):  # until all workers have loaded what they need
                trigemu.emulate([menu], warm, executor=pool)
        for pid, core in zip(pool_workers(), (*cores[:1], *cores), strict=True):
            hold(pid, [core])
        runs = [
            [
                LARGE / _timed(lambda pool=pool: trigemu.emulate([menu], catalogue, executor=pool))
                for pool in pools
            ]
            for _ in range(ROUNDS)
        ]
    alone, together = (max(rates) for rates in zip(*runs, strict=True))
    sys.stdout.write(
        f"{PRIMARY.name}, {LARGE:,} events, a core a worker, start-up excluded\n"
        f"one worker {alone / 1e6:.2f} M events/s, two {together / 1e6:.2f} M events/s: "
        f"{together / alone:.2f} ×\n"
    )


def _draw(sizes: dict[str, list[Measured]], triggers: list[Measured]) -> None:
    from trigemu.results.figures import style

    with style.figure(15.0, 4.8) as (figure, axes):
        axes.remove()
        times, memory, against = figure.subplots(1, 3)
        for (label, measured), colour in zip(sizes.items(), style.COLOURS, strict=False):
            times.plot(EVENTS, [m.nanoseconds for m in measured], "o-", color=colour, label=label)
            memory.plot(EVENTS, [m.peak for m in measured], "o-", color=colour)
        before = min(m.before for measured in sizes.values() for m in measured)
        memory.axhline(before, color=GREY, ls=":", label="imports alone")
        nanoseconds = [m.nanoseconds for m in triggers]
        against.plot(TRIGGERS, nanoseconds, "o-", color=style.COLOURS[0], label="one core")
        ends = slice(None, None, len(TRIGGERS) - 1)
        against.plot(TRIGGERS[ends], nanoseconds[ends], ":", color=GREY, label="straight between the ends")
        for panel, x, y in (
            (times, "events", "time per event [ns]"),
            (memory, "events", "peak memory [MB]"),
            (against, "triggers", "time per event [ns]"),
        ):
            panel.set(xlabel=x, ylabel=y, xscale="linear" if x == "triggers" else "log")
            panel.margins(x=0.05)
            panel.set_ylim(0, 1.25 * panel.get_ylim()[1])
            panel.legend(fontsize=11)
        style.save(figure, PICTURE)


if __name__ == "__main__":
    main()
