"""Interrupt commands at random moments, and check what remains.

    python benchmarks/kills.py --cases 200 --seed 1

Each case starts a command and ends it in one of these ways: SIGINT, SIGTERM or SIGKILL for the parent, the
same for its group, SIGKILL for one of its children, or a limit on the size of files, as a full disk.
Afterwards:

- no process of the command is left after a few seconds;
- the output is the old one, or the whole new one, and there is no temporary file; after SIGKILL of the parent
  there may be, until the command runs again;
- nothing on stderr is a traceback, and the exit status is a documented one;
- the command, run again, gives the same output to the byte, and leaves no temporary file.

The same seed gives the same cases; at which instruction a process is hit depends on the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = "TRIGEMU_KILLS"
#: Seconds that processes may live after the parent.
PATIENCE = 5.0
TEMPORARY = (".trigemu-", "tmp")
STATUS = {
    # A shell shows −2 and −15 as 130 and 143: signals that came when Python had given its handlers back.
    "SIGINT": {0, 130, -2},
    "SIGTERM": {0, 143, -15},
    "SIGKILL": {0, -9},
    "child": {0, 1, 2},
    "full": {0, 2},
}
WAYS = ("SIGINT", "SIGINT group", "SIGTERM", "SIGTERM group", "SIGKILL", "SIGKILL group", "child", "full")
GENERATED = """
name = "tiny"
seed = 7
luminosity_cm2s = 1e34

[fakes]
probability = 0.5

[[slice]]
name = "hard"
description = "QCD jets"
settings = ["HardQCD:all = on", "PhaseSpace:pTHatMin = 50."]
blocks = 4
block_size = 60
"""
TRAINED = """
[training]
menu = "others.toml"
requires = "n_jet >= 1"
unique_rate_hz = 8.0e6

[autoencoder]
epochs = 2
hidden = [3]

[[autoencoder.inputs]]
observables = ["n_jet", "met"]

[quantile]
x = ["jet[0].pt"]
"""
TRIGGER = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\n'
CATALOGUE = """
[catalogue]
name = "toys"
convention = "crossing"

[[sample]]
name = "a"
role = "background"
files = ["a.root", "b.root", "c.root"]
rate_hz = 40e6
"""


@dataclass(frozen=True)
class Command:
    """A command: its arguments, with the paths of its outputs."""

    name: str
    arguments: Callable[[Path], list[str]]
    outputs: tuple[str, ...]
    fresh: bool = False  # it makes a new folder, where none may be


def commands(inputs: Path) -> list[Command]:
    """Return all commands that write, those with --workers with one and two workers."""
    menu, decade = str(inputs / "others.toml"), str(inputs / "menu.toml")
    on = ("--samples", str(inputs / "catalogue.toml"))

    def of(*given: str) -> Callable[[Path], list[str]]:
        return lambda folder: [part.replace("@", str(folder)) for part in given]

    train = of("decade", "train", str(inputs / "train.toml"), *on, "-o", "@/made")
    result = [
        Command("import", of("import", "cms-l1", str(inputs / "l1.xml"), "-o", "@/x.toml"), ("x.toml",)),
        Command("decade train", train, ("made/decade.toml",)),
    ]
    for workers in ("1", "2"):
        more = (*on, "--workers", workers)
        budget, tiny = str(inputs / "budget.toml"), str(inputs / "tiny.toml")
        export = of("firmware", "export", decade, "--trigger", "AD", "-o", "@/made", *more)
        compared = of("compare", menu, decade, "--json", "@/x.json", *more)
        generated = of("generate", tiny, "-o", "@/made", "--workers", workers)
        result += [
            Command(f"run {workers}", of("run", decade, "--json", "@/x.json", *more), ("x.json",)),
            Command(f"compare {workers}", compared, ("x.json",)),
            Command(f"report {workers}", of("report", menu, "-o", "@/x.html", *more), ("x.html",)),
            Command(f"calibrate {workers}", of("calibrate", budget, "-o", "@/x.toml", *more), ("x.toml",)),
            Command(f"generate {workers}", generated, ("made/catalogue.toml", "made/hard.root")),
            Command(f"firmware export {workers}", export, ("made",), fresh=True),
        ]
    return result


def prepare(folder: Path) -> None:
    """Write the inputs of the commands: toy events, menus, and a trained set."""
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from toys import toy_events, write_root

    for number, name in enumerate("abc"):
        write_root(folder / f"{name}.root", toy_events(number, 4000))
    (folder / "catalogue.toml").write_text(CATALOGUE)
    (folder / "tiny.toml").write_text(GENERATED)
    (folder / "train.toml").write_text(TRAINED)
    (folder / "others.toml").write_text(f"{TRIGGER}above = 60.0\n")
    (folder / "budget.toml").write_text(f"{TRIGGER}total_rate_hz = 1e5\n")
    decade = f'[menu]\nplugins = ["decade"]\n{TRIGGER}above = 60.0\n'
    decade += '[[trigger]]\nname = "AD"\nkind = "decade"\ncard = "decade.toml"\nabove = 0.0\n'
    (folder / "menu.toml").write_text(decade)
    training = "decade", "train", str(folder / "train.toml"), "--samples", str(folder / "catalogue.toml")
    subprocess.run(
        [sys.executable, "-m", "trigemu", *training], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    packed = Path(os.environ["TRIGEMU_TEST_DATA"]) / "cms_l1" / "L1Menu_Collisions2016_v8_m2.xml.xz"
    (folder / "l1.xml").write_bytes(lzma.decompress(packed.read_bytes()))


def state(folder: Path, command: Command) -> dict[str, str]:
    """Return the digest of each file of the output."""
    result = {}
    for name in command.outputs:
        path = folder / name
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        if name == "made/decade.toml" and path.is_file():  # with the folder that it names
            text = path.read_text()
            inside += [
                file for file in sorted((folder / "made").glob("decade-*/*")) if file.parent.name in text
            ]
        for file in inside:
            if file.is_file():
                result[str(file.relative_to(folder))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return result


def temporary(folder: Path) -> list[str]:
    return [str(p.relative_to(folder)) for p in folder.rglob("*") if p.name.startswith(TEMPORARY)]


def living(mark: str) -> Iterator[int]:
    """The processes of a case, recognised by a variable that they inherit."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            ours = entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes()
            if ours and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                yield int(entry.name)


