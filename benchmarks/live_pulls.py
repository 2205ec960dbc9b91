"""`trigemu live` against a simulation of its own: Python that goes from crossing to crossing.

    python benchmarks/live_pulls.py [--seeds 40] [NAME …]

Each case is a menu, a filling scheme, rules and a start of counters. `live_rates` runs it with many seeds,
the simulation for the same beam time with other random numbers. A pull is the difference of a rate from the
mean of the simulation, over the quoted error of the drawing; errors of samples are left out. Ends with status
1 if the spread of the seeds over the quoted error, or the rms of the pulls, is outside 0.85 to 1.2.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import trigemu_live.live
from trigemu_live import Filling, live_rates, read_filling, read_rules, spread

import trigemu

ORBIT, PARTS = 3564, 32
#: The number of crossings with a trigger in the beam time of one seed.
FIRED = 25_000
LOWEST, HIGHEST = 0.85, 1.2


@dataclass(frozen=True)
class Trigger:
    """A trigger; seed: of the names that accept."""

    name: str
    prescale: str = "1"
    coherent: str = ""
    seed: str = ""
    level: str = ""
    random_hz: float = 0.0
    group: str = ""


@dataclass(frozen=True)
class Case:
    """shares: of crossings, by the names of the triggers that fire."""

    name: str
    triggers: tuple[Trigger, ...]
    shares: dict[str, float]
    filling: Filling
    rules: str = ""
    start: str = "random"


# ---- the simulation


def filled_of(filling: Filling) -> list[bool]:
    filled = [False] * ORBIT
    for slot in filling.slots.tolist():
        filled[slot] = True
    return filled


class Veto:
    """Rules as they are written, asked with all recent accepts."""

    def __init__(self, rules: list[dict[str, Any]], filled: list[bool]) -> None:
        self.rules, self.filled, self.recent, self.finish = rules, filled, [], []

    def by(self, crossing: int, orbit: int, slot: int) -> int:
        """Return the number of the first rule that vetoes, or −1."""
        for number, rule in enumerate(self.rules):
            if self._vetoes(rule, crossing, orbit, slot):
                return number
        return -1

    def _vetoes(self, rule: dict[str, Any], crossing: int, orbit: int, slot: int) -> bool:
        recent = self.recent
        if "simple" in rule:
            return any(crossing - c <= rule["simple"] for c in recent)
        if "at_most" in rule:
            return sum(crossing - c < rule["in"] for c in recent) >= rule["at_most"]
        if "size" in rule:
            return sum(done > crossing for done in self.finish) >= rule["size"]
        first, last = rule["gap"]
        return bool(orbit % rule.get("every", 1) == 0 and first <= slot + 1 <= last)

    def accept(self, crossing: int) -> None:
        self.recent = [c for c in self.recent if crossing - c < 2000] + [crossing]
        for rule in self.rules:
            if "size" in rule:
                free = max([crossing, *self.finish])
                self.finish = [done for done in self.finish if done > crossing] + [free + rule["rate"]]


class Counter:
    """Prescale counters of a coherent set, or of a trigger: each step counts what the one before accepts."""

    def __init__(self, prescales: list[Fraction]) -> None:
        steps = sorted(set(prescales))
        self.prescales = steps
        self.ratios = [b / a for a, b in zip([Fraction(1), *steps], steps, strict=False)]
        self.state = [0] * len(steps)
        self.crossing, self.depth = -1, 0

    def begin(self, rng: np.random.Generator | None) -> None:
        self.state = [0 if rng is None else int(rng.integers(ratio.numerator)) for ratio in self.ratios]
        self.crossing = -1

    def accepts(self, crossing: int, prescale: Fraction) -> bool:
        if crossing != self.crossing:
            self.crossing, self.depth = crossing, 0
            for k, ratio in enumerate(self.ratios):
                self.state[k] += ratio.denominator
                if self.state[k] < ratio.numerator:
                    break
                self.state[k] -= ratio.numerator
                self.depth += 1
        return self.prescales.index(prescale) < self.depth


def simulated(case: Case, veto: Veto, orbits: int, first: int, rng: np.random.Generator) -> dict[str, float]:
    """Run one beam; return numbers of accepts by quantity. veto: with the accepts before it."""
    counters = {key: Counter(ps) for key, ps in sets_of(case).items()}
    for counter in counters.values():
        counter.begin(rng if case.start == "random" else None)
    levels = list(dict.fromkeys(t.level for t in case.triggers))
    number: dict[str, float] = defaultdict(float)
    for orbit, slot, fired in crossings_of(case, orbits, first, rng):
        crossing = orbit * ORBIT + slot
        accepted: list[Trigger] = []
        names: set[str] = set()
        for t in case.triggers:
            if t.name not in fired or (t.seed and not seeded(t.seed, names)):
                continue
            counter = counters.get(t.coherent or t.name)
            if counter is None or counter.accepts(crossing, Fraction(t.prescale)):
                accepted.append(t)
                names.add(t.name)
        if not accepted:
            continue
        of_first = [t for t in accepted if t.level == levels[0]]
        cause = len(veto.rules)
        if of_first:
            cause = veto.by(crossing, orbit, slot)
            if cause < 0:
                veto.accept(crossing)
            else:
                number[f"lost {cause}"] += 1
        for level in levels:
            of_level = [t for t in accepted if t.level == level]
            inside = {t.name for t in of_level} | {t.group for t in of_level if t.group}
            inside |= {f"level {level}"} if of_level else set()
            for name in inside:
                members = [t for t in of_level if name in (t.name, t.group, f"level {level}")]
                number[f"{name} before"] += 1
                if cause < 0:
                    number[f"{name} after"] += 1
                    number[f"{name} unique"] += len(members) == len(of_level)
    return number


def crossings_of(
    case: Case, orbits: int, first: int, rng: np.random.Generator
) -> Iterator[tuple[int, int, set[str]]]:
    """Yield the orbit, the slot and the names that fire in each crossing with any."""
    slots, hz = case.filling.slots, case.filling.crossing_rate_hz
    names = [set(key.split()) for key in case.shares]
    edges = np.cumsum([*case.shares.values()])
    random = [t for t in case.triggers if t.random_hz]
    for orbit in range(first, first + orbits):
        drawn = np.searchsorted(edges, rng.random(len(slots)), side="right")
        fired = {k: names[drawn[k]] for k in np.flatnonzero(drawn < len(names)).tolist()}
        for t in random:
            for k in np.flatnonzero(rng.random(len(slots)) < t.random_hz / hz).tolist():
                fired[k] = fired.get(k, set()) | {t.name}
        for k in sorted(fired):
            yield orbit, int(slots[k]), fired[k]


def seeded(seed: str, names: set[str]) -> bool:
    """Return whether "A or B", "A and not B" … is true."""
    return any(
        all(
            (part[4:] not in names) if part.startswith("not ") else part in names
            for part in term.split(" and ")
        )
        for term in seed.split(" or ")
    )


def sets_of(case: Case) -> dict[str, list[Fraction]]:
    sets: dict[str, list[Fraction]] = defaultdict(list)
    for t in case.triggers:
        if not t.random_hz:
            sets[t.coherent or t.name].append(Fraction(t.prescale))
    return sets


# ---- the same for trigemu


def rules_of(case: Case) -> list[dict[str, Any]]:
    return tomllib.loads(case.rules).get("rule", [])


def menu_of(case: Case) -> str:
    levels = [level for level in dict.fromkeys(t.level for t in case.triggers) if level]
    text = "[menu]\n" + (f"levels = {levels}\n" if levels else "")
    for t in case.triggers:
        text += f'\n[[trigger]]\nname = "{t.name}"\n'
        if t.random_hz:
            text += f'kind = "random"\nrate_hz = {t.random_hz}\n'
        else:
            text += f'kind = "threshold"\nobservable = "x_{t.name}"\nabove = 0.5\n'
            text += f"prescale = {float(Fraction(t.prescale))}\n"
        for key in ("coherent", "seed", "level", "group"):
            text += f'{key} = "{getattr(t, key)}"\n' if getattr(t, key) else ""
    return text


def events_of(case: Case) -> ak.Array:
    shares = {**case.shares, "": 1 - sum(case.shares.values())}
    columns = {
        f"x_{t.name}": np.array([float(t.name in key.split()) for key in shares])
        for t in case.triggers
        if not t.random_hz
    }
    return ak.Array({**columns, "weight": 40e6 * np.array([*shares.values()])})


def results(case: Case, seconds: float, seeds: int) -> Iterator[dict[str, tuple[float, float]]]:
    """Yield the numbers of accepts by quantity, and their errors, of each seed."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "m.toml").write_text(menu_of(case))
        (Path(folder) / "r.toml").write_text(case.rules)
        menu, rules = trigemu.read_menu(Path(folder) / "m.toml"), read_rules(Path(folder) / "r.toml")
        events = trigemu.events_from_awkward(events_of(case))
        how = {"filling": case.filling, "rules": rules, "seconds": seconds, "counters": case.start}
        for seed in range(seeds):
            result = live_rates(menu, events, seed=seed, **how)
            row: dict[str, tuple[float, float]] = {}
            for item in (*result.triggers, *result.groups, *result.levels):
                name = f"level {item.name}" if item.kind == "level" else item.name
                for what, rate in (("before", item.before), ("after", item.after), ("unique", item.unique)):
                    row[f"{name} {what}"] = rate.hz * result.seconds, rate.error_hz * result.seconds
            for k, label in enumerate(result.rules.labels):
                lost = result.levels[0].lost[label]
                row[f"lost {k}"] = lost, result.lost_error_hz[k] * result.seconds
            first = result.levels[0]
            row["live"] = result.live, first.live_error
            yield row


