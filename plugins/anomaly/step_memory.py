"""Places in memory for the slots of a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import types

from trigemu.api import IntArray, address_of

from . import evaluator as do
from .steps import Array, Floats, Step, Trace
from .vector_code import LANES

_REDUCTIONS = (do.SUM, do.PRODUCT, do.LARGEST, do.SMALLEST)


@dataclass(frozen=True)
class Layout:
    """Steps with their places in memory, in units of float32, for `lanes` events side by side.

    steps: int64[s, WIDTH]. lists: int64, places that steps gather. weights: float32. memory: float32, with
    the constants written. at, out: places of the first input and of the score. lanes: 16 or 1.
    """

    steps: IntArray
    lists: IntArray
    weights: Floats
    memory: Floats
    at: int
    out: int
    lanes: int

    def bind(self) -> BoundSteps:
        """Return the steps with memory of their own, aligned to the 64 bytes of a vector."""
        memory = aligned(len(self.memory))
        memory[:] = self.memory
        arrays = self.steps, self.lists, self.weights, memory
        numbers = [*(int(array.ctypes.data) for array in arrays), len(self.steps), self.lanes]
        table = np.array(numbers, np.int64)
        at, out = (numbers[3] + 4 * place for place in (self.at, self.out))
        run = address_of(do.run_steps, types.intp(types.intp))
        return BoundSteps((run, int(table.ctypes.data), at, out), memory, table, self)


@dataclass(frozen=True)
class BoundSteps:
    """Steps with memory. addresses: of `run_steps`, of its table, of the input and of the score. memory:
    float32, of the layout's places."""

    addresses: tuple[int, int, int, int]
    memory: Floats
    table: IntArray
    layout: Layout


def needed_steps(trace: Trace, score: int) -> list[Step]:
    """Return the steps that the score depends on, without slots that it does not depend on."""
    uses = np.zeros(trace.slots, np.int64)
    uses[score] = 1
    chosen: list[Step] = []
    for step in reversed(trace.steps):
        used = uses[step.y] > 0
        if not used.any():
            continue
        weight, bias, operands = step.weight, step.bias, step.operands
        if weight is not None and bias is not None:
            weight, bias = weight[:, used], bias[used]
        else:
            operands = tuple(operand[used] for operand in operands)
        for operand in operands:
            np.add.at(uses, operand.ravel(), 1)
        chosen.append(Step(step.op, operands, step.y[used], weight, bias))
    return _with_relu(chosen[::-1], uses)


def _with_relu(steps: list[Step], uses: IntArray) -> list[Step]:
    """Let layers apply a ReLU that alone reads their result."""
    kept: list[Step] = []
    layer_of = {int(step.y[0]): step for step in steps if step.op == do.DENSE}
    for step in steps:
        layer = layer_of.get(int(step.operands[0].flat[0])) if step.op == do.RELU else None
        if layer and np.array_equal(layer.y, step.operands[0]) and (uses[layer.y] == 1).all():
            layer.y, layer.is_relu = step.y, True
        else:
            kept.append(step)
    return kept


def lay_out(trace: Trace, steps: list[Step], features: int, score: int, lanes: int) -> Layout:
    """Give the slots of steps places in memory."""
    return _Memory(trace, lanes).layout(steps, features, score)


class _Memory:
    def __init__(self, trace: Trace, lanes: int) -> None:
        self._constants, self._lanes = trace.constants, lanes
        self._place = np.full(trace.slots, -1, np.int64)
        self._size = 0
        self._written: list[tuple[int, float]] = []
        self._rows: list[tuple[int, ...]] = []
        self._lists: list[Array] = []
        self._weights: list[Array] = []

    def layout(self, steps: list[Step], features: int, score: int) -> Layout:
        at = self._new(np.arange(features))
        for step in steps:
            self._add(step)
        memory = np.zeros(self._size + LANES, np.float32)
        for place, value in self._written:
            memory[place : place + self._lanes] = value
        weights = aligned(sum(part.size for part in self._weights) + LANES)
        weights[:] = np.concatenate([*self._weights, np.zeros(LANES, np.float32)])
        lists = np.concatenate([*self._lists, np.empty(0, np.int64)])
        rows = np.array(self._rows, np.int64).reshape(-1, do.WIDTH)
        out = int(self._places(np.array([score]))[0])
        return Layout(rows, lists, weights, memory, at, out, self._lanes)

    def _add(self, step: Step) -> None:
        n, lanes = len(step.y), self._lanes
        if step.weight is not None and step.bias is not None:
            x = self._contiguous(step.operands[0])
            y = self._new(step.y)
            width = n if lanes > 1 else -(-n // LANES) * LANES
            padded = [
                np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, width - n)])
                for part in (step.weight, step.bias)
            ]
            weight, bias = (self._append(self._weights, part.ravel()) for part in padded)
            self._rows.append((do.DENSE, y, x, weight, bias, width, len(step.weight), step.is_relu))
        elif step.op in _REDUCTIONS:
            y = self._new(step.y)
            for number, group in enumerate(step.operands[0]):
                x = self._contiguous(group)
                self._rows.append((step.op, y + lanes * number, x, 0, 0, len(group), 0, 0))
        else:
            operands = [self._contiguous(slots) for slots in step.operands]
            vectors = n if lanes > 1 else -(-n // LANES)
            a, b, c = [*operands, 0, 0][:3]
            self._rows.append((step.op, self._new(step.y), a, b, c, vectors, 0, 0))

    def _new(self, slots: IntArray, count: int = 0) -> int:
        """Give slots consecutive places, and return the first."""
        first, n = self._size, len(slots) or count
        self._place[slots] = first + self._lanes * np.arange(len(slots))
        self._size += -(-n * self._lanes // LANES) * LANES
        return first

    def _append(self, parts: list[Array], part: Array) -> int:
        parts.append(part)
        return sum(len(other) for other in parts[:-1])

    def _places(self, slots: IntArray) -> IntArray:
        """Return the places of slots; constants get them here."""
        unplaced = np.unique(slots[self._place[slots] < 0])
        if len(unplaced):
            self._new_constants(unplaced)
        return self._place[slots]

    def _new_constants(self, slots: IntArray) -> int:
        first = self._new(slots)
        places = self._place[slots].tolist()
        self._written += [
            (place, self._constants[slot]) for place, slot in zip(places, slots.tolist(), strict=True)
        ]
        return first

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
        listed = self._append(self._lists, places)
        self._rows.append((do.COPY, first, listed, 0, 0, len(places), 0, 0))
        return first


def aligned(n: int) -> Floats:
    """Return an uninitialised float32[n] that is aligned to the 64 bytes of a vector."""
    raw = np.empty(4 * n + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 4 * n].view(np.float32)
