"""The same menus on the same events with trigemu and with other tools: the same rates, and the time of each.

python benchmarks/others/run.py --others PYTHON [--check] [--events 1e6] [--rounds 5] [--write PAGE]

PYTHON is that of an environment with awkward, coffea, duckdb, onnxruntime, polars, pyarrow, root and xgboost;
this script runs with trigemu's. Every contender runs in a process of its own, one after the other in each
round, on one core and on two. The rates of every trigger and Σw of every pattern of decisions are compared
with trigemu's: a difference ends the run with status 1. --check compares on 10 000 events, without a table.
--write replaces the tables between the markers in a page.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import table
from patterns import Patterns, Trigger, counted, rates
from sample import write_sample

import trigemu

HERE = Path(__file__).parent
PLUGINS = HERE.parents[1] / "plugins"
CORES = {1: "0", 2: "0,1"}
#: Of rates and sums of weights; the tools add floats one by one.
TOLERANCE = 1e-11
CHECKED_EVENTS = 10_000
Rates = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Contender:
    """A tool on a file. In front of each group, trigemu: what the others are compared with."""

    name: str
    module: str
    file: str
    menus: tuple[str, ...]


ROOT_MENUS = ("primary", "full", "decade")
CONTENDERS = [
    Contender("trigemu", "in_trigemu", "large.root", ROOT_MENUS),
    Contender("RDataFrame", "in_root", "large.root", ("primary", "by_hand", "full")),
    Contender("coffea", "in_coffea", "large.root", ("primary", "by_hand", "full", "decade")),
    Contender("trigemu", "in_trigemu", "small.root", ("primary",)),
    Contender("RDataFrame", "in_root", "small.root", ("primary",)),
    Contender("coffea", "in_coffea", "small.root", ("primary",)),
    Contender("trigemu", "in_trigemu", "events.parquet", ("primary", "full")),
    Contender("DuckDB", "in_duckdb", "events.parquet", ("primary", "by_hand", "full")),
    Contender("polars", "in_polars", "events.parquet", ("primary", "by_hand", "full")),
    Contender("trigemu", "in_memory", "large.root", ROOT_MENUS),
    Contender("trigemu", "in_trigemu", "flat.parquet", ("flat",)),
    Contender("DuckDB", "flat_duckdb", "flat.parquet", ("flat",)),
    Contender("polars", "flat_polars", "flat.parquet", ("flat",)),
    Contender("NumPy", "flat_numpy", "flat.parquet", ("flat",)),
]


def triggers_of(menu: trigemu.Menu) -> list[Trigger]:
    """Return what rates need to know of the triggers."""
    return [Trigger(t.name, float(t.prescale), t.coherent or t.name) for t in menu.triggers]


def expected(folder: Path, name: str) -> tuple[list[Trigger], Patterns]:
    """Return the triggers of a menu, and Σw by pattern of trigemu's decisions."""
    menu = trigemu.read_menu(folder / f"{name}.toml", [PLUGINS])
    file = "flat.parquet.toml" if name == "flat" else "large.root.toml"
    (sample,) = trigemu.open_catalogue(folder / file).samples
    events = sample.read(0, 0, sample.entries, trigemu.make_plan([menu]).needs)
    fired = trigemu.decisions(menu, events)
    bits = sum(fired[t.name].astype("int64") << i for i, t in enumerate(menu.triggers))
    return triggers_of(menu), counted(bits, events.weight)


def measured(
    python: str, contender: Contender, folder: Path, menu: str, cores: int, listed: list[Trigger]
) -> dict:
    """Return what worker.py prints."""
    triggers = json.dumps([(t.name, t.prescale, t.coherent) for t in listed])
    arguments = [contender.module, str(folder / contender.file), menu, str(cores), triggers]
    command = ["taskset", "-c", CORES[cores], python, "-W", "ignore", str(HERE / "worker.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{contender.name}, {contender.file}, {menu}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def difference(result: dict, right: Rates, patterns: Patterns) -> float:
    """Return the largest relative difference of a rate, or of the Σw of a pattern.

    A unique rate is the difference of two rates of the menu, and its rounding is relative to those.
    """
    found, whole = result["rates"], right["menu"][0]
    if found.keys() != right.keys():
        return math.inf
    differences = [abs(found[name][0] - total) / (total or whole) for name, (total, _) in right.items()]
    differences += [abs(found[name][1] - unique) / whole for name, (_, unique) in right.items()]
    of_patterns = {int(bits): weight for bits, weight in result["patterns"].items() if weight}
    if of_patterns:
        if of_patterns.keys() != patterns.keys():
            return math.inf
        differences += [abs(of_patterns[bits] / weight - 1) for bits, weight in patterns.items()]
    return max(differences)


def compared(python: str, folder: Path, rounds: int, cores: list[int]) -> table.Times:
    """Run all contenders in turn; end with status 1 if any rate differs."""
    right = {name: expected(folder, name) for name in ("primary", "full", "decade", "flat")}
    right["by_hand"] = right["primary"]
    right_rates = {name: rates(patterns, triggers) for name, (triggers, patterns) in right.items()}
    turn = [(n, menu, c) for n in cores for menu in table.MENUS for c in CONTENDERS if menu in c.menus]
    largest, times = 0.0, defaultdict(list)
    for number in range(rounds):
        for n, menu, contender in turn:
            triggers, patterns = right[menu]
            own = sys.executable if contender.name == "trigemu" else python
            result = measured(own, contender, folder, menu, n, triggers)
            differs = difference(result, right_rates[menu], patterns)
            if not differs <= TOLERANCE:
                where = f"{contender.name}, {contender.file}, {menu}"
                raise SystemExit(f"{where}: a rate differs by {differs:.2g}")
            largest = max(largest, differs)
            key = menu, contender.name, contender.module, contender.file, n
            times[key].append((result["first"], result["second"], result["clock"]))
        load = os.getloadavg()[0]
        print(f"round {number + 1}: rates within {largest:.1e}, load {load:.1f}", file=sys.stderr)  # noqa: T201
    return times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--others", required=True, metavar="PYTHON")
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    if options.write and table.BEGIN not in options.write.read_text():
        parser.error(f"{options.write} has no line {table.BEGIN}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sample(folder, CHECKED_EVENTS if options.check else int(options.events))
        if options.check:
            compared(options.others, folder, 1, [1])
            return
        times = compared(options.others, folder, options.rounds, list(CORES))
    text = table.of(times, int(options.events))
    print(text)  # noqa: T201
    if options.write:
        table.write(options.write, text)


if __name__ == "__main__":
    main()
