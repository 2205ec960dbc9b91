"""The choice of bits before the point from data: as few as needed, which leaves more bits behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from trigemu.api import Features, FloatArray, TrigemuError
from trigemu_anomaly import SATURATING, ApFixed, Ensemble, FixedEnsemble, Precision

#: The widths of arXiv:2508.10224, with the default rounding and overflow of ap_fixed.
PAPER_PRECISION = Precision(ApFixed(12, 12), ApFixed(12, 12), ApFixed(16, 4))
#: How many numbers of bits are tried, starting at a lower bound.
_TRIED = 8


def with_widths(types: Precision, input_bits: int | None, score_bits: int | None) -> Precision:
    """Return types with other widths of inputs and thresholds, and of the score, unless None."""
    return Precision(
        replace(types.input, width=input_bits or types.input.width),
        replace(types.threshold, width=input_bits or types.threshold.width),
        replace(types.score, width=score_bits or types.score.width),
    )


def with_modes(types: Precision, rounding: str | None, overflow: str | None) -> Precision:
    """Return types with another rounding of thresholds and leaves, which are constants in firmware, and
    another overflow of inputs and thresholds, unless None."""
    threshold, score = types.threshold, types.score
    return Precision(
        replace(types.input, overflow=overflow or types.input.overflow),
        replace(threshold, rounding=rounding or threshold.rounding, overflow=overflow or threshold.overflow),
        replace(score, rounding=rounding or score.rounding),
    )


def choose(ensemble: Ensemble, x: Features, names: Sequence[str], types: Precision) -> FixedEnsemble:
    """Choose the bits before the point of types, for their widths, signs and modes.

    No input or score of the events overflows, and no threshold or leaf; an input that needs fewer bits than
    another is scaled up. The type of an input that saturates only has to hold its thresholds. The type of the
    score also holds 1, by which conifer multiplies it.

    Parameters
    ----------
    ensemble : Ensemble
        The trees.
    x : float32[n, d]
        Inputs of events.
    names : sequence of str
        Names of the inputs, for messages.
    types : Precision
        Widths, signs and modes.

    Returns
    -------
    FixedEnsemble
        The trees in these types.

    Raises
    ------
    TrigemuError
        If an input has one value in all events, or if no type holds its range.
    """
    used = np.unique(ensemble.feature[ensemble.feature >= 0])
    needed = {int(feature): _of_input(ensemble, x, feature, names[feature], types) for feature in used}
    integer = max(needed.values(), default=1)
    scales = tuple(integer - needed.get(feature, integer) for feature in range(ensemble.features))
    of_input, of_threshold = (replace(kind, integer=integer) for kind in (types.input, types.threshold))

    def fixed(score: ApFixed) -> FixedEnsemble:
        return FixedEnsemble(ensemble, Precision(of_input, of_threshold, score), scales)

    leaves = np.append(ensemble.value[ensemble.feature < 0], (ensemble.base, 1.0))
    name = f"the score of {ensemble.trees} trees"
    least = _least(leaves, types.score, name)
    return fixed(_first(least, types.score, lambda kind: fixed(kind).overflows(x).scores == 0, name))


def _of_input(ensemble: Ensemble, x: Features, feature: int, name: str, types: Precision) -> int:
    """Return the bits before the point that an input and its thresholds need."""
    column, label = x[:, feature].astype(np.float64), f"input {name!r}"
    thresholds = ensemble.threshold[ensemble.feature == feature]
    low, high = column.min(), column.max()
    if low == high:
        raise TrigemuError(
            f"{label} is {low:g} in all {len(column)} events, which gives no range: use samples in which it "
            f"varies, or set a precision for the trigger"
        )
    if types.input.overflow in SATURATING:
        low, high = max(low, np.nextafter(thresholds.min(), -np.inf)), thresholds.max()
    of_input = _least(np.array([low, high, *thresholds]), types.input, label)
    return max(of_input, _least(thresholds, types.threshold, label))


def _least(values: FloatArray, kind: ApFixed, name: str) -> int:
    """Return the bits before the point with which a type holds all these values."""
    size = float(np.abs(values).max())
    start = math.frexp(size)[1] - 1 if size > 0 else 1
    return _first(start, kind, lambda kind: not kind.overflows(values).any(), name).integer


def _first(start: int, kind: ApFixed, holds: Callable[[ApFixed], bool], name: str) -> ApFixed:
    for integer in range(start, start + _TRIED):
        candidate = replace(kind, integer=integer)
        if holds(candidate):
            return candidate
    negative = "" if kind.signed else ", which has no negative numbers"
    raise TrigemuError(f"{name}: no bits before the point make a type like {kind} hold it{negative}")
