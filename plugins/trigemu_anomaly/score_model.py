"""What a model with one score per event can do, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from trigemu.base.arrays import Array, FloatArray

from .input_kernels import Features
from .single_row import Row


class ScoreModel(ABC):
    """A model with one score per event. Not picklable: created in each process."""

    engine: str  # What evaluates it, and why
    notes: tuple[str, ...] = ()  # What a reader of its file has to know; each follows the name of the file
    # Names that the file gives its inputs, in the order of the card; empty if it has none.
    names: tuple[str, ...] = ()

    @abstractmethod
    def score(self, features: Features) -> FloatArray:
        """Return the scores float64[n] of features float32[n, k] in one call without the GIL."""

    @abstractmethod
    def row(self) -> Row:
        """Return memory for one event at a time."""

    def bound(self, features: Features) -> Callable[[], Array] | None:
        """Return a function that runs ONNX Runtime on what these rows contain then, if possible."""
        return None
