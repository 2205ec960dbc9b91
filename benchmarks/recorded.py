"""Run a menu over recorded events with and without a mask and weights, in turn, in one process:
python benchmarks/recorded.py FOLDER [EVENTS].

Prints the processor time of opening and of the run, and the events per second relative to those without; the
status is 1 if a mask, or one with live times, leaves less than 0.8 ×. Bunches select single events, whose
objects are copied one by one: that takes longer."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import awkward as ak
import numpy as np
import uproot

import trigemu
from trigemu.base.mapping import Engine

#: Events of a basket, and of a section.
BASKET, SECTION = 100_000, 2_000
TABLES = {
    "all": "rate_hz = 40e6",
    "mask": '[sample.recorded]\nlumi_mask = "mask.json"',
    "live time": '[sample.recorded]\nlumi_mask = "mask.json"\nsection_table = "live.csv"\nprescale = 7',
    "bunches": '[sample.recorded]\nlumi_mask = "mask.json"\nbunches = [[0, 1500], [1700, 3500]]',
}
MENU = """
[[trigger]]
name = "J60"
kind = "threshold"
observable = "jet[0].pt"
above = 60.0

[[trigger]]
name = "2J40"
kind = "combination"
legs = [{ object = "jet", pt = { min = 40.0 } }, { object = "jet", pt = { min = 40.0 } }]

[[trigger]]
name = "MU20_J30"
kind = "combination"
legs = [{ object = "muon", pt = { min = 20.0 } }, { object = "jet", pt = { min = 30.0 } }]
"""


def write(folder: Path, events: int) -> None:
    """Write sections of runs of 500, of which a mask has nine of ten."""
    rng = np.random.default_rng(1)
    sections = [(400 + n // 500, 1 + n % 500) for n in range(-(-events // SECTION))]
    certified: dict[str, list[tuple[int, int]]] = {}
    for run, section in sections:
        if rng.random() < 0.9:
            certified.setdefault(str(run), []).append((section, section))
    (folder / "mask.json").write_text(json.dumps(certified))
    rows = (f"{run},{section},{20 + section / 500}" for run, section in sections)
    (folder / "live.csv").write_text("\n".join(["run,section,live_s", *rows]))
    objects = [f"{name}_{column}" for name in ("Jet", "Muon") for column in ("pt", "eta", "phi")]
    numbers = dict.fromkeys(("run", "luminosityBlock", "event", "bunchCrossing"), "int64")
    with uproot.recreate(folder / "data.root", compression=uproot.ZSTD(1)) as file:
        file.mktree("Events", numbers | dict.fromkeys(objects, "var * float32"))
        for start in range(0, events, BASKET):
            entries = np.arange(start, min(start + BASKET, events))
            run, section = np.array(sections)[entries // SECTION].T
            columns = {"run": run, "luminosityBlock": section, "event": entries}
            columns["bunchCrossing"] = rng.integers(0, 3564, len(entries))
            for name, mean in (("Jet", 3.0), ("Muon", 0.5)):
                count = rng.poisson(mean, len(entries))
                pt = ak.unflatten((15 + rng.exponential(15, count.sum())).astype("f4"), count)
                columns[f"{name}_pt"] = ak.sort(pt, ascending=False)
                for column, high in (("eta", 2.4), ("phi", 3.1)):
                    values = rng.uniform(-high, high, count.sum()).astype("f4")
                    columns[f"{name}_{column}"] = ak.unflatten(values, count)
            file["Events"].extend(columns)


def seconds(folder: Path, menu: Path, table: str) -> tuple[float, float]:
    """Return the processor time of opening a catalogue, and of a run."""
    (folder / "data.toml").write_text(
        f'[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "data"\nrole = "background"\n'
        f'files = ["data.root"]\n{table}\n'
    )
    times = [time.process_time()]
    samples = trigemu.open_catalogue(folder / "data.toml")
    times.append(time.process_time())
    trigemu.run(menu, samples, executor=Engine(workers=1))
    times.append(time.process_time())
    return times[1] - times[0], times[2] - times[1]


def main(folder: Path, events: int) -> int:
    (menu := folder / "menu.toml").write_text(MENU)
    if not (folder / "data.root").exists():
        write(folder, events)
    seconds(folder, menu, TABLES["all"])  # compiles kernels
    rounds = np.array([[seconds(folder, menu, table) for table in TABLES.values()] for _ in range(5)])
    opening, running = np.median(rounds, axis=0).T
    ratio = np.median(rounds[:, :1] / rounds, axis=0)[:, 1]
    for name, *numbers in zip(TABLES, opening, running, ratio, strict=True):
        print("{:10} opening {:5.2f} s, run {:5.2f} s, events/s × {:.2f}".format(name, *numbers))  # noqa: T201
    return int(ratio[:3].min() < 0.8)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**7))