# ---- the comparison


def compared(case: Case, seeds: int) -> tuple[int, float, float, float]:
    """Return the number of pulls, their root mean square, the spread of seeds over the quoted error, and the
    largest pull of a mean over the seeds."""
    fires = sum(case.shares.values())
    orbits = max(PARTS, round(FIRED / fires / len(case.filling.slots)))
    seconds = orbits / case.filling.orbit_hz
    rng = np.random.default_rng(20)
    edges = [part * orbits // PARTS for part in range(PARTS + 1)] if case.start == "random" else [0, orbits]
    rules = rules_of(case)
    veto, drawn = Veto(rules, filled_of(case.filling)), []
    if case.start == "random":
        simulated(case, veto, 30, 0, rng)
    for seed in range(seeds):
        first = 30 + seed * orbits
        if case.start != "random":
            first, veto = 0, Veto(rules, filled_of(case.filling))
        beams = [simulated(case, veto, b - a, first + a, rng) for a, b in pairwise(edges)]
        total = {key: sum(beam[key] for beam in beams) for key in set().union(*beams)}
        level = f"level {case.triggers[0].level}"
        total["live"] = total.get(f"{level} after", 0.0) / max(total.get(f"{level} before", 0.0), 1.0)
        drawn.append(total)
    rows = [*results(case, seconds, seeds)]
    pulls, ratios, means = [], [], []
    for key in rows[0]:
        truth = np.array([total.get(key, 0.0) for total in drawn])
        value, error = np.array([row[key] for row in rows]).T
        spread_of, quoted = value.std(ddof=1), math.sqrt(np.mean(error**2))
        of_truth = truth.std(ddof=1) / math.sqrt(seeds)
        if truth.mean() < 30 and key != "live":
            continue  # an error from few accepts
        if not quoted or not truth.std():
            assert abs(value.mean() - truth.mean()) <= max(4 * math.hypot(quoted, of_truth), PARTS), (
                case.name,
                key,
            )
            continue
        pulls.append((value - truth.mean()) / np.hypot(np.maximum(error, 1e-9 * quoted), of_truth))
        ratios.append(spread_of / quoted)
        means.append((value.mean() - truth.mean()) / math.hypot(spread_of / math.sqrt(seeds), of_truth))
    rms = math.sqrt(np.mean(np.square(pulls)))
    return sum(map(len, pulls)), rms, math.sqrt(np.mean(np.square(ratios))), float(np.abs(means).max())


TRAINS, EVENLY, SHORT = read_filling("lhc-2018-2544"), spread(2544), read_filling("lhc-8b4e-1960")
EVERY = trigemu_live.every_slot(40e6)
CMS = "".join(f"[[rule]]\nat_most = {a}\nin = {b}\n" for a, b in ((1, 3), (2, 25), (3, 100), (4, 240)))
ATLAS = "[[rule]]\nsimple = 5\n[[rule]]\nsize = 7\nrate = 415\n"
DEAD = "[[rule]]\nsimple = 100\n"
A, B, C = Trigger("A"), Trigger("B", "7"), Trigger("C", "2.5")
SHARES = {"A": 0.001, "B": 0.002, "A B": 0.001, "C": 0.002, "A C": 0.0005, "A B C": 0.0005}
TWO_LEVELS = (
    Trigger("J", "10", "jets", level="L1", group="l1"),
    Trigger("K", "7.25", "jets", level="L1", group="l1"),
    Trigger("G", level="L1"),
    Trigger("HJ", seed="J", level="HLT", group="h"),
    Trigger("HK", "3", seed="J or K", level="HLT", group="h"),
    Trigger("HG", seed="G and not J", level="HLT"),
)
LEVELS = {"J HJ HK": 0.004, "J K HJ HK": 0.004, "G HG": 0.0005, "J G HJ HG": 0.001, "K G HK HG": 0.001}
BOTH = (Trigger("P5", "5"), Trigger("P20", "20"))
TOGETHER = tuple(Trigger(t.name, t.prescale, "c") for t in BOTH)


CASES = (
    Case("no rules", (A, B, C), SHARES, EVERY),
    Case("dead time", (A, B, C), SHARES, EVERY, DEAD),
    Case("cms, trains", (A, B, C), SHARES, TRAINS, CMS),
    Case("cms, evenly", (A, B, C), SHARES, EVENLY, CMS),
    Case("atlas, trains", (A, B, C), SHARES, TRAINS, ATLAS),
    Case(
        "buffer, 8b4e",
        (A, B, C),
        SHARES,
        SHORT,
        "[[rule]]\nat_most = 3\nin = 900\n[[rule]]\nat_most = 2\nin = 60\n",
    ),
    Case(
        "slots",
        (A, B, C),
        SHARES,
        SHORT,
        "[[rule]]\ngap = [100, 900]\nevery = 3\n" + DEAD,
    ),
    Case("coherent", (Trigger("A", "10", "s"), Trigger("B", "25", "s"), C), SHARES, EVERY, DEAD),
    Case("two levels", TWO_LEVELS, LEVELS, TRAINS, CMS),
    Case("random", (A, Trigger("R", random_hz=5e4), B), {"A": 0.001, "B": 0.001, "A B": 0.001}, EVENLY, DEAD),
    Case("zero, fractional", (A, Trigger("B", "33.3"), C), SHARES, TRAINS, CMS, "zero"),
    Case("P5, P20", BOTH, {"P5 P20": 0.01}, EVERY),
    Case("P5, P20 coherent", TOGETHER, {"P5 P20": 0.01}, EVERY),
    Case("P5, P20 from zero", BOTH, {"P5 P20": 0.01}, EVERY, "", "zero"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    real = trigemu_live.live.table_errors

    def without_samples(*args: Any) -> Any:
        rates, errors = real(*args)
        return rates, np.zeros_like(errors)

    trigemu_live.live.table_errors, trigemu_live.live.ATTEMPTS = without_samples, 20_000
    print(f"{'case':20s} pulls  rms   spread/quoted  largest of means   s", flush=True)  # noqa: T201
    bad, squares, pulls = [], 0.0, 0
    for case in CASES:
        if options.names and case.name not in options.names:
            continue
        began = time.perf_counter()
        number, rms, ratio, mean = compared(case, options.seeds)
        took = time.perf_counter() - began
        print(f"{case.name:20s} {number:5d}  {rms:.2f}  {ratio:13.2f}  {mean:16.1f}  {took:.0f}", flush=True)  # noqa: T201
        squares, pulls = squares + number * rms**2, pulls + number
        if not (LOWEST <= ratio <= HIGHEST and LOWEST <= rms <= HIGHEST):
            bad.append(case.name)
    print(f"{pulls} pulls, rms {math.sqrt(squares / max(pulls, 1)):.2f}; outside: {', '.join(bad) or 'none'}")  # noqa: T201
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
