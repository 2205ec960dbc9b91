"""Steps: a network as operations on the numbers of an event, and their places in memory, where the kernels of
`evaluator` run them.

Each number has a *slot*. Values are arrays of slots, so that an operator that only moves numbers makes an
array of other slots, and no step.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.kernels import address_of

from . import evaluator as do
from .input_kernels import Features
from .onnx_graph import FLOAT
from .single_row import Row, ScoreModel
from .vectors import LANES

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


#: What runs the steps of each type of numbers.
_RUN = {
    np.dtype(np.float32): do.run_floats,
    np.dtype(np.int32): do.run_short_words,
    np.dtype(np.int64): do.run_long_words,
}


def needed_steps(trace: Trace, score: int) -> list[Step]:
    """Return the steps that the score depends on, without slots that it does not depend on."""
    needed = np.zeros(trace.slots, np.bool_)
    needed[score] = True
    chosen: list[Step] = []
    for step in reversed(trace.steps):
        used = needed[step.y]
        if not used.any():
            continue
        if step.is_whole:
            used[:] = True
        weight, bias, operands = step.weight, step.bias, step.operands
        if weight is not None and bias is not None:
            if not used.all():
                weight, bias = weight[:, used], bias[used]
        else:
            operands = tuple(operand[used] for operand in operands)
        for operand in operands:
            needed[operand] = True
        chosen.append(replace(step, operands=operands, y=step.y[used], weight=weight, bias=bias))
    return chosen[::-1]


def with_relu(steps: list[Step], score: int) -> list[Step]:
    """Let layers of float32 apply a ReLU that alone reads their result."""
    kept: list[Step] = []
    read = Counter(slot for step in steps for operand in step.operands for slot in operand.ravel().tolist())
    read[score] += 1
    layer_of = {int(step.y[0]): step for step in steps if step.op == do.LAYER}
    for step in steps:
        layer = layer_of.get(int(step.operands[0].flat[0])) if step.op == do.RELU else None
        if (
            layer
            and np.array_equal(layer.y, step.operands[0])
            and all(read[slot] == 1 for slot in layer.y.tolist())
        ):
            layer.y, layer.last = step.y, True
        else:
            kept.append(step)
    return kept


class Layout:
    """Steps with their places in memory, in units of a number, for `lanes` events side by side, 16 or 1."""

    def __init__(
        self, trace: Trace, steps: list[Step], features: int, score: int, lanes: int, kind: npt.DTypeLike
    ) -> None:
        self._constants, self._lanes, self._features = trace.constants, lanes, features
        self._place = np.full(trace.slots, -1, np.int64)
        self._size = 0
        self._written: list[tuple[int, float]] = []
        self._rows: list[tuple[int, ...]] = []
        self._listed: list[int] = []
        self._weighed: list[float] = []
        self._shared: dict[int, int] = {}
        self._first = self._new(np.arange(features))
        for step in steps:
            self._add(step)
        self._out = int(self._places(np.array([score]))[0])
        self._memory = np.zeros(self._size + LANES, kind)
        for place, value in self._written:
            self._memory[place : place + lanes] = value
        self._weights = aligned(len(self._weighed) + LANES, kind)
        self._weights[:] = np.array([*self._weighed, *[0] * LANES], kind)
        self._steps = np.array(self._rows, np.int64).reshape(-1, do.WIDTH)
        self._lists = np.array(self._listed, np.int64)

    def bind(self) -> Row:
        """Return the steps with memory of their own, aligned to the 64 bytes of a vector, as the row of a
        model, whose features are read where they are, those of all lanes."""
        kind = self._memory.dtype
        memory, size = aligned(len(self._memory), kind), kind.itemsize
        memory[:] = self._memory
        arrays = self._steps, self._lists, self._weights, memory
        score = np.zeros(1)
        numbers = [*(int(array.ctypes.data) for array in arrays), len(self._steps), self._lanes, size]
        table = np.array([*numbers, numbers[3] + size * self._out, score.ctypes.data], np.int64)
        start = self._first * size // 4
        x = memory.view(np.float32)[start : start + self._features * self._lanes]
        run = address_of(_RUN[kind], types.intp(types.intp))
        return Row(x, score, run, int(table.ctypes.data), memory=(self, memory, table))

    def _add(self, step: Step) -> None:
        n, lanes = len(step.y), self._lanes
        if step.weight is not None and step.bias is not None:
            x = self._contiguous(step.operands[0])
            y = self._new(step.y)
            if step.op == do.SUM and lanes == 1:
                self._rows.append((do.SUM, y, x, 0, 0, len(step.weight), 0, 0))
                return
            width = n if lanes > 1 else -(-n // LANES) * LANES
            weight, bias = (self._weights_at(part, width) for part in (step.weight, step.bias))
            self._rows.append((do.LAYER, y, x, weight, bias, width, len(step.weight), step.last))
        else:
            a, b, c = [*map(self._contiguous, step.operands), 0, 0][:3]
            vectors = n if lanes > 1 or step.is_whole else -(-n // LANES)
            if step.listed is not None:
                c = _appended(self._listed, step.listed)
            self._rows.append((step.op, self._new(step.y), a, b, c, vectors, 0, 0))

    def _weights_at(self, part: Array, width: int) -> int:
        """Return where weights begin, each row of this width; several layers may share them."""
        if id(part) not in self._shared:
            padded = np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, width - part.shape[-1])])
            self._shared[id(part)] = _appended(self._weighed, padded.ravel())
        return self._shared[id(part)]

    def _new(self, slots: IntArray, count: int = 0) -> int:
        """Give slots consecutive places, and return the first."""
        first, n = self._size, len(slots) or count
        self._place[slots] = first + self._lanes * np.arange(len(slots))
        self._size += -(-n * self._lanes // LANES) * LANES
        return first

    def _places(self, slots: IntArray) -> IntArray:
        """Return the places of slots; constants get them here."""
        unplaced = np.unique(slots[self._place[slots] < 0])
        if len(unplaced):
            self._new(unplaced)
            self._written += [(int(self._place[slot]), self._constants[slot]) for slot in unplaced.tolist()]
        return self._place[slots]

    def _contiguous(self, slots: IntArray) -> int:
        """Return the first of consecutive places of slots; a step copies them there if need be."""
        if all(slot in self._constants for slot in slots.tolist()):
            first = self._new(np.empty(0, np.int64), len(slots))
            values = (self._constants[slot] for slot in slots.tolist())
            self._written += [(first + self._lanes * i, value) for i, value in enumerate(values)]
            return first
        places = self._places(slots)
        if (np.diff(places) == self._lanes).all():
            return int(places[0])
        first = self._new(np.empty(0, np.int64), len(slots))
        if self._lanes == 1:
            places = np.pad(places, (0, -len(places) % LANES), constant_values=places[0])
        listed = _appended(self._listed, places)
        self._rows.append((do.COPY, first, listed, 0, 0, len(places), 0, 0))
        return first


def _appended(numbers: list[Any], part: Array) -> int:
    """Append an array, and return where it begins."""
    numbers += part.tolist()
    return len(numbers) - len(part)


def aligned(n: int, kind: npt.DTypeLike) -> Array:
    """Return n uninitialised numbers, aligned to the 64 bytes of a vector."""
    raw = np.empty(np.dtype(kind).itemsize * n + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : len(raw) - 64 + start].view(kind)


#: The engine of a network whose operators all have steps.
KERNELS = "trigemu's kernels"


class StepModel(ScoreModel):
    """The steps of a score; `features` inputs have the first slots, score is the slot of the score."""

    def __init__(self, trace: Trace, features: int, score: int, kind: npt.DTypeLike = np.float32) -> None:
        self.engine, self._features = KERNELS, features
        steps = with_relu(needed_steps(trace, score), score)
        self._blocks, self._row = (Layout(trace, steps, features, score, lanes, kind) for lanes in (LANES, 1))
        self._free: list[Row] = []  # steps with memory that no other thread uses

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a network of {self._features} features got an array {features.shape}")
        scores = np.empty(len(features))
        block = self._free.pop() if self._free else self._blocks.bind()
        x = np.ascontiguousarray(features, np.float32)
        do.score_blocks(block.function, block.arguments, block.features.ctypes.data, x, scores)
        self._free.append(block)
        return scores

    def row(self) -> Row:
        return self._row.bind()