class Case:
    """A command in its own folder."""

    def __init__(self, command: Command, folder: Path, cache: Path) -> None:
        self.command, self.folder, self.cache = command, folder, cache
        self.mark = f"{MARK}={uuid.uuid4().hex}"

    def start(self, limit: int | None = None) -> subprocess.Popen[str]:
        def child() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        name, _, value = self.mark.partition("=")
        own = {name: value, "XDG_CACHE_HOME": str(self.cache), "TMPDIR": str(self.folder)}
        return subprocess.Popen(
            [sys.executable, "-m", "trigemu", *self.command.arguments(self.folder)],
            cwd=ROOT,
            env={**os.environ, **own},
            stdout=subprocess.DEVNULL,
            stderr=(self.folder.parent / "stderr").open("w"),
            text=True,
            start_new_session=True,
            preexec_fn=child,
        )

    def end(self, ran: subprocess.Popen[str], way: str, chance: random.Random) -> int:
        kind, _, group = way.partition(" ")
        if kind == "child":
            others = [pid for pid in living(self.mark) if pid != ran.pid]
            if others:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(sorted(others)), signal.SIGKILL)
        elif kind != "full" and ran.poll() is None:
            (os.killpg if group else os.kill)(ran.pid, getattr(signal, kind))
        return ran.wait(120)

    def left(self) -> list[int]:
        until = time.monotonic() + PATIENCE
        while (pids := list(living(self.mark))) and time.monotonic() < until:
            time.sleep(0.1)
        return pids


def judge(case: Case, way: str, status: int, old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    """Yield the mistakes after an interruption."""
    kind = way.partition(" ")[0]
    if pids := case.left():
        yield f"processes left: {len(pids)}"
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    if status not in STATUS[kind]:
        yield f"status {status}"
    messages = (case.folder.parent / "stderr").read_text()
    if "Traceback" in messages or "Exception" in messages:
        yield "traceback"
    result = state(case.folder, case.command)
    parts = case.command.name.startswith("generate")  # several files, each of which is old or new
    if not (result in (old, new) or (parts and all(result[n] in (old.get(n), new.get(n)) for n in result))):
        yield "neither old nor new"
    if kind != "SIGKILL" and (names := temporary(case.folder)):
        yield f"temporary: {names[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="Commands that begin so.")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    table: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="trigemu-kills-") as root:
        inputs, cache = Path(root) / "inputs", Path(root) / "cache"
        inputs.mkdir()
        cache.mkdir()
        prepare(inputs)
        selected = [c for c in commands(inputs) if c.name.startswith(options.only)]
        reference: dict[str, tuple[dict[str, str], float]] = {}
        for number in range(options.cases):
            command, way = chance.choice(selected), chance.choice(WAYS)
            moment, bytes_written, victim = chance.random(), chance.randrange(0, 20_000), chance.random()
            folder = Path(root) / "work"
            if command.name not in reference:
                folder.mkdir()
                begun = time.monotonic()
                case = Case(command, folder, cache)
                if case.start().wait() != 0:
                    sys.exit(f"{command.name}: {(folder.parent / 'stderr').read_text()}")
                reference[command.name] = state(folder, command), time.monotonic() - begun
                shutil.rmtree(folder)
            new, seconds = reference[command.name]
            folder.mkdir()
            case = Case(command, folder, cache)
            if not command.fresh:
                for name in command.outputs:
                    (folder / name).parent.mkdir(exist_ok=True)
                    (folder / name).write_text("old\n")
            old = state(folder, command)
            ran = case.start(bytes_written if way == "full" else None)
            if way != "full":
                time.sleep(moment * seconds)
            status = case.end(ran, way, random.Random(victim))
            wrong = list(judge(case, way, status, old, new))
            if command.fresh:
                shutil.rmtree(folder / "made", ignore_errors=True)
            again = Case(command, folder, cache).start().wait()
            if again or state(folder, command) != new:
                wrong.append(f"rerun differs (status {again})")
            if names := temporary(folder):
                wrong.append(f"temporary after rerun: {names[0]}")
            shutil.rmtree(folder)
            row = table.setdefault(command.name, Counter())
            row["cases"] += 1
            row["done"] += status == 0
            row["wrong"] += bool(wrong)
            for one in wrong:
                where = f"{number}: {command.name}, {way}, at {moment:.2f} of {seconds:.1f} s"
                print(f"{where}: {one}", flush=True)  # noqa: T201
    print(f"{'command':20}{'cases':>7}{'done':>7}{'wrong':>7}")  # noqa: T201
    for name, row in sorted(table.items()):
        print(f"{name:20}{row['cases']:7}{row['done']:7}{row['wrong']:7}")  # noqa: T201
    sys.exit(any(row["wrong"] for row in table.values()))


if __name__ == "__main__":
    main()
