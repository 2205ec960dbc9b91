"""Steps: a network as operations on the numbers of an event, which the kernels of `evaluator` run.

Each number has a *slot*. Values are arrays of slots, so that an operator that only moves numbers makes an
array of other slots, and no step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import IntArray

from . import evaluator as do
from .onnx_graph import FLOAT

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]

#: Largest networks: weights, numbers of an event, numbers of an arrangement, and operations on an event.
MAX_WEIGHTS, MAX_SLOTS, MAX_SIZE, MAX_WORK = 200_000, 2**16, 2**20, 2**22


class UnknownError(Exception):
    """Raised for a part of a model that has no steps; ONNX Runtime evaluates the model."""


@dataclass(frozen=True)
class Value:
    """Numbers of an event. slots: int64, without the axis of events. kind: FLOAT, BOOL or DOUBLE."""

    slots: IntArray
    kind: int = FLOAT


@dataclass
class Step:
    """A step, from the slots of operands to the slots y. weight, bias: [n_in, n_out] and [n_out] of a layer;
    last: its last number (`evaluator.WIDTH`); listed: int64, further numbers of the step; is_whole: they
    belong to all of y, which cannot be computed in part."""

    op: int
    operands: tuple[IntArray, ...]
    y: IntArray
    weight: Array | None = None
    bias: Array | None = None
    last: int = 0
    listed: IntArray | None = None
    is_whole: bool = False


@dataclass
class Trace:
    """The steps of a graph, and the slots that are constants."""

    steps: list[Step] = field(default_factory=list)
    constants: dict[int, float] = field(default_factory=dict)
    slots: int = 0
    weights: int = 0
    work: int = 0

    def new(self, *shape: int) -> IntArray:
        n = math.prod(shape)
        self.slots += n
        if self.slots > MAX_SLOTS:
            raise UnknownError(f"more than {MAX_SLOTS} numbers an event")
        return np.arange(self.slots - n, self.slots).reshape(shape)

    def constant(self, values: Array) -> IntArray:
        slots = self.new(*np.shape(values))
        self.constants.update(zip(slots.ravel().tolist(), np.ravel(values).tolist(), strict=True))
        return slots

    def add(self, work: int, *steps: Step) -> None:
        """Add steps of this many operations."""
        self.work += work
        if self.work > MAX_WORK:
            raise UnknownError(f"more than {MAX_WORK} operations an event")
        self.steps += steps

    def count_weights(self, number: int) -> None:
        self.weights += number
        if self.weights > MAX_WEIGHTS:
            raise UnknownError(f"more than {MAX_WEIGHTS} weights")

    def elementwise(self, op: int, *operands: Operand, kind: int = FLOAT) -> Value:
        """Add a step on operands that are broadcast to one shape."""
        ranks = {value.slots.ndim for value in operands if isinstance(value, Value)}
        if len(ranks) != 1:
            raise UnknownError("values of different ranks")
        (rank,) = ranks
        slots: list[IntArray] = []
        for value in operands:
            if isinstance(value, Value):
                slots.append(value.slots)
                continue
            if value.ndim == rank + 1 and value.shape[0] == 1:
                value = value[0]
            if value.ndim > rank:
                raise UnknownError("a constant with an axis for events")
            slots.append(self.constant(value))
        try:
            slots = list(np.broadcast_arrays(*slots))
        except ValueError:
            raise UnknownError("shapes that do not match") from None
        y = self.new(*slots[0].shape)
        self.add(y.size, Step(op, tuple(one.ravel() for one in slots), y.ravel()))
        return Value(y, kind)

    def summed(self, x: Value, axes: Sequence[int], keep: bool) -> Value:
        """Add steps that sum along axes of an event's numbers."""
        shape = x.slots.shape
        others = [axis for axis in range(len(shape)) if axis not in axes]
        groups = x.slots.transpose(*others, *axes).reshape(math.prod(shape[a] for a in others), -1)
        if not groups.shape[1]:
            raise UnknownError("a sum of nothing")
        y = self.new(len(groups))
        one, zero = np.ones((groups.shape[1], 1), np.float32), np.zeros(1, np.float32)
        for number, group in enumerate(groups):  # layers whose weights are 1
            self.add(group.size, Step(do.SUM, (group,), y[number : number + 1], one, zero))
        kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
        return Value(y.reshape(kept if keep else [shape[axis] for axis in others]))

    def layer(self, x: Value, weight: Floats, bias: Floats) -> Value:
        """Add y = bias + x weight along the last axis."""
        self.count_weights(weight.size)
        if x.slots.ndim < 1 or x.slots.shape[-1] != len(weight) or not weight.size:
            raise UnknownError("a layer of another width")
        y = self.new(*x.slots.shape[:-1], weight.shape[1])
        rows = x.slots.reshape(-1, len(weight)), y.reshape(-1, weight.shape[1])
        for of_x, of_y in zip(*rows, strict=True):
            self.add(weight.size, Step(do.LAYER, (of_x,), of_y, weight, bias))
        return Value(y)


Operand = Value | Array


def check_size(size: int) -> None:
    """Raise UnknownError for too large an array."""
    if size > MAX_SIZE:
        raise UnknownError(f"an array of over {MAX_SIZE} numbers")
