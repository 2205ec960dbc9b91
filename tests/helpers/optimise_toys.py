"""Problems whose best point is known, goals for toy samples, and menus for them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from toys import CATALOGUE, even_events, is_evaluation, memory_catalogue, write_root
from trigemu_optimise.goals import Merit
from trigemu_optimise.problem import Problem
from trigemu_optimise.rows import Group, Half
from trigemu_optimise.variables import Bound, Order

from trigemu import Catalogue

MENU = """
[menu]
name = "toy"

# The jets.
[[trigger]]
name = "J30"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0                          # GeV
group = "jets"

[[trigger]]
name = "J15"
kind = "threshold"
observable = "jet[1].pt"
above = 15.0
group = "jets"

[[trigger]]
name = "MET40"
kind = "threshold"
observable = "met"
above = 40.0
prescale = 2

[[trigger]]
name = "MU"
kind = "combination"
legs = [{ object = "muon", pt = { min = 25.0 } }]
prescale = 10
"""
GOALS = """
[goals]
rate_hz = {cap}

[[channel]]
sample = "s"

[[channel]]
name = "met"
sample = "s"
require = "met > 25"
weight = 2.0

[[vary]]
triggers = ["J30", "J15"]
above = {{ min = 10.0, max = 80.0, step = 1.0 }}

