"""x from the menu: the observables that cause the overlap of an anomaly trigger with other triggers.

The score alone overlaps with a trigger more than an independent decision would if the observables of that
trigger are correlated with the score. x starts empty. Each step considers the observables of the trigger with
the largest such excess and adds the one that reduces the overlap most, if the reduction is significant. All
of this uses events of the training half that the network was not trained on, with Y(x) out of fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.emulation.budgets import threshold_for
from trigemu_decade.card import Step
from trigemu_decade.closure import squares
from trigemu_decade.observables import Candidate

from .config import QuantileTable
from .folds import Sample, out_of_fold

#: An observable is added if the overlap decreases by more than this many errors of the decrease.
SIGNIFICANT = 1.5
#: The largest number of events. Each observable that is considered takes two fits, half a second for 100 000
#: events on one core.
MOST = 200_000
#: The parts of the sample; Y(x) of each part is fitted to the others.
_FOLDS = 2


def choose(
    sample: Sample,
    candidates: Sequence[Candidate],
    names: Sequence[str],
    budget_hz: float,
    settings: QuantileTable,
    seed: int,
    begin: Callable[[str], None] = lambda fit: None,
) -> tuple[Step, ...]:
    """Return the steps of the choice, the first without any observable.

    of: the candidates; names: of the triggers; budget_hz: the unique rate; begin: called with a description
    of each fit as it begins. At most MOST of the events are used. ValueError if no threshold on the score
    gives that rate."""
    few = sample.at_most(MOST)
    return _Choice(few, tuple(candidates), tuple(names), budget_hz, settings, seed, begin).steps()


@dataclass(frozen=True)
class _Choice:
    sample: Sample
    of: tuple[Candidate, ...]
    names: tuple[str, ...]
    budget_hz: float
    settings: QuantileTable
    seed: int
    begin: Callable[[str], None]

    def steps(self) -> tuple[Step, ...]:
        chosen: list[int] = []
        score, size = self._residual(chosen)
        passing = self._passing(score)
        steps = [self._step("", "", passing, passing, size)]
        while added := self._next(chosen, passing):
            column, trigger, now, size = added
            chosen.append(column)
            steps.append(self._step(self.of[column].observable, trigger, now, passing, size))
            passing = now
        return tuple(steps)

    def _next(
        self, chosen: Sequence[int], passing: BoolArray
    ) -> tuple[int, str, BoolArray, FloatArray] | None:
        """Return the column to add, the trigger whose overlap it reduces, the decisions with it, bool[n], and
        the size of the fits."""
        tried: set[int] = set()
        for trigger in self._by_excess(passing):
            columns = [
                i
                for i, candidate in enumerate(self.of)
                if trigger in candidate.triggers and i not in chosen and i not in tried
            ]
            tried.update(columns)
            improvements = []
            for column in columns:
                x = ", ".join(self.of[i].observable for i in (*chosen, column))
                self.begin(f"Y({x}), for the overlap with {trigger}")
                score, size = self._residual([*chosen, column])
                now = self._passing(score)
                reduction, error = self._reduction(passing, now)
                if reduction > SIGNIFICANT * error:
                    improvements.append((reduction, column, now, size))
            if improvements:
                _, column, now, size = max(improvements, key=lambda item: item[0])
                return column, trigger, now, size
        return None

    def _by_excess(self, passing: BoolArray) -> list[str]:
        """Return the triggers that accept more of the passing events than if independent, largest excess
        first."""
        weight, accepts = self.sample.weight, self.sample.accepts
        fraction = weight[passing].sum() / weight.sum()
        excess = (weight * passing) @ accepts - fraction * (weight @ accepts)
        order = np.argsort(-excess, kind="stable")
        return [self.names[i] for i in order if excess[i] > 0]

    def _residual(self, columns: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return y − Y(x) of each event, with Y(x) out of fold, and the mean numbers of trees and of their
        split nodes, float64[2]."""
        sample = self.sample
        if not columns:
            return sample.y, np.zeros(2)
        q = self.budget_hz / float(sample.failing.sum())
        residual, fits = out_of_fold(sample, columns, q, self.settings, self.seed, _FOLDS)
        return residual, np.mean([(fit.trees, fit.split_nodes) for fit in fits], axis=0)

    def _passing(self, score: FloatArray) -> BoolArray:
        """Return the decisions at the budget, bool[n]."""
        return score > threshold_for(score, self.sample.failing, self.budget_hz).threshold

    def _reduction(self, before: BoolArray, now: BoolArray) -> tuple[float, float]:
        """Return the reduction of the overlap, in Hz, and its error."""
        shared = self.sample.weight * self.sample.others
        change = shared * (before.astype(np.float64) - now)
        return float(change.sum()), math.sqrt(squares(change, self.sample.interaction))

    def _step(
        self, observable: str, trigger: str, now: BoolArray, before: BoolArray, size: FloatArray
    ) -> Step:
        weight, others = self.sample.weight, self.sample.others
        total, overlap = float(weight[now].sum()), float((weight * others)[now].sum())
        reduction, error = self._reduction(before, now)
        share = 1.0 - overlap / total
        return Step(observable, trigger, overlap, reduction, error, share, float(size[0]), float(size[1]))
