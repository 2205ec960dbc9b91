"""Thousands of small files: the time until the first events are processed and until the end, and the load of
the client.

    python benchmarks/small_files.py [--files 5000] [--events 1000]

Links to a few files, run by one process, two, and two dask workers (a scheduler and workers of their own).
Each client is a new process, which is timed after its imports and those of its workers. uproot opens the
files one after the other. Exit status 1 if two workers take longer than uproot until events are processed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from repeat import write_repeated
from running import ROOT, catalogue_text, dask_cluster, linked

DISTINCT = 8
MENU = ROOT / "menus" / "primary.toml"


def measure(engine: str, catalogue: Path, warm: Path, address: str) -> dict[str, float]:
    """Run in a new process; print the seconds, and the CPU time of this process, for each step."""
    import trigemu
    from trigemu.base.mapping import Engine
    from trigemu.base.processes import dask_client, worker_pool

    with ExitStack() as stack:
        executor: Any = None
        if engine == "two processes":
            executor = stack.enter_context(worker_pool(2))
        elif engine == "dask":
            executor = stack.enter_context(dask_client(address))
        menu = trigemu.read_menu(MENU)
        trigemu.emulate([menu], trigemu.open_catalogue(warm, executor=executor), executor=executor)
        wall, cpu = time.perf_counter(), time.process_time()
        first: list[float] = []

        def progress(events: int) -> None:
            if not first:
                first.append(time.perf_counter() - wall)

        samples = trigemu.open_catalogue(catalogue, executor=executor)
        opened, cpu_opened = time.perf_counter() - wall, time.process_time() - cpu
        table = trigemu.emulate([menu], samples, executor=Engine(executor, progress=progress)).table
        return {
            "opened": opened,
            "first": first[0],
            "all": time.perf_counter() - wall,
            "cpu opened": cpu_opened,
            "cpu": time.process_time() - cpu,
            "events": float(table.n.sum()),
        }


def one_after_the_other(files: list[Path]) -> float:
    import uproot

    start = time.perf_counter()
    for path in files:
        with uproot.open(path) as file:
            assert file["Events"].num_entries
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--events", type=int, default=1000, help="In each file.")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        engine, catalogue, warm, address = options.measure
        _say(json.dumps(measure(engine, Path(catalogue), Path(warm), address)))
        return 0
    with tempfile.TemporaryDirectory(prefix="trigemu-small-") as root:
        folder = Path(root)
        for number in range(DISTINCT):
            write_repeated(folder / f"made{number}", options.events + number)
        sources = [folder / f"made{number}" / "repeated.root" for number in range(DISTINCT)]
        names = linked(folder / "files", sources, options.files)
        catalogue, warm = folder / "files" / "all.toml", folder / "files" / "warm.toml"
        catalogue.write_text(catalogue_text(["*.root"]))
        warm.write_text(catalogue_text(names[:DISTINCT]))
        alone = one_after_the_other([folder / "files" / name for name in names])
        _say(f"{options.files} files; uproot opens one after the other in {alone:.1f} s")
        _say(f"{'':16}{'opened':>9}{'first events':>14}{'all':>8}{'client CPU: opened':>20}{'all':>8}   s")
        rates = {}
        for engine in ("one process", "two processes", "dask"):
            with ExitStack() as stack:
                address = ""
                if engine == "dask":
                    scratch = stack.enter_context(tempfile.TemporaryDirectory())
                    address, _ = stack.enter_context(dask_cluster(Path(scratch), 2))
                command = [sys.executable, __file__, "--measure", engine, str(catalogue), str(warm), address]
                output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
            of = rates[engine] = json.loads(output.splitlines()[-1])
            _say(
                f"{engine:16}{of['opened']:9.1f}{of['first']:14.1f}{of['all']:8.1f}{of['cpu opened']:20.1f}"
                f"{of['cpu']:8.1f}"
            )
    same = len({of["events"] for of in rates.values()}) == 1
    return int(not same or rates["two processes"]["first"] > alone)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
