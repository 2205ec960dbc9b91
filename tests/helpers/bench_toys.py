"""A menu of all that a bench tells apart, a plugin with parts, and a clock that measures no real time."""

from __future__ import annotations

import random
from pathlib import Path

from toys import logic, memory_catalogue, threshold, toy_events, trigger

from trigemu import Events, emulate, read_menu
from trigemu.api import Emulation


class Clock:
    """Goes on by 1 to 9 ms at each reading, and by what is worked."""

    def __init__(self) -> None:
        self.now, self._random = 0, random.Random(1)

    def __call__(self) -> int:
        self.now += self._random.randrange(1_000_000, 10_000_000)
        return self.now

    def work(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)


CLOCK = Clock()
#: (part, its events) of each part that was done.
LOG: list[tuple[str, Events]] = []
#: A score with parts, and a kind that looks at the others.
PLUGIN = """
from dataclasses import dataclass
import numpy as np
from bench_toys import CLOCK, LOG
from trigemu.api import Compiled, ScoreKind
from trigemu_anomaly.single_row import bare_models, engines_of

class Parts(ScoreKind, frozen=True):
    requires: str | None = None
    seconds: float = 0.0
    def compile(self, context):
        requires = context.condition(self.requires) if self.requires else None
        return CompiledParts(context.observable("met"), requires, self.threshold, self.seconds)

@dataclass(frozen=True)
class CompiledParts(Compiled):
    met: object
    requires: object
    threshold: float
    seconds: float
    def evaluate(self, work):
        CLOCK.work(self.seconds)
        score = self.met.evaluate(work).copy()
        if self.requires is not None:
            score[~self.requires.evaluate(work)] = -np.inf
        return score

    @property
    def preselection(self):
        return self.requires

@bare_models.register(CompiledParts)
def _(trigger, events):
    return {"bare_bdt": lambda: LOG.append(("bare_bdt", events))}

@engines_of.register(Parts)
def _(kind):
    return {"parallel": kind, "kernels": kind}

class Company(ScoreKind, frozen=True):
    def compile(self, context):
        return CompiledCompany(context.observable("met"), self.threshold)

@dataclass(frozen=True)
class CompiledCompany(Compiled):
    met: object
    threshold: float
    def evaluate(self, work):
        values = self.met.evaluate(work)
        return values - values.mean() if len(values) else values

KINDS = {"parts": Parts, "company": Company}
"""
MENU = (
    '[menu]\nname = "toy"\nplugins = ["parts"]\ncrossing_rate_hz = 30e6\n'
    + threshold("J30", "jet[0].pt", 30.0)
    + threshold("J30_TOO", "jet[0].pt", 30.0, "prescale = 7")
    + threshold("MU", "muon[0].pt", 5.0, 'requires = "n_photon >= 1"')
    + threshold("NEVER", "muon[0].pt", 5.0, 'requires = "met > 1e9"')
    + trigger("AD", "parts", 'above = 20.0\nrequires = "n_photon >= 1"')
    + trigger("ALL", "parts", "above = 20.0")
    + threshold("OFF", "met", 50.0, "enabled = false")
    + threshold("UNUSED", "no_such_column", 50.0, "enabled = false")
    + logic("NOT", "J30 and not (MU or OFF)")
    + trigger("ANY", "random", "rate_hz = 1000.0")
)
EVENTS = toy_events(11, 300)
#: Of 260 events.
BATCHES = (1, 16, 256)


def emulation(folder: Path, text: str = MENU, plugin: str = PLUGIN) -> Emulation:
    (folder / "parts.py").write_text(plugin)
    (folder / "menu.toml").write_text(text)
    return emulate([read_menu(folder / "menu.toml", [folder])], memory_catalogue({"toy": EVENTS}))
