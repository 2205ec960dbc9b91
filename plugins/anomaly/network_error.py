"""The largest difference between two evaluations of a network in its precision, from its weights.

The rounding error of each operation of the graph has a bound that does not depend on the order of its sums
(N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, SIAM 2002, sections 2.2 and 3.1).
It changes the score by that error times the derivative of the score by the result of the operation. The sum
over all operations bounds the error of the score to first order; two evaluations differ by at most twice
that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .network_rules import RULES, Value, exact

_TRIALS = 64


def trial_rows(features: int) -> npt.NDArray[np.float32]:
    """Return rows of small and large numbers to try a network on, float32[n, features]."""
    random = np.random.default_rng(1)
    sizes = 10.0 ** random.uniform(-1, 3, (_TRIALS, 1))
    rows = (random.normal(size=(_TRIALS, features)) * sizes).astype(np.float32)
    rows[: _TRIALS // 2] *= random.random(rows[: _TRIALS // 2].shape) < 0.5  # objects may be missing
    return rows


def largest_difference(model: Any, rows: npt.NDArray[np.float32]) -> float:
    """Return the largest possible difference of two evaluations of the score on any of the rows, relative to
    the score if that is above 1. Rows without a finite bound do not count; NaN if no row has one.

    model: for one event, as `network_source.rebuilt` makes it. rows: float32[n, k].
    """
    score_of, largest = score_function(model), math.nan
    with np.errstate(all="ignore"):
        for row in rows:
            score = score_of(exact(row[np.newaxis]))
            relative = 2 * error_of(score) / max(1.0, float(np.max(np.abs(score.v))))
            if math.isfinite(relative):
                largest = max(relative, largest)  # in this order, a NaN gives way
    return largest


def score_function(model: Any) -> Callable[[Value], Value]:
    """Return the function from the input of a network to its score."""
    from onnx import helper, numpy_helper

    weights = [(w.name, numpy_helper.to_array(w)) for w in model.graph.initializer]
    nodes = [(n, {a.name: helper.get_attribute_value(a) for a in n.attribute}) for n in model.graph.node]
    (first,), (last,) = model.graph.input, model.graph.output

    def score(row: Value) -> Value:
        values = {name: exact(weight) for name, weight in weights} | {first.name: row}
        for node, attributes in nodes:
            inputs = [values[name] for name in node.input if name]
            values[node.output[0]] = RULES[node.op_type](inputs, attributes)
        return values[last.name]

    return score


def error_of(score: Value) -> float:
    """Return the bound on the error of a score, and set the slopes of all values that it depends on."""
    score.slope, total = np.ones(np.shape(score.v)), 0.0
    for value in reversed(_in_order(score)):
        total += float(np.sum(np.abs(value.slope) * value.own))
        for of, pull in value.pulls:
            of.slope = of.slope + pull(value.slope)
    return total


def _in_order(score: Value) -> list[Value]:
    """Return all values that a score depends on, each after those that it depends on itself."""
    order: list[Value] = []
    visited: set[Value] = set()
    pending = [(score, False)]
    while pending:
        value, done = pending.pop()
        if done:
            order.append(value)
        elif value not in visited:
            visited.add(value)
            pending += [(value, True), *((of, False) for of, _ in value.pulls)]
    return order
