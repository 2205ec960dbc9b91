"""One contender, in a process of its own: a first run, and a second one for the time without start-up.

python worker.py MODULE FILE MENU THREADS TRIGGERS        (run.py calls it)

Prints a line of JSON: processor time until the end of the first run, start-up included; processor time and
time on the clock of the second run, in s; rates by trigger; Σw by pattern, of tools that count patterns here.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from pathlib import Path

from patterns import Trigger, rates

GIVES_RATES = ("in_trigemu", "in_memory")


def main(module: str, file: str, menu: str, threads: str, triggers: str) -> None:
    tool = importlib.import_module(module)
    arguments = Path(file), menu, int(threads)
    listed = [Trigger(*trigger) for trigger in json.loads(triggers)]
    counted = {}

    def run() -> dict[str, tuple[float, float]]:
        if module in GIVES_RATES:
            return tool.rates(*arguments)
        counted.update(tool.patterns(*arguments))
        return rates(counted, listed)

    run()
    first, start = _processor(), time.perf_counter()
    found = run()
    clock, second = time.perf_counter() - start, _processor() - first
    result = {"first": first, "second": second, "clock": clock, "rates": found, "patterns": counted}
    print(json.dumps(result))  # noqa: T201


def _processor() -> float:
    """Return the seconds of processor of this process and of its children that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)  # os.times counts in steps of 10 ms


if __name__ == "__main__":
    main(*sys.argv[1:])
