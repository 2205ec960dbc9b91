"""Precisions from data: bits before the point, steps, the values that occur, and how often they overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from trigemu_anomaly.fixed_point import MAX_INTEGER, MAX_WIDTH, SATURATING, ApFixed
from trigemu_anomaly.inputs import Features
from trigemu_anomaly.precision import PrecisionTable
from trigemu_anomaly.trees import Ensemble, FixedEnsemble, Precision

from trigemu.base import toml_text
from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.menus.menu import Menu
from trigemu.results.table import Column, Table

from .model import tree_model

#: The widths of arXiv:2508.10224, with the default rounding and overflow of ap_fixed.
PAPER_PRECISION = Precision(ApFixed(12, 12), ApFixed(12, 12), ApFixed(16, 4))
#: How many numbers of bits are tried, starting at a lower bound.
_TRIED = 8


@dataclass(frozen=True)
class Change:
    """What changes of types; None changes nothing."""

    input_bits: int | None = None  #: Width of inputs and thresholds
    score_bits: int | None = None  #: Width of leaves and score
    rounding: str | None = None  #: Rounding of thresholds and leaves, which are constants in firmware
    overflow: str | None = None  #: Overflow of inputs and thresholds

    def of(self, types: Precision) -> Precision:
        """Return the changed types."""

        def changed(kind: ApFixed, **changes: Any) -> ApFixed:
            return replace(kind, **{key: value for key, value in changes.items() if value})

        bits, rounding, overflow = self.input_bits, self.rounding, self.overflow
        return Precision(
            changed(types.input, width=bits, overflow=overflow),
            changed(types.threshold, width=bits, rounding=rounding, overflow=overflow),
            changed(types.score, width=self.score_bits, rounding=rounding),
        )


def types_of(menu: Menu, name: str) -> Precision:
    """Return the types of a trigger's precision, or the paper's if it has none."""
    fixed = tree_model(menu, name).fixed
    return fixed.precision if fixed else PAPER_PRECISION


def choose(ensemble: Ensemble, x: Features, names: Sequence[str], types: Precision) -> FixedEnsemble:
    """Choose the bits before the point of types with which nothing overflows for events x, float32[n, d].

    An input that needs fewer bits than another is scaled up; one that saturates only has to hold its
    thresholds. The score also holds 1, by which conifer multiplies it. names: of the inputs, for messages.
    """
    needed = {
        feature: _bits_of_input(x[:, feature], ensemble.threshold[ensemble.feature == feature], name, types)
        for feature, name in enumerate(names)
        if feature in ensemble.feature
    }
    integer = max(needed.values(), default=1)
    scales = tuple(integer - needed.get(feature, integer) for feature in range(ensemble.features))
    of_input, of_threshold = (replace(kind, integer=integer) for kind in (types.input, types.threshold))

    def fixed(bits: int) -> FixedEnsemble:
        score = replace(types.score, integer=bits)
        return FixedEnsemble(ensemble, Precision(of_input, of_threshold, score), scales)

    leaves = np.append(ensemble.value[ensemble.feature < 0], (ensemble.base, 1.0))
    name = f"the score of {ensemble.trees} trees"
    least = _bits_of(leaves, types.score, name)
    return fixed(_fewest(least, lambda bits: not fixed(bits).overflows(x).scores, types.score, name))


def _bits_of_input(x: Features, thresholds: FloatArray, name: str, types: Precision) -> int:
    """Return the bits before the point that an input, float32[n], and its thresholds need."""
    low, high, label = float(x.min()), float(x.max()), f"input {name!r}"
    if low == high:
        raise TrigemuError(
            f"{label} is {low:g} in all {len(x)} events, which gives no range: use samples in which it "
            f"varies, or set a precision for the trigger"
        )
    if types.input.overflow in SATURATING:
        low, high = max(low, np.nextafter(thresholds.min(), -np.inf)), thresholds.max()
    of_input = _bits_of(np.array([low, high, *thresholds]), types.input, label)
    return max(of_input, _bits_of(thresholds, types.threshold, label))


def _bits_of(values: FloatArray, kind: ApFixed, name: str) -> int:
    """Return the fewest bits before the point with which a type holds all these values."""
    size = float(np.abs(values).max())
    start = math.frexp(size)[1] - 1 if size > 0 else 1
    return _fewest(start, lambda bits: not replace(kind, integer=bits).overflows(values).any(), kind, name)


def _fewest(start: int, holds: Callable[[int], bool], kind: ApFixed, name: str) -> int:
    if bits := [*filter(holds, range(start, start + _TRIED))]:
        return bits[0]
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


def ranges(fixed: FixedEnsemble, x: Features, names: Sequence[str]) -> Ranges:
    """Return the ranges of inputs and scores of events, float32[n, d], n > 0; names: of the inputs."""
    trees, kinds, overflows = fixed.ensemble, fixed.precision, fixed.overflows(x)
    # Scores with the step of their type but without overflow.
    integer = min(MAX_WIDTH - kinds.score.fraction, MAX_INTEGER)
    roomy = replace(kinds.score, width=integer + kinds.score.fraction, integer=integer, signed=True)
    wide = FixedEnsemble(trees, replace(kinds, score=roomy), fixed.scales)
    scores = wide.to_float(wide.predict(x))
    inputs = []
    for i, (name, scale) in enumerate(zip(names, fixed.scales, strict=True)):
        cuts, unit = trees.threshold[trees.feature == i], 2.0**-scale
        ends = float(x[:, i].min()), float(x[:, i].max())
        between = (float(cuts.min()), float(cuts.max())) if len(cuts) else None
        held = kinds.input.lowest * unit, kinds.input.highest * unit
        step = kinds.input.step * unit
        inputs.append(InputRange(name, *ends, between, scale, step, held, overflows.inputs[i]))
    held = kinds.score.lowest, kinds.score.highest
    beyond = overflows.scores, *fixed.overflowing
    ends = float(scores.min()), float(scores.max())
    return Ranges(len(x), tuple(inputs), *ends, kinds.score.step, held, *beyond)


def as_toml(precision: PrecisionTable) -> str:
    """Return a precision as the line of a trigger in a menu."""
    keys = {k: v for k, v in msgspec.structs.asdict(precision).items() if v is not None}
    return toml_text.entry("precision", keys)


def _span(ends: tuple[float, float] | None) -> str:
    return "{:.6g} … {:.6g}".format(*ends) if ends else "none"


_COLUMNS = (
    Column("name", "key", ""),
    Column("events", "number", "events", of=lambda r: _span((r.low, r.high))),
    Column("thresholds", "number", "thresholds", of=lambda r: _span(r.thresholds)),
    Column("scale", "number", "scale", of=lambda r: f"2^{r.scale}" if r.scale else "1"),
    Column("step", "number", "step"),
    Column("holds", "number", "holds", of=lambda r: _span(r.holds)),
    Column("overflows", "number", "overflows", of=lambda r: str(r.overflows)),
)


def ranges_table(ranges: Ranges) -> Table:
    """Return a table of inputs and scores, and of what their types hold."""
    table = Table.of(_COLUMNS, ranges.inputs)
    span, held = _span((ranges.low, ranges.high)), _span(ranges.holds)
    table.add("score", span, "", "", ranges.step, held, str(ranges.overflows))
    return table


def remarks(precision: PrecisionTable, ranges: Ranges) -> Iterator[str]:
    """Yield what the types of inputs do, and could do better."""
    kind = ApFixed.parse(precision.input)
    overflow = any(input_range.overflows for input_range in ranges.inputs)
    if kind.overflow in SATURATING and overflow and not ranges.thresholds:
        yield "Inputs that overflow saturate beyond the last threshold, where all values decide alike."
    lowest = (low for r in ranges.inputs for low in (r.low, *(r.thresholds or ())))
    if kind.signed and all(low >= 0.0 for low in lowest):
        yield "No input is negative: ap_ufixed in the menu would use the sign bit for resolution."
