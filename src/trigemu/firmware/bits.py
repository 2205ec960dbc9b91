"""Bits before the point, chosen from data: no more than what occurs needs, so that the others resolve it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from trigemu.observables import Features
from trigemu.support import FloatArray, TrigemuError
from trigemu.triggers import SATURATING, ApFixed, Ensemble, FixedEnsemble, Precision

#: The widths of arXiv:2508.10224, in the modes that ap_fixed has by default.
PAPER_PRECISION = Precision(ApFixed(12, 12), ApFixed(12, 12), ApFixed(16, 4))
#: Numbers of bits, from fewer than are needed.
_TRIED = 8


def with_widths(types: Precision, input_bits: int | None, score_bits: int | None) -> Precision:
    """With these widths of inputs and thresholds, and of the score, where given."""
    return Precision(
        replace(types.input, width=input_bits or types.input.width),
        replace(types.threshold, width=input_bits or types.threshold.width),
        replace(types.score, width=score_bits or types.score.width),
    )


def with_modes(types: Precision, rounding: str | None, overflow: str | None) -> Precision:
    """With this rounding of thresholds and leaves, which are constants of a firmware, and this overflow of
    inputs and thresholds, where given."""
    threshold, score = types.threshold, types.score
    return Precision(
        replace(types.input, overflow=overflow or types.input.overflow),
        replace(threshold, rounding=rounding or threshold.rounding, overflow=overflow or threshold.overflow),
        replace(score, rounding=rounding or score.rounding),
    )


def choose(ensemble: Ensemble, x: Features, names: Sequence[str], types: Precision) -> FixedEnsemble:
    """Types of these widths, signs and modes in which neither inputs nor scores of float32[n, d] overflow,
    nor thresholds and leaves; an input that needs fewer bits than another is scaled up. names: of the inputs.

    An input that saturates needs to hold its thresholds only. The type of the score holds 1 too, by which
    conifer multiplies it. TrigemuError where the data do not tell a range, or no type holds it.
    """
    used = np.unique(ensemble.feature[ensemble.feature >= 0])
    needed = {int(feature): _of_input(ensemble, x, feature, names[feature], types) for feature in used}
    integer = max(needed.values(), default=1)
    scales = tuple(integer - needed.get(feature, integer) for feature in range(ensemble.features))
    of_input, of_threshold = (replace(kind, integer=integer) for kind in (types.input, types.threshold))

    def fixed(score: ApFixed) -> FixedEnsemble:
        return FixedEnsemble(ensemble, Precision(of_input, of_threshold, score), scales)

    leaves = np.append(ensemble.value[ensemble.feature < 0], (ensemble.base, 1.0))
    what = f"the score of {ensemble.trees} trees"
    least = _least(leaves, types.score, what)
    return fixed(_first(least, types.score, lambda kind: fixed(kind).overflows(x).scores == 0, what))


def _of_input(ensemble: Ensemble, x: Features, feature: int, name: str, types: Precision) -> int:
    """Bits before the point."""
    column, what = x[:, feature].astype(np.float64), f"input {name!r}"
    thresholds = ensemble.threshold[ensemble.feature == feature]
    low, high = column.min(), column.max()
    if low == high:
        raise TrigemuError(
            f"{what} is {low:g} in all {len(column)} events, which tells no range: use samples in which it "
            f"varies, or give the trigger a precision"
        )
    if types.input.overflow in SATURATING:
        low, high = max(low, np.nextafter(thresholds.min(), -np.inf)), thresholds.max()
    of_input = _least(np.array([low, high, *thresholds]), types.input, what)
    return max(of_input, _least(thresholds, types.threshold, what))


def _least(values: FloatArray, kind: ApFixed, what: str) -> int:
    """Bits before the point with which a type holds all of some values."""
    size = float(np.abs(values).max())
    start = math.frexp(size)[1] - 1 if size > 0 else 1
    return _first(start, kind, lambda kind: not kind.overflows(values).any(), what).integer


def _first(start: int, kind: ApFixed, holds: Callable[[ApFixed], bool], what: str) -> ApFixed:
    for integer in range(start, start + _TRIED):
        found = replace(kind, integer=integer)
        if holds(found):
            return found
    negative = "" if kind.signed else ", which has no negative numbers"
    raise TrigemuError(f"{what}: no bits before the point let a type like {kind} hold it{negative}")
