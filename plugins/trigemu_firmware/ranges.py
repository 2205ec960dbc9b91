"""Precisions from data: bits before the point, steps, the values that occur, and how often they overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from trigemu_anomaly.fixed_point import MAX_INTEGER, MAX_WIDTH, SATURATING, ApFixed
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.precision import PrecisionTable, table_of
from trigemu_anomaly.trees import Ensemble, FixedEnsemble, Precision

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue

from .model import halves, read_rows, tree_model

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
    """Choose the bits before the point of types with which nothing overflows for events x, float32[n, d].

    An input that needs fewer bits than another is scaled up; one that saturates only has to hold its
    thresholds. The score also holds 1, by which conifer multiplies it. names: of the inputs, for messages.
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


@dataclass(frozen=True)
class InputRange:
    """An input of the trees; all values are in its own unit, before the scale."""

    name: str
    low: float  # low, high: Of all events
    high: float
    thresholds: tuple[float, float] | None  # The lowest and the highest, None if no tree splits on it
    scale: int  # Exponent of the power of two by which it is multiplied
    step: float  # step, holds: Of its type
    holds: tuple[float, float]
    overflows: int  # Number of events


@dataclass(frozen=True)
class Ranges:
    """Inputs and scores of a number of events, and the ranges of their types."""

    events: int
    inputs: tuple[InputRange, ...]
    low: float  # low, high: Of scores without overflow
    high: float
    step: float  # step, holds: Of the type of scores
    holds: tuple[float, float]
    overflows: int  # Number of events whose score overflows
    thresholds: int  # thresholds, leaves: How many overflow, where the base counts as a leaf
    leaves: int


@dataclass(frozen=True)
class Survey:
    """A precision, and the values in all events that pass the preselection of the trigger."""

    trigger: str
    trees: int
    split_nodes: int
    precision: PrecisionTable
    ranges: Ranges
    chosen: int | None  # Number of these that its bits were chosen on, None for a precision of the menu
    spared: int  # Number of bits before the point that the inputs would save if they saturated


def survey(
    menu: Menu, name: str, catalogue: Catalogue, types: Precision | None = None, *, executor: Any = None
) -> Survey:
    """Survey the precision of a trigger. With types, their bits before the point are chosen on the half that
    the trees were fitted on. TrigemuError if the trigger has no precision and types is None."""
    model = tree_model(menu, name)
    if types is None and model.fixed is None:
        raise TrigemuError(
            f"{menu.trigger(name).place}: trigger {name!r} has no precision: --auto chooses one from the data"
        )
    rows = read_rows(menu, catalogue, name, executor=executor)
    fixed, chosen, spared = model.fixed, None, 0
    if types:
        x, names = halves(menu, catalogue, rows)[0].x, model.inputs.texts
        fixed, chosen = choose(model.ensemble, x, names, types), len(x)
        saturating = choose(model.ensemble, x, names, with_modes(types, None, SATURATING[0]))
        spared = fixed.precision.input.integer - saturating.precision.input.integer
    assert fixed
    ranges_ = ranges(fixed, rows.x, model.inputs.texts)
    trees = model.ensemble
    return Survey(name, trees.trees, trees.split_nodes, table_of(fixed), ranges_, chosen, max(0, spared))


def ranges(fixed: FixedEnsemble, x: Features, names: Sequence[str]) -> Ranges:
    """Return the ranges of inputs and scores of events, float32[n, d], n > 0; names: of the inputs."""
    trees, kinds = fixed.ensemble, fixed.precision
    overflows = fixed.overflows(x)
    scores = _without_overflow(fixed, x)
    thresholds, leaves = fixed.overflowing
    return Ranges(
        events=len(x),
        inputs=tuple(
            InputRange(
                name=name,
                low=float(x[:, i].min()),
                high=float(x[:, i].max()),
                thresholds=(float(cuts.min()), float(cuts.max())) if len(cuts) else None,
                scale=scale,
                step=kinds.input.step * 2.0**-scale,
                holds=(kinds.input.lowest * 2.0**-scale, kinds.input.highest * 2.0**-scale),
                overflows=overflows.inputs[i],
            )
            for i, (name, scale) in enumerate(zip(names, fixed.scales, strict=True))
            for cuts in (trees.threshold[trees.feature == i],)
        ),
        low=float(scores.min()),
        high=float(scores.max()),
        step=kinds.score.step,
        holds=(kinds.score.lowest, kinds.score.highest),
        overflows=overflows.scores,
        thresholds=thresholds,
        leaves=leaves,
    )


def _without_overflow(fixed: FixedEnsemble, x: Features) -> FloatArray:
    """Return scores with the step of their type but without overflow, float64[n]."""
    score = fixed.precision.score
    integer = min(MAX_WIDTH - score.fraction, MAX_INTEGER)
    roomy = replace(score, width=integer + score.fraction, integer=integer, signed=True)
    wide = FixedEnsemble(fixed.ensemble, replace(fixed.precision, score=roomy), fixed.scales)
    return wide.to_float(wide.predict(x))
