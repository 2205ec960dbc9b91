"""Resident memory of the client and of its workers while 10⁸ events are processed: it must stay flat.

    python benchmarks/memory.py [--events 1e8] [--menu menus/full.toml] [--engine dask]

Links to one file of 3 million events (81 MB). Printed are the medians around 10 %, 50 % and 100 % of the
events, for one process, two processes, and two dask workers with a scheduler of their own. Exit status 1
where a process has more at 100 % than at 10 %, by more than a tenth and 32 MB.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any

from cluster import pool_workers
from repeat import write_repeated
from running import ROOT, catalogue_text, dask_cluster, linked, resident_mb

import trigemu
from trigemu.base.mapping import Engine
from trigemu.base.processes import dask_client, worker_pool

FILE = 3_000_000
SHARES = (0.1, 0.5, 1.0)
#: The width of the window around a share, as a share of all events.
AROUND = 0.05


class Sampled:
    """Memory of processes, a few times a second. workers: returns their process numbers."""

    def __init__(self, workers: Callable[[], list[int]], total: int) -> None:
        self._workers, self._total, self._done = workers, total, 0
        self._rows: list[tuple[float, float, float]] = []
        self._end = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sampled:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def progress(self, events: int) -> None:
        self._done += events

    def _run(self) -> None:
        while not self._end.wait(0.1):
            most = max(map(resident_mb, self._workers()), default=0.0)
            self._rows.append((self._done / self._total, resident_mb(os.getpid()), most))

    def at(self, share: float) -> tuple[float, float]:
        """Return the MB of the client and of the larger worker."""
        chosen = [row for row in self._rows if abs(row[0] - share) < AROUND] or [
            min(self._rows, key=lambda row: abs(row[0] - share))
        ]
        return median(row[1] for row in chosen), median(row[2] for row in chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=float, default=1e8)
    parser.add_argument("--menu", type=Path, default=ROOT / "menus" / "full.toml")
    parser.add_argument("--engine", default="", help="Engines whose name begins so.")
    options = parser.parse_args()
    menu, good = trigemu.read_menu(options.menu), True
    with tempfile.TemporaryDirectory(prefix="trigemu-memory-") as root:
        folder = Path(root)
        write_repeated(folder / "made", FILE)
        sources = [folder / "made" / "repeated.root"]
        names = linked(folder / "files", sources, max(1, round(options.events / FILE)))
        catalogue = folder / "files" / "catalogue.toml"
        catalogue.write_text(catalogue_text(names))
        _say(f"{menu.name}, {len(names) * FILE:,} events: resident MB of client / larger worker")
        _say(f"{'':16}" + "".join(f"{f'at {share:.0%}':>16}" for share in SHARES) + f"{'seconds':>10}")
        for engine in ("one process", "two processes", "dask"):
            if not engine.startswith(options.engine):
                continue
            with ExitStack() as stack:
                executor: Any = None
                workers: Callable[[], list[int]] = list
                if engine == "two processes":
                    executor, workers = stack.enter_context(worker_pool(2)), pool_workers
                elif engine == "dask":
                    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                    address, pids = stack.enter_context(dask_cluster(scratch, 2))
                    executor, workers = stack.enter_context(dask_client(address)), lambda pids=pids: pids
                samples = trigemu.open_catalogue(catalogue, executor=executor)
                start = time.monotonic()
                with Sampled(workers, samples.background[0].entries) as memory:
                    passes = 1 + bool(menu.budgeted)
                    assert passes == 1, "a menu without budgets: shares are of one pass"
                    trigemu.emulate([menu], samples, executor=Engine(executor, progress=memory.progress))
                seconds = time.monotonic() - start
            peaks = [memory.at(share) for share in SHARES]
            _say(
                f"{engine:16}" + "".join(f"{f'{a:.0f} / {b:.0f}':>16}" for a, b in peaks) + f"{seconds:10.0f}"
            )
            pairs = zip(peaks[0], peaks[-1], strict=True)
            good &= all(last <= max(1.1 * first, first + 32) for first, last in pairs)
    return int(not good)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
