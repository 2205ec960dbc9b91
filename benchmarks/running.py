"""Common parts of the benchmarks of engines: commands and their processes, numbers of outputs, linked
samples."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kills import MARK, living

import trigemu
from trigemu.samples import opening

ROOT = Path(__file__).parents[1]
#: Seconds until a cluster answers.
PATIENCE_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")
# Many files of a benchmark are links to a few, and a catalogue must not have a file twice.
opening.check_files = lambda samples: None


def numbers(document: str) -> str:
    """Return a JSON document without its provenance."""
    return json.dumps(_without(json.loads(document), "provenance"), indent=1)


def _without(node: Any, key: str) -> Any:
    if isinstance(node, dict):
        return {name: _without(value, key) for name, value in node.items() if name != key}
    return [_without(item, key) for item in node] if isinstance(node, list) else node


class Marked:
    """Processes that share an inherited variable, or a session: workers of dask write their title over their
    variables."""

    def __init__(self) -> None:
        self._name, self._value = MARK, uuid.uuid4().hex
        self._sessions: set[int] = set()

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        environment = {**os.environ, self._name: self._value}
        options["start_new_session"] = True
        process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **options)
        self._sessions.add(process.pid)
        return process

    def living(self) -> list[int]:
        return sorted({*living(f"{self._name}={self._value}"), *self._of_sessions()})

    def _of_sessions(self) -> Iterator[int]:
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit():
                    state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                    if int(session) in self._sessions and state != "Z":
                        yield int(entry.name)

    def gone(self, patience: float) -> list[int]:
        """Return the processes that are left after some seconds."""
        until = time.monotonic() + patience
        while (pids := self.living()) and time.monotonic() < until:
            time.sleep(0.1)
        return pids


def trigemu_command(*arguments: str) -> tuple[str, ...]:
    return sys.executable, "-m", "trigemu", *arguments


def line_of(pid: int) -> str:
    """Return the command line of a process; "" if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, with its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process; 0 if it has ended."""
    with suppress(OSError):
        result = re.findall(r"VmRSS:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(result[0]) / 1024 if result else 0.0
    return 0.0


def hold(pid: int, cores: list[int]) -> None:
    """Restrict all threads of a process, and those they start, to some cores."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cores)


@contextmanager
def dask_cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[int]]]:
    """Start a scheduler and workers, each in its own process; yield the file with its address, and the
    process numbers of the workers."""
    from distributed import Client

    marked, file = Marked(), folder / "scheduler.json"
    here = "--host", "127.0.0.1"
    quiet: Mapping[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": (folder / "dask.log").open("w")}
    dask = sys.executable, "-m", "dask"
    started = [
        marked.start(
            *dask, "scheduler", *here, "--port", "0", "--no-dashboard", "--scheduler-file", str(file), **quiet
        )
    ]
    for _ in range(workers):
        alone = "--nthreads", "1", "--nworkers", "1", "--no-nanny", "--no-dashboard"
        worker = *dask, "worker", "--scheduler-file", str(file), *here, *alone
        started.append(marked.start(*worker, "--local-directory", str(folder), **quiet))
    try:
        until = time.monotonic() + PATIENCE_S
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(workers, PATIENCE_S)
        yield str(file), [process.pid for process in started[1:]]
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def linked(folder: Path, files: list[Path], number: int) -> list[str]:
    """Make hard links to files, in turn; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{n:05}{files[n % len(files)].suffix}" for n in range(number)]
    for n, name in enumerate(names):
        os.link(files[n % len(files)], folder / name)
    return names


def catalogue_text(files: list[str], *more: str) -> str:
    """Return a catalogue of one background sample."""
    return "\n".join(
        [
            '[catalogue]\nname = "repeated"\nconvention = "crossing"',
            '[[sample]]\nname = "repeated"\nrole = "background"\nrate_hz = 40e6',
            f"files = {json.dumps(files)}",
            *more,
            "",
        ]
    )


def whole_run(menu: str, catalogue: str) -> float:
    """Run a menu in this process; return the seconds, with the menu and the files already open."""
    read, samples = trigemu.read_menu(menu), trigemu.open_catalogue(catalogue)
    start = time.perf_counter()
    trigemu.run(read, samples)
    return time.perf_counter() - start
