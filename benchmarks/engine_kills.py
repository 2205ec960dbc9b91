"""Kill workers and clients at random moments, and check the results.

    python benchmarks/engine_kills.py --moments 20 --seed 1 [--events 3e6] [--only "worker, two"]

Each moment kills one process of `trigemu run … --json` by SIGKILL:

- a worker of two, of `--workers 2`: the run ends with status 0 and the same JSON;
- the client, with `--checkpoint` and one process or two: no process is left after a few seconds. The
  same command, run once more, gives the same JSON. The files of tasks that were there when the client died
  are as they were, no other file has a part that they have, all together have every event once, and no
  temporary file is left.

Moments are drawn between the first worker and the end of a run that nobody disturbs. Exit status 1 where
something differs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kills import temporary
from repeat import CATALOGUE, write_repeated
from running import ROOT, Marked, line_of, numbers, trigemu_command

import trigemu.emulation.loop  # noqa: F401  # loads the classes of results
from trigemu.base.checkpoint import load_result

#: Seconds that processes may live after the client.
PATIENCE = 15.0
#: Parts of the command lines of workers.
WORKERS = ("import work", "spawn_main")
ENGINES = {
    "one process": [],
    "two processes": ["--workers", "2"],
}


@dataclass
class Case:
    """One run in its own folder. first: seconds until the first worker; seconds: until the end."""

    engine: str
    folder: Path
    inputs: Path
    menu: Path
    checkpoint: bool

    def start(self) -> tuple[Marked, subprocess.Popen[str]]:
        marked = Marked()
        arguments = ["run", str(self.menu), "--samples", str(self.inputs / CATALOGUE), *ENGINES[self.engine]]
        arguments += ["--json", str(self.folder / "x.json")]
        arguments += ["--checkpoint", str(self.folder / "kept")] if self.checkpoint else []
        started = marked.start(
            "env",
            f"TMPDIR={self.folder}",
            *trigemu_command(*arguments),
            stdout=subprocess.DEVNULL,
            stderr=(self.folder.parent / "stderr").open("w"),
        )
        return marked, started

    @property
    def result(self) -> str:
        file = self.folder / "x.json"
        return numbers(file.read_text()) if file.exists() else ""

    @property
    def finished_tasks(self) -> dict[str, tuple[int, int]]:
        """The number and the time of each file of the checkpoint."""
        files = {}
        for file in (self.folder / "kept").glob("*.task"):
            status = file.stat()
            files[file.name] = status.st_ino, status.st_mtime_ns
        return files


def workers_of(marked: Marked) -> list[int]:
    return [pid for pid in marked.living() if any(part in line_of(pid) for part in WORKERS)]


def undisturbed(case: Case) -> tuple[str, float, float]:
    """Return the result, the seconds until the first worker, and the seconds until the end."""
    case.folder.mkdir()
    begun = time.monotonic()
    marked, ran = case.start()
    first = 0.0
    while ran.poll() is None:
        if not first and ENGINES[case.engine] and workers_of(marked):
            first = time.monotonic() - begun
        time.sleep(0.05)
    seconds = time.monotonic() - begun
    if ran.returncode:
        sys.exit(f"{case.engine}: {(case.folder.parent / 'stderr').read_text()}")
    result = case.result
    shutil.rmtree(case.folder)
    return result, first, seconds


def kill_worker(case: Case, moment: float, chance: random.Random) -> Iterator[str]:
    """Kill one worker; yield the mistakes, or how the run ended."""
    marked, ran = case.start()
    time.sleep(moment)
    victims = workers_of(marked)
    if ran.poll() is None and victims:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(victims), signal.SIGKILL)
            yield "hit"
    status = ran.wait(600)
    if status:
        yield f"wrong: status {status}: {(case.folder.parent / 'stderr').read_text()[-300:]}"
    if pids := marked.gone(PATIENCE):
        yield f"wrong: {len(pids)} processes left"


def kill_client(case: Case, moment: float) -> Iterator[str]:
    """Kill the client; run again; yield the mistakes, or how the run ended."""
    marked, ran = case.start()
    time.sleep(moment)
    if ran.poll() is None:
        ran.kill()
        yield "hit"
    ran.wait(600)
    before = case.finished_tasks
    if pids := marked.gone(PATIENCE):
        yield f"wrong: {len(pids)} processes left: {line_of(pids[0])[:100]}"
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    if before:
        yield "with tasks"
    again, ran = case.start()
    if status := ran.wait(600):
        yield f"wrong: status {status}: {(case.folder.parent / 'stderr').read_text()[-300:]}"
    if again.gone(PATIENCE):
        yield "wrong: processes left after the last run"
    after = case.finished_tasks
    if changed := [name for name in before if after.get(name) != before[name]]:
        yield f"wrong: {len(changed)} of {len(before)} finished tasks were done again"
    yield from _check_complete(case)
    if names := temporary(case.folder):
        yield f"wrong: temporary {names[0]}"


def _check_complete(case: Case) -> Iterator[str]:
    """Yield the files of the checkpoint that are damaged."""
    told: list[str] = []
    for path in (case.folder / "kept").glob("*.task"):
        load_result(path, told.append)
    yield from (f"wrong: {message}" for message in told)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=float, default=3e6)
    parser.add_argument("--menu", type=Path, default=ROOT / "menus" / "decade.toml")
    parser.add_argument("--only", default="", help="Cases that begin so, such as: worker, two")
    options = parser.parse_args()
    cases = [("worker", engine) for engine in ENGINES if ENGINES[engine]]
    cases += [("client", engine) for engine in ENGINES]
    table: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="trigemu-kills-") as root:
        inputs, work = Path(root) / "inputs", Path(root) / "work"
        write_repeated(inputs, int(options.events))
        expected = ""
        for who, engine in cases:
            title = f"{who}, {engine}"
            if not title.startswith(options.only):
                continue
            chance = random.Random(f"{options.seed} {title}")
            case = Case(engine, work, inputs, options.menu.resolve(), who == "client")
            result, first, seconds = undisturbed(case)
            expected = expected or result
            row = table.setdefault(title, Counter())
            for _ in range(options.moments):
                moment = chance.uniform(first if who == "worker" else 0.5, 0.95 * seconds)
                work.mkdir()
                findings = [
                    *(kill_worker(case, moment, chance) if who == "worker" else kill_client(case, moment))
                ]
                findings += [] if case.result == expected else ["wrong: other JSON"]
                shutil.rmtree(work)
                row["moments"] += 1
                row["wrong"] += any(text.startswith("wrong") for text in findings)
                row.update(text for text in findings if not text.startswith("wrong"))
                for text in findings:
                    if text.startswith("wrong"):
                        _say(f"{title}, at {moment:.1f} of {seconds:.1f} s: {text}")
    _say(f"{'SIGKILL for':24}{'moments':>9}{'hit':>5}{'with finished tasks':>21}{'wrong':>7}")
    for title, row in table.items():
        with_tasks = str(row["with tasks"]) if title.startswith("client") else ""
        _say(f"{title:24}{row['moments']:9}{row['hit']:5}{with_tasks:>21}{row['wrong']:7}")
    return int(any(row["wrong"] for row in table.values()))


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
