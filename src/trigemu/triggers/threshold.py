"""`threshold`: an observable above a value.

    observable = "jet[0].pt"
    above = 100.0
    requires = "n_photon >= 1"      # optional: other events never fire

A kind is a description made from TOML, and what it compiles to. The shortest one is plugins/alpha_t.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.observables.expressions import Condition, Constant, Element, Junction, Number, Relation
from trigemu.observables.selections import ObjectSelection, Window
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import Compiled, Context, ScoreKind


class Threshold(ScoreKind, frozen=True):
    """The trigger kind `threshold`: its score is an observable."""

    observable: str  #: A number per event, in the observable language.
    requires: str | None = None  #: A condition in the observable language; other events never fire.

    def compile(self, context: Context) -> CompiledThreshold:
        requires = context.condition(self.requires) if self.requires is not None else None
        observable = context.observable(self.observable, self.threshold)
        return CompiledThreshold(observable, requires, self.threshold)


@dataclass(frozen=True)
class CompiledThreshold(Compiled):
    """A compiled trigger with a threshold on one number."""

    observable: Number  #: The score
    requires: Condition | None  #: The preselection: events that fail it have no score
    threshold: float  #: The threshold on the score

    def evaluate(self, work: Workspace) -> FloatArray:
        score = self.observable.evaluate(work)
        has_score = ~np.isnan(score)
        if self.requires:
            has_score &= self.requires.evaluate(work)
        return np.where(has_score, score, -np.inf)

    @property
    def preselection(self) -> Condition | None:
        return self.requires

    @property
    def condition(self) -> Condition:
        above = Relation(">", self.observable, Constant(self.threshold))
        return Junction("and", (self.requires, above)) if self.requires else above

    @property
    def leg_objects(self) -> tuple[ObjectSelection, ...]:
        if not isinstance(self.observable, Element):
            return ()
        window = self.observable.column, Window(above=self.threshold)
        return (self.observable.selection.within(window),)
