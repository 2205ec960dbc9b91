"""Models that decide one event at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trigemu.api import Condition, Features, Inputs


class Model(Protocol):
    """A model that decides one event at a time, on inputs that were written to its memory."""

    def __call__(self) -> int:
        """Return 1 if the event passes, 0 if it fails, −1 if undecided: the caller falls back to
        `evaluate`."""

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Return its stages for timing, by name. Each is called with the number of one of n events;
        `features` writes the inputs of that event."""


@dataclass(frozen=True)
class Native:
    """A model that is machine code throughout: a network, and trees whose score is subtracted. All numbers
    but the last two are addresses, or 0.

    Attributes
    ----------
    network, features, score, size : int
        The compiled network, its input, its output, and the size of the output in bytes.
    tree_code, x, quantile : int
        The compiled trees, their input and memory for their score; tree_code = 0: no trees.
    tables, arguments : int
        The function of trees as look-up tables (`CellRow`, `FixedRow`), and its arguments; tables = 0: no
        tables.
    threshold, near : float
        The threshold of the trigger, and the distance to it within which the score does not decide.
    """

    network: int
    features: int
    score: int
    size: int
    tree_code: int
    x: int
    quantile: int
    tables: int
    arguments: int
    threshold: float
    near: float


@dataclass(frozen=True)
class ModelCall:
    """A model that decides one event at a time, and the memory of its inputs.

    Attributes
    ----------
    requires : Condition or None
        The preselection of the events that the model is evaluated on; None: all events.
    reads : tuple of (Inputs, float32[k])
        Inputs, and the memory to write them to. The model is not evaluated on an event that lacks an input
        without padding.
    model : Model
        The model.
    native : Native or None
        The same as machine code, which decides without a call of `model` unless the score is near the
        threshold.
    """

    requires: Condition | None
    reads: tuple[tuple[Inputs, Features], ...]
    model: Model
    native: Native | None = None
