"""`threshold`: an observable above a value.

    observable = "jet[0].pt"
    above = 100.0
    requires = "n_photon >= 1"      # optional: the other events are not asked

Start a kind of your own as a copy of this file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trigemu.events import FloatArray
from trigemu.kernels import kernel
from trigemu.observables import Condition, Number
from trigemu.triggers.base import Context, ScoreKind
from trigemu.workspace import Workspace


class Threshold(ScoreKind, frozen=True):
    """The score is the observable."""

    observable: str
    requires: str | None = None

    def compile(self, context: Context) -> CompiledThreshold:
        requires = None if self.requires is None else context.condition(self.requires)
        return CompiledThreshold(context.observable(self.observable), requires, self.cut)


@dataclass(frozen=True)
class CompiledThreshold:
    observable: Number
    requires: Condition | None
    cut: float

    def evaluate(self, work: Workspace) -> FloatArray:
        values = self.observable.evaluate(work)
        score = _or_minus_infinity(values)
        if self.requires:
            score[~self.requires.evaluate(work)] = -np.inf
        return score


@kernel
def _or_minus_infinity(values: FloatArray) -> FloatArray:
    score = np.empty_like(values)
    for i in range(len(values)):
        score[i] = values[i] if values[i] == values[i] else -np.inf
    return score
