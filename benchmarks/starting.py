"""Start-up times: import, version, help, the first and the second run of a menu, of one or more installations
in turn. A first run has no compiled code. All files are in the memory of the system.

python benchmarks/starting.py [--rounds 5] PYTHON [PYTHON …]        (of each installation; from the root)

Prints the medians of processor time and of the time on the clock, and the ratio of the former to that of the
first installation.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

RUN = ("-m", "trigemu", "run")
COMMANDS = {
    "import trigemu": ("-c", "import trigemu"),
    "version": ("-m", "trigemu", "--version"),
    "help": ("-m", "trigemu", "--help"),
    "primary.toml": (*RUN, "menus/primary.toml"),
    "decade.toml": (*RUN, "menus/decade.toml"),
}


def timed(python: str, command: tuple[str, ...], cache: str) -> tuple[float, float]:
    """Return the processor time and the elapsed time in s, with this folder for compiled code."""
    dropped = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "TRIGEMU_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    environment |= {"NUMBA_CACHE_DIR": cache, "XDG_CACHE_HOME": cache}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([python, *command], env=environment, capture_output=True, check=True)
    took, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=COMMANDS, nargs="+", default=list(COMMANDS))
    options = parser.parse_args()
    times_of: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for python in options.python:  # the files into memory, the byte code to the disk
        timed(python, COMMANDS["help"], tempfile.gettempdir())
    for _ in range(options.rounds):
        for name in options.only:
            for python in options.python:
                with tempfile.TemporaryDirectory() as cache:
                    times = ["first", "second"] if name.endswith(".toml") else [""]
                    for which in times:
                        key = f"{name} {which}".strip(), python
                        times_of[key].append(timed(python, COMMANDS[name], cache))
    for name in dict.fromkeys(name for name, _ in times_of):
        reference = statistics.median(cpu for cpu, _ in times_of[name, options.python[0]])
        for python in options.python:
            cpu, clock = (statistics.median(column) for column in zip(*times_of[name, python], strict=True))
            parent = Path(python).parents[1].name
            print(f"{name:22} {parent:10} {cpu:7.2f} s  {clock:7.2f} s  {cpu / reference:.2f}")  # noqa: T201


if __name__ == "__main__":
    main()
