"""Other menus at the same cap: all thresholds scaled alike, and a greedy search."""

from __future__ import annotations

import numpy as np

from trigemu.api import IntArray, Menu, ScoreKind

from .judge import Judge
from .moves import Ranges, allowed
from .problem import INFEASIBLE, Evaluation
from .setup import Setup
from .variable import Variable, menu_at, with_values

#: Steps of the bisection: the factor is found to 1e-6.
_STEPS = 24
#: The range of the factor.
_LOWEST, _HIGHEST = 1e-3, 1e3


def scaled(setup: Setup, judge: Judge) -> tuple[Menu, float]:
    """Return the menu with all varied thresholds times the lowest factor at which the cap is met, and the
    factor. What has a single allowed value is at it.

    A positive threshold is multiplied by the factor and a negative one divided by it; none falls below the
    lowest known score. If no factor meets the cap, the highest one is taken.
    """
    chosen = [variable for variable in setup.variables if variable.what == "above"]
    cap = setup.problem.cap
    written = menu_at(setup.written, setup.fixed, [0] * len(setup.fixed))

    def menu(factor: float) -> Menu:
        return with_values(written, chosen, [_times(setup, variable, factor) for variable in chosen])

    low, high = np.log(_LOWEST), np.log(_HIGHEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if judge.rate(menu(float(np.exp(middle))), setup.fitted) > cap:
            low = middle
        else:
            high = middle
    factor = float(np.exp(high))
    return menu(factor), factor


def _times(setup: Setup, variable: Variable, factor: float) -> float:
    least = max(setup.scores.threshold_ranges[name].low for name in variable.triggers)
    kind = setup.written.trigger(variable.triggers[0]).description
    assert isinstance(kind, ScoreKind)
    value = kind.threshold * factor if kind.threshold > 0 else kind.threshold / factor
    return max(value, min(least, kind.threshold))


def greedy(evaluation: Evaluation) -> IntArray:
    """Return the point of a greedy search: from the tightest point on, the move in one variable that lowers
    the loss most per Hz, until the cap stops all moves."""
    problem = evaluation.problem
    point = problem.sizes - 1
    ranges = Ranges(problem.sizes)
    rates, efficiencies = evaluation.at(point)
    while True:
        loss, best = float(problem.loss(efficiencies)), (0.0, -1, -1)
        for variable in range(len(point)):
            all_rates, all_efficiencies = evaluation.plane(point, variable)
            objective = problem.objective(all_rates, all_efficiencies)[:, 0]
            gain = loss - objective
            more = np.maximum(all_rates[0, :, 0] - rates[0], 1e-9)
            gain[~allowed(evaluation, point, ranges, variable, -1)[:, 0]] = -np.inf
            gain[(objective >= INFEASIBLE) | (gain <= 1e-12)] = -np.inf
            index = int((gain / more).argmax())
            if gain[index] / more[index] > best[0]:
                best = float(gain[index] / more[index]), variable, index
        if best[1] < 0:
            return point
        point[best[1]] = best[2]
        rates, efficiencies = evaluation.at(point)
