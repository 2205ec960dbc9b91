"""Kinds that compute nothing: `random` (crossings at a fixed rate), `stored` (a decision in the sample),
`external` (a bit of stored words)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray
from trigemu.observables.expressions import Constant, Relation, Scalar
from trigemu.observables.workspace import Workspace
from trigemu.triggers.base import BitKind, Compiled, Context, Kind


class Random(BitKind, frozen=True):
    """The trigger kind `random`: it fires in every event, with a prescale of the crossing rate over
    `rate_hz`.

    Attributes
    ----------
    rate_hz : float
        The rate in Hz, before its prescale.
    """

    rate_hz: Annotated[float, msgspec.Meta(gt=0)]

    def decide(self, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
        return np.ones(n, np.bool_)

    def own_prescale(self, crossing_rate_hz: float) -> float:
        return crossing_rate_hz / self.rate_hz


class Stored(Kind, frozen=True):
    """The trigger kind `stored`: it fires if a decision that is stored in the sample is true.

    Attributes
    ----------
    decision : str
        The name of the stored decision.
    """

    decision: Annotated[str, msgspec.Meta(min_length=1)]

    def compile(self, context: Context) -> CompiledStored:
        return CompiledStored(context.stored(self.decision))


@dataclass(frozen=True)
class CompiledStored(Compiled):
    """A compiled trigger that repeats a decision recorded in the sample."""

    column: str  # Of decisions, 0 or 1
    threshold: None = None

    @property
    def condition(self) -> Relation:
        return Relation("!=", Scalar(self.column), Constant(0.0))

    def evaluate(self, work: Workspace) -> BoolArray:
        return self.condition.evaluate(work)


class External(Kind, frozen=True):
    """The trigger kind `external`: it fires if a bit that is stored in the sample is set.

    Attributes
    ----------
    bit : int
        The number of the bit.
    crossing : int
        The crossing of the bit, relative to that of the event: −2 to 2.
    word : str
        The name of the columns that hold the bits, without their number.
    """

    bit: Annotated[int, msgspec.Meta(ge=0)]
    crossing: Annotated[int, msgspec.Meta(ge=-2, le=2)] = 0
    word: Annotated[str, msgspec.Meta(min_length=1)] = "external"

    def compile(self, context: Context) -> CompiledExternal:
        column = context.scalar(f"{self.word}_{self.bit // 64}")
        return CompiledExternal(column, self.bit % 64, self.crossing)


@dataclass(frozen=True)
class CompiledExternal(Compiled):
    """A compiled trigger that fires if a bit of a word in the sample is set."""

    column: str  # Of words, with one value per event
    bit: int
    crossing: int  # Relative to that of the event
    threshold: None = None

    @property
    def margin(self) -> int:
        return abs(self.crossing)

    def evaluate(self, work: Workspace) -> BoolArray:
        is_set = (work.scalar(self.column).astype(np.int64, copy=False) >> self.bit & 1).astype(np.bool_)
        nearby = np.arange(len(is_set)) + self.crossing
        exists = (nearby >= 0) & (nearby < len(is_set))
        return exists & is_set.take(nearby, mode="clip")
