"""What a precision resolves and holds of the numbers that occur, and how often it overflows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trigemu.firmware.bits import choose, with_modes
from trigemu.firmware.model import halves, read_rows, tree_model
from trigemu.menus import Menu
from trigemu.observables import Features
from trigemu.samples import Catalogue
from trigemu.support import FloatArray, TrigemuError
from trigemu.triggers import (
    MAX_INTEGER,
    MAX_WIDTH,
    SATURATING,
    Ensemble,
    FixedEnsemble,
    Precision,
    PrecisionTable,
    table_of,
)


@dataclass(frozen=True)
class InputRange:
    """An input, in its own unit. low, high: of all events; thresholds: the lowest and the highest, None where
    no tree splits on it. step, holds: of its type, before the scale. overflows: events."""

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
    """low, high: of scores before they overflow; step, holds: of their type. overflows: events whose score
    does; thresholds, leaves: how many overflow, the base among the leaves."""

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
    """A precision, and what it holds of all events that the trigger asks for. chosen: on how many of them its
    bits were, None for those of the menu. spared: how many bits before the point inputs would not need if
    they saturated."""

    trigger: str
    trees: int
    split_nodes: int
    precision: PrecisionTable
    ranges: Ranges
    chosen: int | None
    spared: int


def survey(
    menu: Menu, name: str, catalogue: Catalogue, types: Precision | None = None, *, workers: int = 1
) -> Survey:
    """The precision of a trigger, or one of types like these whose bits are chosen on the half that the trees
    were fitted on. TrigemuError where there is none."""
    model = tree_model(menu, name)
    if types is None and model.fixed is None:
        raise TrigemuError(
            f"{menu.trigger(name).place}: trigger {name!r} has no precision: --auto chooses one from the data"
        )
    rows = read_rows(menu, catalogue, name, workers=workers)
    fixed, chosen, spared = model.fixed, None, 0
    if types:
        x, names = halves(menu, catalogue, rows)[0].x, model.inputs.texts
        fixed, chosen = choose(model.ensemble, x, names, types), len(x)
        other = choose(model.ensemble, x, names, with_modes(types, None, SATURATING[0]))
        spared = fixed.precision.input.integer - other.precision.input.integer
    assert fixed
    found = ranges(fixed, rows.x, model.inputs.texts)
    trees = model.ensemble
    return Survey(name, trees.trees, trees.split_nodes, table_of(fixed), found, chosen, max(0, spared))


def ranges(fixed: FixedEnsemble, x: Features, names: Sequence[str]) -> Ranges:
    """Of float32[n, d], n > 0; names: of the inputs."""
    trees, kinds = fixed.ensemble, fixed.precision
    found = fixed.overflows(x)
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
                overflows=found.inputs[i],
            )
            for i, (name, scale) in enumerate(zip(names, fixed.scales, strict=True))
        ),
        low=float(scores.min()),
        high=float(scores.max()),
        step=kinds.score.step,
        holds=(kinds.score.lowest, kinds.score.highest),
        overflows=found.scores,
        thresholds=thresholds,
        leaves=leaves,
    )


def _thresholds(trees: Ensemble, feature: int) -> tuple[float, float] | None:
    found = trees.threshold[trees.feature == feature]
    return (float(found.min()), float(found.max())) if len(found) else None


def _without_overflow(fixed: FixedEnsemble, x: Features) -> FloatArray:
    """float64[n], in the steps of the type."""
    score = fixed.precision.score
    integer = min(MAX_WIDTH - score.fraction, MAX_INTEGER)
    roomy = replace(score, width=integer + score.fraction, integer=integer, signed=True)
    wide = FixedEnsemble(fixed.ensemble, replace(fixed.precision, score=roomy), fixed.scales)
    return wide.to_float(wide.predict(x))
