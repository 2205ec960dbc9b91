"""Decide one event by machine code: a model, and trees whose score is subtracted.

The machine of single events calls one C function for the whole decision, which calls those of the model and
of the trees by their addresses: none is compiled into another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Protocol

import numpy as np
from numba import types

from trigemu.base.arrays import IntArray
from trigemu.base.kernels import address_of, c_function, call_function, kernel, numbers_at
from trigemu.observables.expressions import Condition
from trigemu.samples.events import Events

from .fixed_row import score_by
from .input_kernels import Features
from .inputs import Inputs
from .step_memory import Layout


class Model(Protocol):
    """A model that decides one event at a time, on inputs that were written to its memory."""

    def __call__(self) -> int:
        """Return 1 if the event passes, 0 if it fails, −1 if the score is NaN, which is an error."""

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Return its stages for timing, by name. Each is called with the number of one of n events;
        `features` writes the inputs of that event."""


@dataclass(frozen=True)
class Native:
    """A model that is machine code: the addresses of a C function intp(intp), which returns as `Model` does,
    and of its arguments."""

    function: int
    arguments: int


@dataclass(frozen=True)
class ModelCall:
    """A model that decides one event at a time, and the memory of its inputs."""

    # The preselection of the events that the model is evaluated on; None: all events.
    requires: Condition | None
    # tuple of (Inputs, float32[k]): Inputs, and the memory to write them to. The model is not evaluated on an
    # event that lacks an input without padding.
    reads: tuple[tuple[Inputs, Features], ...]
    model: Model  # The model
    native: Native | None = None  # The same as machine code, if there is any


@singledispatch
def model_call(trigger: object) -> ModelCall | None:
    """Return how the models of a trigger decide one event; None for a trigger without models. A kind with
    models registers its class."""
    return None


@singledispatch
def stages(trigger: object, events: Events) -> Mapping[str, Callable[[], object]]:
    """Return the stages of a trigger for timing, by name. A kind with parts registers its class.

    Each call repeats one stage, without the stages before it, on all of these events, which all pass the
    preselection of the trigger: "features": the inputs of the models; "autoencoder", "bdt": the models, with
    "bare_onnxruntime" and "bare_bdt" for comparison; "sequential", "parallel": all stages, on 1 or 2 threads.
    """
    return {}


_integer, _ = numbers_at(types.int64)
_double, _put_double = numbers_at(types.float64)
_single, _put_single = numbers_at(types.float32)


class RowFunction(Protocol):
    """Trees, or another model, for one row. function, arguments: addresses for `score_by`, valid as long as
    the object exists."""

    function: int
    arguments: int


class NativeRow:
    """A model for one event. features: float32[k], its input. run, table: the addresses of a C function
    intp(intp) and of its argument, which computes the score of the features. score: the address of the score,
    a float32. All are valid as long as the object exists."""

    def __init__(self, features: Features, run: int, table: int, score: int) -> None:
        self.features, self.run, self.table, self.score = features, run, table, score

    def evaluate(self) -> float:
        """Return the score of the features."""
        return _evaluate(self.run, self.table, self.score)


class StepRow(NativeRow):
    """A network for one event: its steps read the features where they are."""

    def __init__(self, layout: Layout, features: int) -> None:
        self._steps = layout.bind()
        run, table, _, score = self._steps.addresses
        super().__init__(self._steps.features(features), run, table, score)


class CalledRow:
    """A model for one event as a `RowFunction`, whose input is copied from elsewhere."""

    def __init__(self, row: NativeRow) -> None:
        features = row.features.ctypes.data, row.features.size
        self._row, numbers = row, np.array([row.run, row.table, row.score, *features], np.int64)
        arguments = np.array([0, numbers.ctypes.data, 0], np.int64)
        self._memory = numbers, arguments
        self.arguments = int(arguments.ctypes.data)
        self.function = address_of(_of_arguments, types.intp(types.intp))


@c_function
def _of_arguments(arguments: int) -> int:
    model, x = _integer(arguments, 1), _integer(arguments, 2)
    for i in range(_integer(model, 4)):
        _put_single(_integer(model, 3), i, _single(x, i))
    call_function(_integer(model, 0), _integer(model, 1))
    _put_double(arguments, 0, np.float64(_single(_integer(model, 2), 0)))
    return 1


@kernel
def _evaluate(run: int, table: int, score: int) -> float:
    call_function(run, table)
    return np.float64(_single(score, 0))


class NativeDecision:
    """Whether y, less the score of trees if there are any, is above a threshold. x: float32[d], the input of
    the trees; columns: int64[d], the inputs of the network that it is copied from, or None: x is written
    otherwise. `native`: the decision as machine code."""

    def __init__(
        self,
        row: NativeRow,
        threshold: float,
        trees: RowFunction | None = None,
        x: Features | None = None,
        columns: IntArray | None = None,
    ) -> None:
        of_trees = (
            (0, 0, 0) if trees is None or x is None else (trees.function, trees.arguments, x.ctypes.data)
        )
        copied = (0, 0) if columns is None else (columns.ctypes.data, len(columns))
        above = np.array([threshold])
        of_network = row.run, row.table, row.score, row.features.ctypes.data
        arguments = np.array([*of_network, *of_trees, *copied, above.ctypes.data], np.int64)
        self._memory = row, trees, x, columns, above, arguments
        self.native = Native(address_of(_decide, types.intp(types.intp)), int(arguments.ctypes.data))

    def __call__(self) -> int:
        return decided(self.native.function, self.native.arguments)


@c_function
def _decide(arguments: int) -> int:
    call_function(_integer(arguments, 0), _integer(arguments, 1))
    score = np.float64(_single(_integer(arguments, 2), 0))
    if _integer(arguments, 4) != 0:
        x, columns = _integer(arguments, 6), _integer(arguments, 7)
        for i in range(_integer(arguments, 8)):
            _put_single(x, i, _single(_integer(arguments, 3), _integer(columns, i)))
        score -= score_by(_integer(arguments, 4), _integer(arguments, 5), x)
    if score != score:
        return -1
    return 1 if score > _double(_integer(arguments, 9), 0) else 0


@kernel
def decided(function: int, arguments: int) -> int:
    """Call the decision of a `Native`."""
    return call_function(function, arguments)  # type: ignore[no-any-return]
