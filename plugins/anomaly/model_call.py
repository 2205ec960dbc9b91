"""Models that decide one event at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trigemu.api import Condition, Features, Inputs


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
        The same as machine code, if there is any.
    """

    requires: Condition | None
    reads: tuple[tuple[Inputs, Features], ...]
    model: Model
    native: Native | None = None
