"""The time of the first decision on a machine without compiled code, and with it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trigemu_anomaly import children

from trigemu.base.errors import TrigemuError

#: Far more than any menu needs.
_LIMITS = children.Limits(seconds=900, memory=32 * 2**30)


@dataclass(frozen=True)
class FirstDecision:
    """The time from the start of Python to the decision of a first event by a stream."""

    compiled: float  #: In s, without any compiled code
    kept: float  #: In s, in a second process with the compiled code of the first
    kernels: int  #: The number of functions that were compiled, not counting models


def first_decision(
    menu: Path,
    samples: Path | str | None,
    tree: str | None,
    folders: Sequence[Path],
    skip_missing: bool = False,
) -> FirstDecision:
    """Decide an event twice, each time in a new process, with a cache that is empty at first.

    tree: that of the samples, if they are a file. folders: the search path of plugins. skip_missing: whether
    to leave out triggers that the samples cannot feed. Raises TrigemuError if a process fails."""
    given = [str(menu), samples and str(samples), tree, [*map(str, folders)], skip_missing]
    with TemporaryDirectory(prefix="trigemu-") as cache:
        compiled, kept = (_decided(cache, given) for _ in range(2))
        kernels = len(list(Path(cache, "trigemu").iterdir()))
    return FirstDecision(compiled, kept, kernels)


def _decided(cache: str, given: Sequence[object]) -> float:
    """Return the time in s."""
    arguments = json.dumps([cache, time.time(), *given])
    done = children.run_limited([sys.executable, "-P", "-m", __name__, arguments], Path.cwd(), _LIMITS)
    if done.code:
        last_line = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise TrigemuError(f"the first decision could not be timed: {' '.join(last_line)}")
    return float(done.stdout)


def main() -> int:
    cache, begin, menu, samples, tree, folders, skip_missing = json.loads(sys.argv[1])
    os.environ |= {"NUMBA_CACHE_DIR": cache, "TRIGEMU_CACHE_DIR": f"{cache}/models"}
    from trigemu.emulation.plan import make_plan
    from trigemu.emulation.runnable import fed_menu
    from trigemu.menus.read import read_menu
    from trigemu.samples.opening import open_catalogue
    from trigemu_latency.stream.stream import Stream

    catalogue = open_catalogue(samples, tree=tree)
    read = read_menu(Path(menu), [*map(Path, folders)])
    plan = make_plan(fed_menu(read, catalogue) if skip_missing else read)
    sample = catalogue.background[0]
    events = sample.read(0, 0, min(16, sample.entries), plan.needs, plan.margin)
    Stream(plan, events).decide(events.core.start or 0)
    sys.stdout.write(str(time.time() - begin))
    return 0


if __name__ == "__main__":
    sys.exit(main())