[[vary]]
triggers = ["MET40"]
above = {{ min = 20.0, max = 90.0, step = 2.0 }}
prescale = [1, 2, 5]
"""


def toy_samples(events: int = 2000) -> Catalogue:
    """A background and a signal `s` of harder events."""
    signal = [event | {"met": event["met"] + 20.0} for event in even_events(5, 1000)]
    return memory_catalogue(_background(events), signals={"s": signal})


def _background(events: int) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [event | {"weight": 100.0 * event["weight"]} for event in even_events(seed, number)]
        for name, seed, number in (("a", 3, events), ("b", 4, events // 5))
    }


def toy_rate(triggers: Mapping[str, Any], events: int, only: str | None = None) -> float:
    """The rate in Hz of a menu with the triggers of `MENU`, or of one of them, on the half of `toy_samples`
    that is searched: event by event, from their tables in TOML."""
    rate = 0.0
    for sample in _background(events).values():
        half = [event for i, event in enumerate(sample) if not is_evaluation(i)]
        scale = math.fsum(e["weight"] for e in sample) / math.fsum(e["weight"] for e in half)
        counted = [trigger for name, trigger in triggers.items() if only in (None, name)]
        rate += sum(scale * event["weight"] * (1 - missed_by(event, counted)) for event in half)
    return rate


def missed_by(event: Mapping[str, Any], triggers: str | Iterable[Mapping[str, Any]]) -> float:
    """The probability that none of some triggers of `MENU`, tables in TOML or a menu, accepts an event."""
    triggers = tomllib.loads(triggers)["trigger"] if isinstance(triggers, str) else triggers
    return math.prod(
        1 - _fires(event, trigger) / trigger.get("prescale", 1)
        for trigger in triggers
        if trigger.get("enabled", True)
    )


def _fires(event: Mapping[str, Any], trigger: Mapping[str, Any]) -> bool:
    if "legs" in trigger:
        return any(muon["pt"] >= trigger["legs"][0]["pt"]["min"] for muon in event["muon"])
    number = {"jet[0].pt": 0, "jet[1].pt": 1}.get(trigger["observable"])
    values = [event["met"]] if number is None else [jet["pt"] for jet in event["jet"][number:]]
    return bool(values) and values[0] > trigger["above"]


def write_goals(folder: Path, cap: float, more: str = "") -> Path:
    file = folder / "goals.toml"
    file.write_text(GOALS.format(cap=cap) + more)
    return file


def write_menu(folder: Path, text: str = MENU) -> Path:
    file = folder / "toy.toml"
    file.write_text(text)
    return file


def group_of(levels: np.ndarray, weight: np.ndarray) -> Group:
    """Events as rows: levels uint8[triggers, n], weights float64[n]."""
    n = levels.shape[1]
    base, fixed, event = np.zeros((n, 0), np.int64), np.ones((1, n)), np.arange(n)
    return Group(levels.T.astype(np.uint8), base, fixed, event, weight, event.astype(np.uint64), event)


def problem_of(
    values: Sequence[np.ndarray],
    background: Group,
    channels: Sequence[Group],
    cap: float,
    merit: Merit = "mean",
    orders: tuple[Order, ...] = (),
) -> Problem:
    """A problem of unprescaled triggers, one for each list of values."""
    t, c = len(values), len(channels)
    return Problem(
        tuple(values),
        (True,) * t,
        np.arange(t),
        np.ones((1, t), np.bool_),
        (),
        Half(background, tuple(channels)),
        (Bound("rate of the menu", 0, -1, 0.0, cap),),
        orders,
        merit,
        np.full(c, 1.0 / c),
        np.ones(c),
    )


#: Of each trigger of an analytic problem: the rate in Hz at threshold 0, the slopes of the rate and of the
#: efficiency, and the share of the events.
SPECTRA = (
    (60e3, 14.0, 40.0, 0.30),
    (20e3, 20.0, 35.0, 0.25),
    (90e3, 9.0, 20.0, 0.15),
    (40e3, 25.0, 60.0, 0.10),
    (10e3, 30.0, 80.0, 0.12),
    (70e3, 11.0, 15.0, 0.08),
)


def analytic(triggers: int, cap: float, steps: int = 160) -> tuple[Problem, float]:
    """A problem with exponential spectra, and the least loss of any thresholds.

    Each trigger t has events of its own: R_t = A_t exp(−θ/b_t), ε_t = f_t exp(−θ/s_t). With u = exp(−θ/b),
    the efficiency Σ f u^(b/s) is concave in the rates A u, so the best point has one price ∂ε/∂R for all
    triggers.
    """
    spectra = SPECTRA[:triggers]
    values = [np.linspace(0.0, 150.0, steps) for _ in spectra]
    levels, rates, efficiencies = [], [], []
    for t, (rate, b, s, share) in enumerate(spectra):
        own = np.zeros((triggers, steps), np.uint8)
        own[t] = np.arange(1, steps + 1)
        levels.append(own)
        edges = np.append(values[t], np.inf)
        rates.append(rate * -np.diff(np.exp(-edges / b)))
        efficiencies.append(share * -np.diff(np.exp(-edges / s)))
    rest = 1.0 - sum(share for *_, share in spectra)
    everything = np.concatenate(levels, axis=1)
    background = group_of(everything, np.concatenate(rates))
    events = group_of(
        np.concatenate([everything, np.zeros((triggers, 1), np.uint8)], axis=1),
        np.concatenate([*efficiencies, [rest]]),
    )
    return problem_of(values, background, [events], cap), 1.0 - _most(spectra, cap)


def _most(spectra: Sequence[tuple[float, float, float, float]], cap: float) -> float:
    """The largest efficiency under a cap, by bisection of the price."""

    def at(price: float) -> tuple[float, float]:
        total = efficiency = 0.0
        for rate, b, s, share in spectra:
            # ∂ε/∂R = (f/A)(b/s) u^(b/s − 1) = price
            u = min(1.0, (price * rate * s / (share * b)) ** (1.0 / (b / s - 1.0)))
            u = max(u, math.exp(-150.0 / b))
            total += rate * u
            efficiency += share * u ** (b / s)
        return total, efficiency

    low, high = 1e-12, 1e3
    for _ in range(300):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if at(middle)[0] > cap else (low, middle)
    return at(high)[1]


def correlated(seed: int, steps: int, events: int = 1500) -> Problem:
    """A problem of three thresholds on correlated scores, with two channels."""
    rng = np.random.default_rng(seed)
    values = [np.linspace(0.0, 5.0, steps)] * 3
    groups = []
    for scale, n in ((1.0, events), (1.8, 300), (2.2, 300)):
        common = rng.exponential(scale, n)
        scores = [0.5 * common + rng.exponential(rng.uniform(0.3, 1.0) * scale, n) for _ in range(3)]
        levels = np.array([np.searchsorted(values[0], score, "left") for score in scores])
        weight = rng.uniform(0.5, 1.5, n)
        groups.append(group_of(levels, weight / weight.sum() * (1e5 if not groups else 1.0)))
    return problem_of(values, groups[0], groups[1:], 3e4, "squared")


def brute_force(problem: Problem) -> tuple[float, Any]:
    """The least loss of a problem of three thresholds, and its point: all points, one after the other."""
    k = [len(values) for values in problem.values]

    def accepted(group: Group) -> np.ndarray:
        missed = np.zeros([n + 1 for n in k])
        np.add.at(missed, tuple(group.level.T.astype(int)), group.weight)
        missed = missed.cumsum(0).cumsum(1).cumsum(2)[: k[0], : k[1], : k[2]]  # all levels up to the point
        return group.weight.sum() - missed

    rates = accepted(problem.half.background)
    efficiencies = np.array([accepted(group) for group in problem.half.channels])
    loss = problem.loss(efficiencies)
    loss[rates > problem.cap] = np.inf
    return float(loss.min()), np.unravel_index(int(loss.argmin()), loss.shape)


def write_samples(folder: Path, events: int = 1500) -> None:
    """catalogue.toml with a background of even events and a signal `s`, as ROOT files."""
    write_root(folder / "all.root", even_events(3, events))
    write_root(folder / "s.root", [e | {"met": e["met"] + 20.0} for e in even_events(5, 500)])
    signal = '\n[[sample]]\nname = "s"\nrole = "signal"\nfiles = ["s.root"]\n'
    (folder / "catalogue.toml").write_text(CATALOGUE.replace("40e6", "1e5") + signal)
