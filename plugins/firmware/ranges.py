"""Step and range of a precision, the values that occur, and how often they overflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from trigemu.api import Catalogue, Features, FloatArray, Menu, TrigemuError
from trigemu_anomaly import (
    MAX_INTEGER,
    MAX_WIDTH,
    SATURATING,
    Ensemble,
    FixedEnsemble,
    Precision,
    PrecisionTable,
    table_of,
)

from .bits import choose, with_modes
from .model import halves, read_rows, tree_model


@dataclass(frozen=True)
class InputRange:
    """An input of the trees; all values are in its own unit, before the scale.

    low, high: of all events. thresholds: the lowest and the highest, None if no tree splits on it. scale:
    exponent of the power of two by which it is multiplied. step, holds: step and range of its type.
    overflows: number of events.
    """

    name: str
    low: float
    high: float
    thresholds: tuple[float, float] | None
    scale: int
    step: float
    holds: tuple[float, float]
    overflows: int


@dataclass(frozen=True)
class Ranges:
    """Inputs and scores of a number of events, and the ranges of their types.

    low, high: of scores without overflow. step, holds: step and range of their type. overflows: number of
    events whose score overflows. thresholds, leaves: how many overflow, where the base counts as a leaf.
    """

    events: int
    inputs: tuple[InputRange, ...]
    low: float
    high: float
    step: float
    holds: tuple[float, float]
    overflows: int
    thresholds: int
    leaves: int


@dataclass(frozen=True)
class Survey:
    """A precision, and the values in all events that pass the preselection of the trigger.

    chosen: number of these events that its bits were chosen on, None for a precision of the menu. spared:
    number of bits before the point that the inputs would save if they saturated.
    """

    trigger: str
    trees: int
    split_nodes: int
    precision: PrecisionTable
    ranges: Ranges
    chosen: int | None
    spared: int


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
                thresholds=_thresholds(trees, i),
                scale=scale,
                step=kinds.input.step * 2.0**-scale,
                holds=(kinds.input.lowest * 2.0**-scale, kinds.input.highest * 2.0**-scale),
                overflows=overflows.inputs[i],
            )
            for i, (name, scale) in enumerate(zip(names, fixed.scales, strict=True))
        ),
        low=float(scores.min()),
        high=float(scores.max()),
        step=kinds.score.step,
        holds=(kinds.score.lowest, kinds.score.highest),
        overflows=overflows.scores,
        thresholds=thresholds,
        leaves=leaves,
    )


def _thresholds(trees: Ensemble, feature: int) -> tuple[float, float] | None:
    thresholds = trees.threshold[trees.feature == feature]
    return (float(thresholds.min()), float(thresholds.max())) if len(thresholds) else None


def _without_overflow(fixed: FixedEnsemble, x: Features) -> FloatArray:
    """Return scores with the step of their type but without overflow, float64[n]."""
    score = fixed.precision.score
    integer = min(MAX_WIDTH - score.fraction, MAX_INTEGER)
    roomy = replace(score, width=integer + score.fraction, integer=integer, signed=True)
    wide = FixedEnsemble(fixed.ensemble, replace(fixed.precision, score=roomy), fixed.scales)
    return wide.to_float(wide.predict(x))
