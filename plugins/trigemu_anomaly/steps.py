"""Steps: a network as operations on the numbers of an event, and their places in memory, where the kernels of
`evaluator` run them.

Each number has a *slot*. Values are arrays of slots, so that an operator that only moves numbers makes an
array of other slots, and no step.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.kernels import address_of

from . import evaluator as do
from .inputs import Features
from .onnx_graph import FLOAT
from .single_row import Row, ScoreModel
from .vectors import LANES

Array = npt.NDArray[Any]
#: The engine of a network whose operators all have steps.
KERNELS = "trigemu's kernels"
#: Largest networks: numbers of an event, and operations on them.
MAX_SLOTS, MAX_WORK = 2**16, 2**22
#: What runs the steps of each type of numbers.
_RUN = {
    np.dtype(np.float32): do.run_floats,
    np.dtype(np.int32): do.run_short_words,
    np.dtype(np.int64): do.run_long_words,
}


class UnknownError(Exception):
    """Raised for a part of a model that has no steps; ONNX Runtime evaluates the model."""


@dataclass(frozen=True)
class Value:
    """Numbers of an event: a row [events, n], or [events]."""

    slots: IntArray  # int64[n]
    kind: int = FLOAT  # FLOAT, BOOL or DOUBLE
    is_flat: bool = False  # Whether it is [events], of one number


Operand = Value | Array


@dataclass
class Step:
    """A step, from the slots of operands to the slots y."""

    op: int
    operands: tuple[IntArray, ...]
    y: IntArray
    weight: Array | None = None  # [n_in, n_out] of a layer
    bias: Array | None = None  # [n_out]
    last: int = 0  # The last number of a layer (`evaluator.WIDTH`)
    listed: IntArray | None = None  # Further numbers of the step


@dataclass
class Trace:
    """The steps of a network, and the slots that are constants."""

    steps: list[Step] = field(default_factory=list)
    constants: dict[int, float] = field(default_factory=dict)
    slots: int = 0
    work: int = 0

    def new(self, n: int) -> IntArray:
        """Return n new slots."""
        self.slots += n
        if self.slots > MAX_SLOTS:
            raise UnknownError(f"more than {MAX_SLOTS} numbers an event")
        return np.arange(self.slots - n, self.slots)

    def constant(self, values: Array) -> IntArray:
        """Return slots of constants, [n]."""
        slots = self.new(len(values))
        self.constants.update(zip(slots.tolist(), values.tolist(), strict=True))
        return slots

    def add(self, work: int, *steps: Step) -> None:
        """Add steps of this many operations."""
        self.work += work
        if self.work > MAX_WORK:
            raise UnknownError(f"more than {MAX_WORK} operations an event")
        self.steps += steps

    def broadcast(self, *operands: Operand) -> tuple[list[IntArray], bool]:
        """Return the slots of operands, of which constants and single numbers are repeated, and whether the
        values are flat."""
        flat, *others = {x.is_flat for x in operands if isinstance(x, Value)}
        constants = [x.shape for x in operands if not isinstance(x, Value)]
        if others or any(len(shape) > 2 - flat or shape[:-1] not in ((), (1,)) for shape in constants):
            raise UnknownError("values of different ranks")
        slots = [x.slots if isinstance(x, Value) else self.constant(x.ravel()) for x in operands]
        slots = list(np.broadcast_arrays(*slots))
        if flat and len(slots[0]) != 1:
            raise UnknownError("a sum beside several constants")
        return slots, flat

    def elementwise(self, op: int, *operands: Operand, kind: int = FLOAT) -> Value:
        """Add a step on operands."""
        slots, flat = self.broadcast(*operands)
        y = self.new(len(slots[0]))
        self.add(len(y), Step(op, tuple(slots), y))
        return Value(y, kind, flat)

    def summed(self, x: Value, is_flat: bool) -> Value:
        """Add the sum of the numbers of an event: a layer whose weights are 1."""
        y, n = self.new(1), len(x.slots)
        if not n:
            raise UnknownError("a sum of nothing")
        self.add(n, Step(do.SUM, (x.slots,), y, np.ones((n, 1), np.float32), np.zeros(1, np.float32)))
        return Value(y, is_flat=is_flat)

    def layer(self, x: Value, weight: Array, bias: Array) -> Value:
        """Add y = bias + x weight."""
        if weight.ndim != 2 or len(x.slots) != len(weight) or not weight.size:
            raise UnknownError("a layer of another width")
        y = self.new(weight.shape[1])
        self.add(weight.size, Step(do.LAYER, (x.slots,), y, weight, bias))
        return Value(y)

    def needed(self, score: int) -> list[Step]:
        """Return the steps that the score depends on, without slots that it does not depend on. Layers of
        float32 apply a ReLU that alone reads their result."""
        needed = np.zeros(self.slots, np.bool_)
        needed[score] = True
        steps: list[Step] = []
        for step in reversed(self.steps):
            used = needed[step.y]
            if not used.any():
                continue
            if step.op in do.WHOLE:
                used[:] = True
            weight, bias, operands = step.weight, step.bias, step.operands
            if weight is None or bias is None:
                operands = tuple(operand[used] for operand in operands)
            elif not used.all():
                weight, bias = weight[:, used], bias[used]
            for operand in operands:
                needed[operand] = True
            steps.append(replace(step, operands=operands, y=step.y[used], weight=weight, bias=bias))
        read = Counter(slot for step in steps for operand in step.operands for slot in operand.tolist())
        read[score] += 1
        layer_of = {int(step.y[0]): step for step in steps if step.op == do.LAYER}
        kept: list[Step] = []
        for step in reversed(steps):
            layer = layer_of.get(int(step.operands[0][0])) if step.op == do.RELU else None
            if (
                layer
                and np.array_equal(layer.y, step.operands[0])
                and all(read[s] == 1 for s in layer.y.tolist())
            ):
                layer.y, layer.last = step.y, True
            else:
                kept.append(step)
        return kept


class Layout:
    """Steps with their places in memory, in units of a number, for `lanes` events side by side, 16 or 1."""

    def __init__(self, trace: Trace, features: int, score: int, lanes: int, kind: npt.DTypeLike) -> None:
        self._constants, self._lanes, self._features = trace.constants, lanes, features
        self._place = np.full(trace.slots, -1, np.int64)
        self._size = 0
        self._written: list[tuple[int, float]] = []
        self._rows: list[tuple[int, ...]] = []
        self._listed: list[int] = []
        self._weighed: list[float] = []
        self._shared: dict[int, int] = {}
        self._first = self._new(features, np.arange(features))
        self._needed = trace.needed(score)  # held, so that no two weights have the same id
        for step in self._needed:
            self._add(step)
        self._out = int(self._places(np.array([score]))[0])
        self._memory = np.zeros(self._size + LANES, kind)
        for place, value in self._written:
            self._memory[place : place + lanes] = value
        self._weights = _aligned(len(self._weighed) + LANES, kind)
        self._weights[:] = np.array([*self._weighed, *[0] * LANES], kind)
        self._steps = np.array(self._rows, np.int64).reshape(-1, do.WIDTH)
        self._lists = np.array(self._listed, np.int64)

    def bind(self) -> Row:
        """Return the steps with memory of their own, as the row of a model, whose features are read where
        they are, those of all lanes."""
        kind = self._memory.dtype
        memory, size = _aligned(len(self._memory), kind), kind.itemsize
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
            x, y, n_in = self._contiguous(step.operands[0]), self._new(n, step.y), len(step.weight)
            if step.op == do.SUM and lanes == 1:
                self._rows.append((do.SUM, y, x, 0, 0, n_in, 0, 0))
                return
            width = n if lanes > 1 else -(-n // LANES) * LANES
            weight, bias = (self._weights_at(part, width) for part in (step.weight, step.bias))
            self._rows.append((do.LAYER, y, x, weight, bias, width, n_in, step.last))
            return
        a, b, c = [*map(self._contiguous, step.operands), 0, 0][:3]
        vectors = n if lanes > 1 or step.op in do.WHOLE else -(-n // LANES)
        if step.listed is not None:
            c = _appended(self._listed, step.listed)
        self._rows.append((step.op, self._new(n, step.y), a, b, c, vectors, 0, 0))

    def _weights_at(self, part: Array, width: int) -> int:
        """Return where weights begin, each row of this width; several layers may share them."""
        if id(part) not in self._shared:
            padded = np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, width - part.shape[-1])])
            self._shared[id(part)] = _appended(self._weighed, padded.ravel())
        return self._shared[id(part)]

    def _new(self, n: int, slots: IntArray | None = None) -> int:
        """Return the first of n new consecutive places, which become those of the slots."""
        first = self._size
        if slots is not None:
            self._place[slots] = first + self._lanes * np.arange(n)
        self._size += -(-n * self._lanes // LANES) * LANES
        return first

    def _places(self, slots: IntArray) -> IntArray:
        """Return the places of slots; constants get them here."""
        unplaced = np.unique(slots[self._place[slots] < 0])
        if len(unplaced):
            self._new(len(unplaced), unplaced)
            self._written += [(int(self._place[slot]), self._constants[slot]) for slot in unplaced.tolist()]
        return self._place[slots]

    def _contiguous(self, slots: IntArray) -> int:
        """Return the first of consecutive places of slots; a step copies them there if need be."""
        if all(slot in self._constants for slot in slots.tolist()):
            first = self._new(len(slots))
            values = (self._constants[slot] for slot in slots.tolist())
            self._written += [(first + self._lanes * i, value) for i, value in enumerate(values)]
            return first
        places = self._places(slots)
        if (np.diff(places) == self._lanes).all():
            return int(places[0])
        first = self._new(len(slots))
        if self._lanes == 1:
            places = np.pad(places, (0, -len(places) % LANES), constant_values=places[0])
        listed = _appended(self._listed, places)
        self._rows.append((do.COPY, first, listed, 0, 0, len(places), 0, 0))
        return first


def _appended(numbers: list[Any], part: Array) -> int:
    """Append an array, and return where it begins."""
    numbers += part.tolist()
    return len(numbers) - len(part)


def _aligned(n: int, kind: npt.DTypeLike) -> Array:
    """Return n uninitialised numbers, aligned to the 64 bytes of a vector."""
    raw = np.empty(np.dtype(kind).itemsize * n + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : len(raw) - 64 + start].view(kind)


class StepModel(ScoreModel):
    """The steps of a score; `features` inputs have the first slots, score is the slot of the score."""

    def __init__(self, trace: Trace, features: int, score: int, kind: npt.DTypeLike = np.float32) -> None:
        self.engine, self._features = KERNELS, features
        self._blocks, self._row = (Layout(trace, features, score, lanes, kind) for lanes in (LANES, 1))
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
