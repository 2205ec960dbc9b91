"""Check that every engine gives the same JSON, to the byte, for any order in which tasks finish.

    python benchmarks/engines.py [--chunk 20000] [--only decade]

Runs, comparisons, a scan and efficiencies on the embedded sample: in one process, then with each executor.
Tasks are handed over in random order, so that they are done in another order than they are awaited in. Exit
status 1 where a document differs, provenance apart, or where no task came back out of order.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from running import ROOT, numbers

import trigemu
from trigemu.base.mapping import Engine
from trigemu.base.processes import worker_pool
from trigemu.studies import comparison

VARIANTS = ((80, 25), (90, 28), (100, 30), (110, 33), (120, 40))
BUDGET = """
[menu]
name = "budget"

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
total_rate_hz = 1.5e4

[[trigger]]
name = "G"
kind = "threshold"
observable = "photon[0].pt"
unique_rate_hz = 2.0e3
"""
Measure = Callable[[trigemu.Catalogue, Any], dict[str, Any]]


class Shuffled:
    """An executor that submits tasks in random order: all waiting tasks are submitted when one is awaited."""

    def __init__(self, inner: Any, number: int, seed: int) -> None:
        self._inner, self.number, self._chance = inner, number, random.Random(seed)
        self._waiting: list[_Later] = []
        self._lock, self._last = Lock(), -1
        self.tasks = self.overtaken = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> _Later:
        self.tasks += 1
        later = _Later(self, self.tasks, function, arguments)
        self._waiting.append(later)
        return later

    def hand_over(self) -> None:
        self._chance.shuffle(self._waiting)
        while self._waiting:
            later = self._waiting.pop()
            later.future = self._inner.submit(later.function, *later.arguments)
            later.future.add_done_callback(lambda _, number=later.number: self._done(number))

    def _done(self, number: int) -> None:
        with self._lock:
            self.overtaken += number < self._last
            self._last = max(number, self._last)


class _Later:
    """The future of a task that may not have been submitted yet."""

    def __init__(
        self, executor: Shuffled, number: int, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        self._executor, self.number, self.function, self.arguments = executor, number, function, arguments
        self.future: Any = None

    def result(self) -> Any:
        self._executor.hand_over()
        return self.future.result()

    def cancel(self) -> None:
        if self.future:
            self.future.cancel()


@contextmanager
def executors() -> Iterator[dict[str, tuple[Any, int]]]:
    """Yield the executors by name, with their numbers of workers."""
    import loky
    import parsl
    from distributed import Client, LocalCluster
    from parsl.concurrent import ParslPoolExecutor

    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=scratch,
        )
        client = stack.enter_context(Client(stack.enter_context(cluster)))
        threads = parsl.Config(
            executors=[parsl.ThreadPoolExecutor(max_threads=2)], run_dir=scratch, initialize_logging=False
        )
        with_loky = loky.get_reusable_executor(2)
        stack.callback(with_loky.shutdown, kill_workers=True)
        yield {
            "two processes": (stack.enter_context(worker_pool(2)), 2),
            "dask": (client.get_executor(), 2),
            "loky": (with_loky, 2),
            "parsl, threads": (stack.enter_context(ParslPoolExecutor(threads)), 2),
            "threads": (stack.enter_context(ThreadPoolExecutor(3)), 3),
        }


def cases(folder: Path) -> dict[str, Measure]:
    """Return the measured cases by name."""

    def run(file: Path) -> Measure:
        menu = trigemu.read_menu(file)
        return lambda samples, engine: trigemu.run(menu, samples, executor=engine).to_dict()

    def compare(files: list[Path]) -> Measure:
        menus = [trigemu.read_menu(file) for file in files]
        return lambda samples, engine: comparison.compare(
            trigemu.emulate(menus, samples, executor=engine)
        ).to_dict()

    def scan(file: Path, steps: list[trigemu.Steps]) -> Measure:
        menu = trigemu.read_menu(file)
        return lambda samples, engine: trigemu.scan(menu, steps, samples, executor=engine).to_dict()

    def efficiencies(files: list[Path]) -> Measure:
        menus = [trigemu.read_menu(file) for file in files]
        profiles = [trigemu.Profile("photon[0].pt", tuple(range(10, 62, 5)))]
        categories = ["n_jet == 0", "n_jet > 0"]
        return lambda samples, engine: trigemu.efficiencies(
            menus, samples, ["yy"], profiles, categories, executor=engine
        ).to_dict()

    primary = ROOT / "menus" / "primary.toml"
    variants = []
    for number, (jet, photon) in enumerate(VARIANTS):
        text = primary.read_text().replace("above = 100.0", f"above = {jet}.0")
        text = text.replace("above = 30.0", f"above = {photon}.0").replace('"primary"', f'"variant{number}"')
        variants.append(folder / f"variant{number}.toml")
        variants[-1].write_text(text)
    budget = folder / "budget.toml"
    budget.write_text(BUDGET)
    decade = primary.with_name("decade.toml")
    steps = [trigemu.Steps("J100", tuple(map(float, range(60, 161, 5))))]
    return {
        "run full.toml": run(primary.with_name("full.toml")),
        "run decade.toml": run(decade),
        "run, two rate budgets": run(budget),
        "compare five variants": compare(variants),
        "scan J100": scan(primary, steps),
        "efficiencies, yy": efficiencies([primary, decade]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chunk", type=int, default=20_000, help="Events in a chunk, one task each.")
    parser.add_argument("--only", default="", help="Cases whose name has this in it.")
    options = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as name, executors() as engines:
        samples = trigemu.open_catalogue()
        chosen = {title: case for title, case in cases(Path(name)).items() if options.only in title}
        _say(f"{'':24}{'engine':16}{'tasks':>7}{'overtaken':>11}{'seconds':>9}  JSON")
        for title, measure in chosen.items():
            expected = numbers(measure(samples, Engine(chunk_events=options.chunk, workers=1)))
            for number, (engine, (inner, workers)) in enumerate(engines.items()):
                executor = Shuffled(inner, workers, number)
                start = time.monotonic()
                small = Engine(executor, chunk_events=options.chunk)
                same = numbers(measure(samples, small)) == expected and executor.overtaken > 0
                seconds = time.monotonic() - start
                counts = f"{executor.tasks:7}{executor.overtaken:11}{seconds:9.1f}"
                size = f"{len(expected)} characters"
                _say(f"{title:24}{engine:16}{counts}  {'same' if same else 'DIFFERENT'}, {size}")
                different += not same
    return int(different > 0)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
