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
    """Numbers of an event. slots: int64[1, …], whose first axis is that of the events. kind: FLOAT, BOOL or
    DOUBLE."""

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

    def broadcast(self, operands: Sequence[Operand]) -> list[IntArray]:
        """Return the slots of operands, of one shape; constants get slots here."""
        rank, *others = {value.slots.ndim for value in operands if isinstance(value, Value)}
        if others or any(value.ndim > rank for value in operands if not isinstance(value, Value)):
            raise UnknownError("values of different ranks")
        slots = (x.slots if isinstance(x, Value) else self.constant(x) for x in operands)
        return list(np.broadcast_arrays(*slots))

    def elementwise(self, op: int, *operands: Operand, kind: int = FLOAT) -> Value:
        """Add a step on operands that are broadcast to one shape."""
        slots = self.broadcast(operands)
        y = self.new(*slots[0].shape)
        self.add(y.size, Step(op, tuple(one.ravel() for one in slots), y.ravel()))
        return Value(y, kind)

    def summed(self, x: Value, axes: Sequence[int], keep: bool) -> Value:
        """Add steps that sum along axes, ascending."""
        groups = np.moveaxis(x.slots, axes, range(-len(axes), 0))
        shape, size = groups.shape[: -len(axes)], math.prod(groups.shape[-len(axes) :])
        if not size:
            raise UnknownError("a sum of nothing")
        y = self.new(*shape)
        one, zero = np.ones((size, 1), np.float32), np.zeros(1, np.float32)
        for slot, group in zip(y.reshape(-1, 1), groups.reshape(-1, size), strict=True):
            self.add(size, Step(do.SUM, (group,), slot, one, zero))  # a layer whose weights are 1
        return Value(np.expand_dims(y, tuple(axes)) if keep else y)

    def layer(self, x: Value, weight: Floats, bias: Floats) -> Value:
        """Add y = bias + x weight along the last axis."""
        self.count_weights(weight.size)
        if x.slots.ndim < 2 or x.slots.shape[-1] != len(weight) or not weight.size:
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
