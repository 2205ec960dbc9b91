"""Models with one score per event: all rows in one call; one event at a time, and the decision on it.

A row is memory for the inputs and the score of a model, and what computes one from the other: a C function,
or, where that cannot be compiled, a Python function. The machine of single events calls one C function for
the whole decision, which calls those of the models by their addresses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numba import types

from trigemu.base.arrays import Array, FloatArray
from trigemu.base.kernels import address_of, c_function, call_function, kernel
from trigemu.observables.expressions import Condition
from trigemu.samples.events import Events

from .inputs import Features, Inputs
from .vectors import numbers_at

_integer, _ = numbers_at(types.int64)
_double, _ = numbers_at(types.float64)


@dataclass(frozen=True)
class Row:
    """A model for one event. Addresses are valid as long as the object exists."""

    features: Features  # float32[k], which the caller writes
    score: FloatArray  # float64[1], which a call writes
    function: int = 0  # The address of a C function intp(intp); 0 if `python` has to be called
    arguments: int = 0  # The argument of the function
    python: Callable[[], object] | None = None  # Writes the score where there is no C function
    memory: object = None  # What is at the addresses

    def evaluate(self) -> float:
        """Compute the score of the features."""
        if self.python:
            self.python()
        else:
            call(self.function, self.arguments)
        return float(self.score[0])


class ScoreModel(ABC):
    """A model with one score per event. Not picklable: created in each process."""

    engine: str  # What evaluates it, and why
    notes: tuple[str, ...] = ()  # What a reader of its file has to know; each follows the name of the file
    names: tuple[str, ...] = ()  # Of its inputs in the file, in the order of the card; () if it has none

    @abstractmethod
    def score(self, features: Features) -> FloatArray:
        """Return the scores float64[n] of features float32[n, k] in one call without the GIL."""

    @abstractmethod
    def row(self) -> Row:
        """Return memory for one event at a time."""

    def bound(self, features: Features) -> Callable[[], Array] | None:
        """Return a function that runs ONNX Runtime on what these rows contain then, if possible."""
        return None


@kernel
def call(function: int, arguments: int) -> int:
    """Call a C function at an address."""
    return call_function(function, arguments)  # type: ignore[no-any-return]


class Decision:
    """Whether the score of a row, less that of another one if it is given, is above a threshold, for inputs
    that were written to their memory. native: the same as machine code, the address of a C function
    intp(intp) and its argument, unless a row is a Python function."""

    def __init__(self, row: Row, threshold: float, less: Row | None = None) -> None:
        self._row, self._threshold, self._less = row, threshold, less
        self.native: tuple[int, int] | None = None
        rows = [row] if less is None else [row, less]
        if any(one.python for one in rows):
            return
        numbers: list[int] = []
        for one in rows:
            numbers += one.function, one.arguments, one.score.ctypes.data
        numbers += [0] * (6 - len(numbers))
        above = np.array([threshold])
        table = np.array([*numbers, above.ctypes.data], np.int64)
        self._memory: Any = above, table
        self.native = address_of(_decide, types.intp(types.intp)), int(table.ctypes.data)

    def __call__(self) -> int:
        """Return 1 if the event passes, 0 if it fails, −1 if the score is NaN, which is an error."""
        if self.native:
            return call(*self.native)
        score = self._score()
        return -1 if score != score else int(score > self._threshold)

    def _score(self) -> float:
        return self._row.evaluate() - (self._less.evaluate() if self._less else 0.0)


@dataclass(frozen=True)
class ModelCall:
    """A model that decides one event at a time, and the memory of its inputs."""

    requires: Condition | None  # The preselection; None: all events
    # Inputs, and the memory float32[k] to write them to. Events without a needed input are not evaluated.
    reads: tuple[tuple[Inputs, Features], ...]
    decision: Decision


@singledispatch
def model_call(trigger: object) -> ModelCall | None:
    """Return how the models of a trigger decide one event. A kind with models registers its class."""
    return None


@singledispatch
def engines_of(kind: object) -> Mapping[str, Any]:
    """Return a kind by each engine that it could name. One with the key `engine` registers its class."""
    return {}


@singledispatch
def bare_models(trigger: object, events: Events) -> Mapping[str, Callable[[], object]]:
    """Return calls of the bare models of a trigger on these events, with inputs at hand: "bare_onnxruntime",
    "bare_bdt". A kind with models registers its class."""
    return {}


@c_function
def _decide(table: int) -> int:
    call_function(_integer(table, 0), _integer(table, 1))
    score = _double(_integer(table, 2), 0)
    if _integer(table, 3) != 0:
        call_function(_integer(table, 3), _integer(table, 4))
        score -= _double(_integer(table, 5), 0)
    if score != score:
        return -1
    return 1 if score > _double(_integer(table, 6), 0) else 0
