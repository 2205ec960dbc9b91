"""x from the menu: the observables that cause the overlap of an anomaly trigger with other triggers.

The score alone overlaps with a trigger more than an independent decision would if the observables of that
trigger are correlated with the score. x starts empty. Each step considers the observables of the trigger with
the largest such excess and adds the one that reduces the overlap most, if the reduction is significant. All
of this uses events of the training half that the network was not trained on, with Y(x) out of fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from trigemu.base.arrays import BoolArray
from trigemu.emulation.budgets import threshold_for
from trigemu_decade.card import Step
from trigemu_decade.closure import squares
from trigemu_decade.events import Selected
from trigemu_decade.observables import Candidate

from .config import QuantileTable
from .regression import out_of_fold

#: An observable is added if the overlap decreases by more than this many errors of the decrease.
SIGNIFICANT = 1.5
#: The largest number of events. Each observable that is considered takes two fits, half a second for 100 000
#: events on one core.
MOST = 200_000
#: The parts of the sample; Y(x) of each part is fitted to the others.
_FOLDS = 2


def choose(
    sample: Selected,
    candidates: Sequence[Candidate],
    names: Sequence[str],
    budget_hz: float,
    settings: QuantileTable,
    seed: int,
    begin: Callable[[str], None] = lambda fit: None,
) -> tuple[Step, ...]:
    """Return the steps of the choice, the first without any observable; ValueError if no threshold gives the
    budget. begin: called with a description of each fit."""
    few = sample.at_most(MOST)

    def decide(columns: Sequence[int]) -> tuple[BoolArray, list[float]]:
        """Return the decisions at the budget, and the mean numbers of trees and split nodes."""
        score, size = few.y, [0.0, 0.0]
        if columns:
            q = budget_hz / float(few.failing.sum())
            score, fits = out_of_fold(few.with_x(columns), q, settings, seed, _FOLDS)
            size = np.mean([(fit.trees, fit.split_nodes) for fit in fits], axis=0).tolist()
        return score > threshold_for(score, few.failing, budget_hz).threshold, size

    def best() -> tuple[int, str, BoolArray, list[float]] | None:
        """Return the column to add, the trigger whose overlap it reduces, and the result of `decide`."""
        tried = set(x)
        for trigger in _by_excess(few, names, passing):
            improvements = []
            for column, candidate in enumerate(candidates):
                if trigger not in candidate.triggers or column in tried:
                    continue
                tried.add(column)
                texts = ", ".join(candidates[i].observable for i in (*x, column))
                begin(f"Y({texts}), for the overlap with {trigger}")
                now, size = decide([*x, column])
                reduction, error = _reduction(few, passing, now)
                if reduction > SIGNIFICANT * error:
                    improvements.append((reduction, column, now, size))
            if improvements:
                _, column, now, size = max(improvements, key=lambda item: item[0])
                return column, trigger, now, size
        return None

    x: list[int] = []
    passing, size = decide(x)
    steps = [_step(few, "", "", passing, passing, size)]
    while added := best():
        column, trigger, now, size = added
        x.append(column)
        steps.append(_step(few, candidates[column].observable, trigger, passing, now, size))
        passing = now
    return tuple(steps)


def _by_excess(sample: Selected, names: Sequence[str], passing: BoolArray) -> list[str]:
    """Return the triggers that accept more of the passing events than if independent, the most first."""
    weight, accepts = sample.weight, sample.accepts
    fraction = weight[passing].sum() / weight.sum()
    excess = (weight * passing) @ accepts - fraction * (weight @ accepts)
    return [names[i] for i in np.argsort(-excess, kind="stable") if excess[i] > 0]


def _reduction(sample: Selected, before: BoolArray, now: BoolArray) -> tuple[float, float]:
    """Return the reduction of the overlap, in Hz, and its error."""
    change = sample.weight * sample.others * (before.astype(np.float64) - now)
    return float(change.sum()), math.sqrt(squares(change, sample.interaction))


def _step(
    sample: Selected, observable: str, trigger: str, before: BoolArray, now: BoolArray, size: Sequence[float]
) -> Step:
    total = float(sample.weight[now].sum())
    overlap = float((sample.weight * sample.others)[now].sum())
    share = 1.0 - overlap / total
    return Step(observable, trigger, overlap, *_reduction(sample, before, now), share, *size)
