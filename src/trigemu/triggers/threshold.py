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
from trigemu.observables import Condition, Number
from trigemu.triggers.base import Context, Kind
from trigemu.workspace import Workspace


class Threshold(Kind, frozen=True):
    """The score is the observable."""

    observable: str
    above: float
    requires: str | None = None

    def compile(self, context: Context) -> CompiledThreshold:
        requires = context.condition(self.requires) if self.requires else None
        return CompiledThreshold(context.observable(self.observable), requires, self.above)


@dataclass(frozen=True)
class CompiledThreshold:
    observable: Number
    requires: Condition | None
    cut: float

    def evaluate(self, work: Workspace) -> FloatArray:
        values = self.observable.evaluate(work)
        has_value = ~np.isnan(values)
        if self.requires:
            has_value &= self.requires.evaluate(work)
        return np.where(has_value, values, -np.inf)
