"""A network as steps in memory, of float32 or of words, which the kernels run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.kernels import address_of

from . import evaluator as do
from .evaluator import score_blocks
from .input_kernels import Features
from .single_row import Row, ScoreModel
from .steps import Array, Step, Trace
from .vectors import LANES

#: What runs the steps of each type of numbers.
_RUN = {
    np.dtype(np.float32): do.run_floats,
    np.dtype(np.int32): do.run_short_words,
    np.dtype(np.int64): do.run_long_words,
}


@dataclass(frozen=True)
class Layout:
    """Steps with their places in memory, in units of a number, for `lanes` events side by side. steps:
    int64[s, WIDTH]. lists: int64, places that steps gather, and further numbers of steps. weights, memory:
    numbers of the type; the constants are written. at, out: places of the first input and of the score, which
    are float32. lanes: 16 or 1."""

    steps: IntArray
    lists: IntArray
    weights: Array
    memory: Array
    at: int
    out: int
    lanes: int

    def bind(self, features: int) -> Row:
        """Return the steps with memory of their own, aligned to the 64 bytes of a vector, as the row of a
        model of this many features, which are read where they are, those of all lanes."""
        kind = self.memory.dtype
        memory, size = aligned(len(self.memory), kind), kind.itemsize
        memory[:] = self.memory
        arrays = self.steps, self.lists, self.weights, memory
        score = np.zeros(1)
        numbers = [*(int(array.ctypes.data) for array in arrays), len(self.steps), self.lanes, size]
        table = np.array([*numbers, numbers[3] + size * self.out, score.ctypes.data], np.int64)
        start = self.at * size // 4
        x = memory.view(np.float32)[start : start + features * self.lanes]
        run = address_of(_RUN[kind], types.intp(types.intp))
        return Row(x, score, run, int(table.ctypes.data), memory=(self, memory, table))


def needed_steps(trace: Trace, score: int) -> list[Step]:
    """Return the steps that the score depends on, without slots that it does not depend on."""
    uses = np.zeros(trace.slots, np.int64)
    uses[score] = 1
    chosen: list[Step] = []
    for step in reversed(trace.steps):
        used = uses[step.y] > 0
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
            np.add.at(uses, operand.ravel(), 1)
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


class Memory:
    """Gives slots places in memory, for numbers of a type and for `lanes` events side by side."""

    def __init__(self, trace: Trace, lanes: int, kind: npt.DTypeLike) -> None:
        self._constants, self._lanes, self._kind = trace.constants, lanes, kind
        self._place = np.full(trace.slots, -1, np.int64)
        self._size = 0
        self._written: list[tuple[int, float]] = []
        self._rows: list[tuple[int, ...]] = []
        self._lists: list[int] = []
        self._weights: list[float] = []
        self._shared: dict[int, int] = {}

    def layout(self, steps: list[Step], features: int, score: int) -> Layout:
        first = self._new(np.arange(features))
        for step in steps:
            self._add(step)
        kind = self._kind
        memory = np.zeros(self._size + LANES, kind)
        for place, value in self._written:
            memory[place : place + self._lanes] = value
        weights = aligned(len(self._weights) + LANES, kind)
        weights[:] = np.array([*self._weights, *[0] * LANES], kind)
        lists = np.array(self._lists, np.int64)
        rows = np.array(self._rows, np.int64).reshape(-1, do.WIDTH)
        out = int(self._places(np.array([score]))[0])
        return Layout(rows, lists, weights, memory, first, out, self._lanes)

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
            operands = [self._contiguous(slots) for slots in step.operands]
            vectors = n if lanes > 1 or step.is_whole else -(-n // LANES)
            a, b, c = [*operands, 0, 0][:3]
            if step.listed is not None:
                c = _appended(self._lists, step.listed)
            self._rows.append((step.op, self._new(step.y), a, b, c, vectors, 0, 0))

    def _weights_at(self, part: Array, width: int) -> int:
        """Return where weights begin, each row of this width; several layers may share them."""
        if id(part) not in self._shared:
            padded = np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, width - part.shape[-1])])
            self._shared[id(part)] = _appended(self._weights, padded.ravel())
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
        listed = _appended(self._lists, places)
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

    def __init__(
        self, trace: Trace, steps: list[Step], features: int, score: int, kind: npt.DTypeLike = np.float32
    ) -> None:
        self.engine = KERNELS
        self._features = features
        self._blocks, self._row = (
            Memory(trace, lanes, kind).layout(steps, features, score) for lanes in (LANES, 1)
        )
        self._free: list[Row] = []  # steps with memory that no other thread uses

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a network of {self._features} features got an array {features.shape}")
        scores = np.empty(len(features))
        block = self._free.pop() if self._free else self._blocks.bind(self._features)
        x = np.ascontiguousarray(features, np.float32)
        score_blocks(block.function, block.arguments, block.features.ctypes.data, x, scores)
        self._free.append(block)
        return scores

    def row(self) -> Row:
        return self._row.bind(self._features)
