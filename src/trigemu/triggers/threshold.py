"""`threshold`: an observable above a value.

    observable = "jet[0].pt"
    above = 100.0
    requires = "n_photon >= 1"      # optional: other events never fire

To write your own kind, start from plugins/alpha_t.py. It omits the answers that this file registers, which
speed up decisions and show which other triggers it includes (`triggers/questions.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.observables.expressions import Condition, Constant, Element, Junction, Number, Relation
from trigemu.observables.language import compared_numbers
from trigemu.observables.pruning import Use, all_uses, ceiling, cheap, harder_than
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import Compiled, Context, ScoreKind
from trigemu.triggers.extent import Extent, extent_of
from trigemu.triggers.questions import (
    kind_extent,
    objects_used,
    preselection,
    score_above,
    threshold_observables,
    without_soft_objects,
)


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


@threshold_observables.register(Threshold)
def _(kind: Threshold) -> Iterator[tuple[str, float | None]]:
    yield kind.observable, kind.above
    if kind.requires is not None:
        yield from compared_numbers(kind.requires)


@kind_extent.register(Threshold)
def _(kind: Threshold, context: Context) -> Extent:
    return extent_of([kind.compile(context).condition])


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
        if not cheap(self.observable, work) and (part := work.part(passing)):
            return _of(passing, _or_minus_infinity(self.observable.evaluate(part)))
        score = _or_minus_infinity(self.observable.evaluate(work))
        score[~passing] = -np.inf
        return score

    @property
    def condition(self) -> Condition:
        """The condition under which it fires."""
        fired = Relation(">", self.observable, Constant(self.threshold))
        return Junction("and", (self.requires, fired)) if self.requires else fired


@score_above.register(CompiledThreshold)
def _(trigger: CompiledThreshold, work: Workspace, threshold: float) -> FloatArray:
    """Evaluate only the events with an upper bound above the threshold, if there are few of them."""
    number = trigger.observable
    if trigger.requires and cheap(number, work):
        bound: FloatArray | None = number.evaluate(work)
    else:
        bound = ceiling(number, work)
    if bound is not None and (part := work.part(bound > threshold)):
        return _of(bound > threshold, trigger.evaluate(part))
    return trigger.evaluate(work) if trigger.requires else number.evaluate(work)


@objects_used.register(CompiledThreshold)
def _(trigger: CompiledThreshold) -> Iterator[Use]:
    element = trigger.observable
    if isinstance(element, Element) and element.column == "pt":
        yield element.of, trigger.threshold
    else:
        yield from all_uses(element)
    yield from all_uses(trigger.requires)


@without_soft_objects.register(CompiledThreshold)
def _(trigger: CompiledThreshold, lowest: Mapping[ObjectSelection, float]) -> CompiledThreshold:
    element = trigger.observable
    if not isinstance(element, Element):
        return trigger
    return replace(trigger, observable=replace(element, of=harder_than(element.of, lowest)))


@preselection.register(CompiledThreshold)
def _(trigger: CompiledThreshold) -> Condition | None:
    return trigger.requires


def _of(chosen: BoolArray, score: FloatArray) -> FloatArray:
    """Return float64[n]: the scores of the chosen events, −inf for the others."""
    everywhere = np.full(len(chosen), -np.inf)
    everywhere[chosen] = score
    return everywhere


def _or_minus_infinity(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), -np.inf, values)
