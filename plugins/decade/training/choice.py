"""x from the menu: the observables that make an anomaly trigger accept again what others already take.

The bare score overlaps with a trigger beyond independence where that trigger's observables and the score go
together. So x grows from nothing: of the trigger with the largest such excess the observable is added with
which the least rate is not unique, as long as that rate falls by more than its error. Everything is done on
events of the training half that the network has not learned from, with Y(x) out of fold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trigemu.api import BoolArray, FloatArray, cut_for

from ..decade import Step
from ..interactions import squares
from . import regression
from .candidates import Candidate
from .folds import Sample, out_of_fold

#: An observable is added if the rate that is not unique falls by more than this many errors of the fall.
SIGNIFICANT = 1.5
#: The parts of the sample, of which Y(x) of each is from the others.
_FOLDS = 2


def choose(
    sample: Sample,
    of: Sequence[Candidate],
    names: Sequence[str],
    budget_hz: float,
    settings: regression.Settings,
    seed: int,
) -> tuple[Step, ...]:
    """Return the steps of the choice, the first without any observable.

    of: the candidates; names: of the triggers; budget_hz: the unique rate. ValueError if no cut on the score
    has that rate."""
    return _Choice(sample, tuple(of), tuple(names), budget_hz, settings, seed).steps()


@dataclass(frozen=True)
class _Choice:
    sample: Sample
    of: tuple[Candidate, ...]
    names: tuple[str, ...]
    budget_hz: float
    settings: regression.Settings
    seed: int

    def steps(self) -> tuple[Step, ...]:
        chosen: list[int] = []
        score, size = self._residual(chosen)
        passing = self._passing(score)
        steps = [self._step("", "", passing, passing, size)]
        while added := self._next(chosen, passing):
            column, trigger, found, size = added
            chosen.append(column)
            steps.append(self._step(self.of[column].observable, trigger, found, passing, size))
            passing = found
        return tuple(steps)

    def _next(
        self, chosen: Sequence[int], passing: BoolArray
    ) -> tuple[int, str, BoolArray, FloatArray] | None:
        """Return the column to add, the trigger that it is for, which events pass with it, and the size of
        the fits."""
        tried: set[int] = set()
        for trigger in self._by_excess(passing):
            columns = [
                i
                for i, candidate in enumerate(self.of)
                if trigger in candidate.triggers and i not in chosen and i not in tried
            ]
            tried.update(columns)
            found = []
            for column in columns:
                score, size = self._residual([*chosen, column])
                now = self._passing(score)
                fell, error = self._fall(passing, now)
                if fell > SIGNIFICANT * error:
                    found.append((fell, column, now, size))
            if found:
                _, column, now, size = max(found, key=lambda item: item[0])
                return column, trigger, now, size
        return None

    def _by_excess(self, passing: BoolArray) -> list[str]:
        """Return the triggers that accept more of the passing events than independence, the largest excess
        first."""
        weight, accepts = self.sample.weight, self.sample.accepts
        fraction = weight[passing].sum() / weight.sum()
        excess = (weight * passing) @ accepts - fraction * (weight @ accepts)
        order = np.argsort(-excess, kind="stable")
        return [self.names[i] for i in order if excess[i] > 0]

    def _residual(self, columns: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return y − Y(x) of each event, with Y(x) out of fold, and float64[2], the mean numbers of
        trees and of their split nodes."""
        sample = self.sample
        if not columns:
            return sample.y, np.zeros(2)
        q = self.budget_hz / float(sample.failing.sum())
        residual, fits = out_of_fold(sample, columns, q, self.settings, self.seed, _FOLDS)
        return residual, np.mean([(made.trees, made.split_nodes) for made in fits], axis=0)

    def _passing(self, score: FloatArray) -> BoolArray:
        """Return which events pass at the budget."""
        return score > cut_for(score, self.sample.failing, self.budget_hz).cut

    def _fall(self, before: BoolArray, now: BoolArray) -> tuple[float, float]:
        """Return by how much the rate that is not unique falls, in Hz, and the error of that."""
        shared = self.sample.weight * self.sample.others
        change = shared * (before.astype(np.float64) - now)
        return float(change.sum()), math.sqrt(squares(change, self.sample.interaction))

    def _step(
        self, observable: str, trigger: str, now: BoolArray, before: BoolArray, size: FloatArray
    ) -> Step:
        weight, others = self.sample.weight, self.sample.others
        total, not_unique = float(weight[now].sum()), float((weight * others)[now].sum())
        fell, error = self._fall(before, now)
        share = 1.0 - not_unique / total
        return Step(observable, trigger, not_unique, fell, error, share, float(size[0]), float(size[1]))
