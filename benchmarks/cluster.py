"""The speed-up of a cluster: two workers, a core each, against one process on one core; the client's load.

    python benchmarks/cluster.py [--events 1e7] [--rounds 5] [--menu menus/full.toml]

Two processes that run the whole at the same time show what two cores of this machine can do. The workers are
those of `worker_pool`, then two processes `dask worker` with a scheduler of their own, so that the CPU time
of this process is the client's alone. All have processed events before anything is timed.
Printed are the speed-up, the client's CPU time per task and as a share of the time that a task takes, the
bytes of a task and of what it returns, and how many cores would keep the client busy. Exit status 1 where the
speed-up is below 1.8, or the share above 1 %. Linux, two cores.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from repeat import write_repeated
from running import ROOT, catalogue_text, dask_cluster, hold, linked, whole_run

import trigemu
from trigemu.base.mapping import Engine
from trigemu.base.processes import worker_pool

#: Events of a file.
FILE = 1_000_000
REQUIRED_SPEED_UP, MAX_SHARE = 1.8, 0.01


def timed(function: Callable[..., Any], /, *arguments: Any) -> tuple[float, Any]:
    """Return the time of a call, and its result."""
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


@dataclass
class Observed:
    """An executor, with the times of its tasks. sizes: whether bytes are counted, which takes time."""

    inner: Any
    number: int = 2
    sizes: bool = False
    seconds: list[float] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> _Future:
        if self.sizes:
            self.sent.append(len(pickle.dumps(arguments)))
        return _Future(self, self.inner.submit(timed, function, *arguments))


@dataclass
class _Future:
    executor: Observed
    future: Any

    def result(self) -> Any:
        seconds, outcome = self.future.result()
        self.executor.seconds.append(seconds)
        if self.executor.sizes:
            self.executor.received.append(len(pickle.dumps(outcome)))
        return outcome

    def cancel(self) -> None:
        self.future.cancel()


def run(menu: trigemu.Menu, catalogue: trigemu.Catalogue, executor: Any) -> tuple[float, float]:
    """Return the wall time and the CPU time of this process, from an open catalogue to a table."""
    wall, cpu = time.perf_counter(), time.process_time()
    trigemu.emulate([menu], catalogue, executor=executor)
    return time.perf_counter() - wall, time.process_time() - cpu


def report(menu: trigemu.Menu, warm: Path, large: Path, rounds: int) -> bool:
    """Print the table of a menu; return whether it meets the requirements."""
    cores = sorted(os.sched_getaffinity(0))
    samples, first = trigemu.open_catalogue(large), trigemu.open_catalogue(warm)
    events = sum(sample.entries for sample in samples.background)
    good = True
    with ExitStack() as stack:
        pool = stack.enter_context(worker_pool(2))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address, dask_workers = stack.enter_context(dask_cluster(scratch, 2))
        from distributed import Client

        client = stack.enter_context(Client(scheduler_file=address, set_as_default=False))
        engines = {"two processes": pool, "dask": Engine(client).executor}
        for executor in (None, *engines.values()):
            for _ in range(2):
                run(menu, first, executor)
        workers = {"two processes": pool_workers(), "dask": dask_workers}
        for pids in workers.values():
            for core, pid in zip(cores, pids, strict=False):
                hold(pid, [core])
        times: dict[str, list[tuple[float, float, Observed]]] = {
            name: [] for name in ("one process", *engines)
        }
        arguments = str(menu.path), str(large)
        both: list[float] = []
        for _ in range(rounds):
            both.append(max(f.result() for f in [pool.submit(whole_run, *arguments) for _ in cores[:2]]))
            hold(os.getpid(), cores[:1])
            times["one process"].append((*run(menu, samples, None), Observed(None)))
            hold(os.getpid(), cores)
            for name, executor in engines.items():
                observed = Observed(executor)
                times[name].append((*run(menu, samples, observed), observed))
        sizes = {name: Observed(executor, sizes=True) for name, executor in engines.items()}
        for observed in sizes.values():
            run(menu, samples, observed)
    alone = min(wall for wall, *_ in times["one process"])
    _say(
        f"{menu.name}, {events:,} events, best of {rounds}: one process {events / alone / 1e6:.2f} M/s, "
        f"two independent processes {2 * alone / min(both):.2f} ×: the limit of these cores"
    )
    for name in engines:
        wall, _, _ = min(times[name], key=lambda each: each[0])
        cpu = median(cpu / len(observed.seconds) for _, cpu, observed in times[name])
        busy = median(sum(observed.seconds) / len(observed.seconds) for *_, observed in times[name])
        observed = sizes[name]
        _say(
            f"  {name:14} {events / wall / 1e6:6.2f} M events/s, {alone / wall:.2f} × one process; "
            f"{len(observed.seconds)} tasks of {busy:.2f} s; client {1e3 * cpu:.1f} ms CPU a task, "
            f"{cpu / busy:.2%}; {median(observed.sent) / 1e3:.1f} kB sent, "
            f"{median(observed.received) / 1e3:.1f} kB received; "
            f"one client feeds {busy / cpu:.0f} cores"
        )
        good &= alone / wall >= REQUIRED_SPEED_UP and cpu / busy <= MAX_SHARE
    return good


def pool_workers() -> list[int]:
    """Return the processes of the workers of this process, in order."""
    parent = {int(entry.name): _parent(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    return sorted(pid for pid, of_pid in parent.items() if parent.get(of_pid) == os.getpid())


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it ended
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=float, default=1e7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--menu", type=Path, action="append", help="Default: primary, full and decade.")
    options = parser.parse_args()
    menus = options.menu or [ROOT / "menus" / f"{name}.toml" for name in ("primary", "full", "decade")]
    with tempfile.TemporaryDirectory(prefix="trigemu-cluster-") as root:
        folder = Path(root)
        write_repeated(folder / "made", FILE)
        files = linked(
            folder / "files", [folder / "made" / "repeated.root"], max(2, round(options.events / FILE))
        )
        warm, large = folder / "files" / "warm.toml", folder / "files" / "large.toml"
        warm.write_text(catalogue_text(files[:2]))
        large.write_text(catalogue_text(files))
        good = [report(trigemu.read_menu(menu), warm, large, options.rounds) for menu in menus]
        return int(not all(good))


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
