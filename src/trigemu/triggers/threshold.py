"""`threshold`: an observable above a value.

    observable = "jet[0].pt"
    above = 100.0
    requires = "n_photon >= 1"      # optional: other events never fire

To write your own kind, start from plugins/alpha_t.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.observables.expressions import (
    Condition,
    Constant,
    Count,
    Element,
    Junction,
    Number,
    Relation,
    Scalar,
    ScalarSum,
)
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import Compiled, Context, ScoreKind


class Threshold(ScoreKind, frozen=True):
    """The trigger kind `threshold`: its score is an observable.

    Attributes
    ----------
    observable : str
        A number per event, in the observable language.
    requires : str or None
        A condition in the observable language; other events never fire.
    """

    observable: str
    requires: str | None = None

    def compile(self, context: Context) -> CompiledThreshold:
        requires = None if self.requires is None else context.condition(self.requires)
        return CompiledThreshold(
            context.observable(self.observable, self.threshold), requires, self.threshold
        )


@dataclass(frozen=True)
class CompiledThreshold(Compiled):
    """A compiled trigger with a threshold on one number.

    Attributes
    ----------
    observable : Number
        The score.
    requires : Condition or None
        The preselection; other events have no score.
    threshold : float
        The threshold on the score.
    """

    observable: Number
    requires: Condition | None
    threshold: float

    def evaluate(self, work: Workspace) -> FloatArray:
        if self.requires is None:
            return _or_minus_infinity(self.observable.evaluate(work))
        passing = self.requires.evaluate(work)
        if not _cheap(self.observable, work) and (part := work.part(passing)):
            return _of(passing, _or_minus_infinity(self.observable.evaluate(part)))
        score = _or_minus_infinity(self.observable.evaluate(work))
        score[~passing] = -np.inf
        return score

    def score_above(self, work: Workspace, threshold: float) -> FloatArray:
        """Evaluate the preselection only where a cheap observable is above the threshold, if that is in few
        events."""
        if self.requires and _cheap(self.observable, work):
            above = self.observable.evaluate(work) > threshold
            if part := work.part(above):
                return _of(above, self.evaluate(part))
        return self.evaluate(work)

    @property
    def condition(self) -> Condition:
        fired = Relation(">", self.observable, Constant(self.threshold))
        return Junction("and", (self.requires, fired)) if self.requires else fired

    @property
    def preselection(self) -> Condition | None:
        return self.requires


def _cheap(number: Number, work: Workspace) -> bool:
    """Whether evaluating all events costs no more than selecting some of them."""
    return isinstance(number, (Constant, Scalar, Element, Count, ScalarSum)) or work.has(number)


def _of(chosen: BoolArray, score: FloatArray) -> FloatArray:
    """Return float64[n]: the scores of the chosen events, −inf for the others."""
    everywhere = np.full(len(chosen), -np.inf)
    everywhere[chosen] = score
    return everywhere


def _or_minus_infinity(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), -np.inf, values)
