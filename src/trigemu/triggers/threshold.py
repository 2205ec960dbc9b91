"""`threshold`: an observable above a value.

    observable = "jet[0].pt"
    above = 100.0
    requires = "n_photon >= 1"      # optional: other events never fire

To write your own kind, start from plugins/alpha_t.py. It omits the optional methods overridden here, which
speed up decisions (`Compiled`) and show which other triggers it includes (`extent`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from trigemu.observables import (
    Condition,
    Constant,
    Derivation,
    Element,
    Junction,
    Number,
    Relation,
    Use,
    Workspace,
    all_uses,
    ceiling,
    cheap,
    compared_numbers,
    without_soft_objects,
)
from trigemu.support import BoolArray, FloatArray, kernel
from trigemu.triggers.base import Compiled, Context, ScoreKind
from trigemu.triggers.extent import Extent, extent_of


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
        return CompiledThreshold(context.observable(self.observable, self.cut), requires, self.cut)

    def cuts_on(self) -> Iterator[tuple[str, float | None]]:
        yield self.observable, self.above
        if self.requires is not None:
            yield from compared_numbers(self.requires)

    def extent(self, context: Context) -> Extent:
        condition = self.compile(context).single()
        return extent_of([condition])


@dataclass(frozen=True)
class CompiledThreshold(Compiled):
    nan_is_below = True

    observable: Number
    requires: Condition | None
    cut: float

    def evaluate(self, work: Workspace) -> FloatArray:
        if self.requires is None:
            return _or_minus_infinity(self.observable.evaluate(work))
        asked = self.requires.evaluate(work)
        if not cheap(self.observable, work) and (part := work.part(asked)):
            return _of(asked, _or_minus_infinity(self.observable.evaluate(part)))
        score = _or_minus_infinity(self.observable.evaluate(work))
        score[~asked] = -np.inf
        return score

    def score_above(self, work: Workspace, cut: float) -> FloatArray:
        """Evaluate in full only the events with an upper bound above the cut, if there are few of them."""
        if self.requires and cheap(self.observable, work):
            bound: FloatArray | None = self.observable.evaluate(work)
        else:
            bound = ceiling(self.observable, work)
        if bound is not None and (part := work.part(bound > cut)):
            return _of(bound > cut, self.evaluate(part))
        return self.evaluate(work) if self.requires else self.observable.evaluate(work)

    def uses(self) -> Iterator[Use]:
        element = self.observable
        if isinstance(element, Element) and element.column == "pt":
            yield element.of, self.cut
        else:
            yield from all_uses(element)
        yield from all_uses(self.requires)

    def without_soft_objects(self, lowest: Mapping[Derivation, float]) -> CompiledThreshold:
        element = self.observable
        if not isinstance(element, Element):
            return self
        return replace(self, observable=replace(element, of=without_soft_objects(element.of, lowest)))

    def asks(self) -> Condition | None:
        return self.requires

    def single(self) -> Condition:
        fired = Relation(">", self.observable, Constant(self.cut))
        return Junction("and", (self.requires, fired)) if self.requires else fired


def _of(chosen: BoolArray, score: FloatArray) -> FloatArray:
    """Return float64[n]: the scores of the chosen events, −inf for the others."""
    everywhere = np.full(len(chosen), -np.inf)
    everywhere[chosen] = score
    return everywhere


@kernel
def _or_minus_infinity(values: FloatArray) -> FloatArray:
    score = np.empty_like(values)
    for i in range(len(values)):
        score[i] = values[i] if values[i] == values[i] else -np.inf
    return score
