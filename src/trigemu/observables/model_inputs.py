"""The inputs of a model: numbers in the observable language, in the order of its card."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trigemu.observables.expressions import Number
from trigemu.observables.input_kernels import FULL, INFINITE, ROOM, Features, fill_events, inputs_function
from trigemu.observables.input_table import InputTable
from trigemu.observables.workspace import Workspace
from trigemu.samples import SampleError
from trigemu.support import BoolArray, IntArray

_OBJECT = re.compile(r"\w+\[\d+\]")


@dataclass(frozen=True)
class Inputs:
    """The k inputs of a model.

    Attributes
    ----------
    numbers : tuple of Number
        The observables.
    texts : tuple of str
        The observables as written in the card.
    padding : tuple of float or None
        The replacement for a missing value; None if an event without that value cannot be scored.
    """

    numbers: tuple[Number, ...]
    texts: tuple[str, ...]
    padding: tuple[float | None, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def objects_needed(self) -> tuple[str, ...]:
        """The objects without which an event cannot be scored, such as muon[1]."""
        texts = (text for text, value in zip(self.texts, self.padding, strict=True) if value is None)
        return tuple(dict.fromkeys(found for text in texts for found in _OBJECT.findall(text)))

    def evaluate(self, work: Workspace) -> tuple[Features, BoolArray]:
        """Evaluate the inputs of the n events of `work`.

        Returns
        -------
        features : float32[n, k]
            The inputs, never NaN.
        complete : bool[n]
            The events with all required values.

        Raises
        ------
        SampleError
            If a value is infinite; the message names the event and the input.
        """
        features = np.empty((len(work.events), len(self)), np.float32)
        complete = np.empty(len(work.events), np.bool_)
        fill = inputs_function()
        if self.run(work, lambda table: fill_events(fill, table, features, complete)) == INFINITE:
            infinite = np.isinf(features)
            column = int(infinite.any(axis=0).argmax())
            raise SampleError(
                f"sample {work.events.sample!r}, event {work.events.id[infinite[:, column].argmax()]}: the "
                f"input {self.texts[column]!r} of a model is infinite as a float32"
            )
        return features, complete

    def run(self, work: Workspace, kernel: Callable[[int], int]) -> int:
        """Run a kernel that calls `fill_block` for the events of `work`.

        Parameters
        ----------
        work : Workspace
            The events.
        kernel : callable
            A function of the address of a table (`InputTable.bind`). It returns FULL as soon as `fill_block`
            does, and is called again with room for more objects.

        Returns
        -------
        int
            What the kernel returns.
        """
        room, result = ROOM, FULL
        while result == FULL:
            bound = self.table.bind(work, room)
            result, room = kernel(bound.address), 8 * room
        return result

    def within(self, other: Inputs) -> IntArray | None:
        """Return the columns int64[k] of the `other` model's features that equal these inputs, in all events;
        None if one is missing."""
        column_of = {key: at for at, key in enumerate(zip(other.numbers, other._filled, strict=True))}
        columns = [column_of.get(key, -1) for key in zip(self.numbers, self._filled, strict=True)]
        return None if -1 in columns else np.array(columns, np.int64)

    @property
    def _filled(self) -> tuple[float, ...]:
        """The replacements of missing values, also in incomplete events."""
        return tuple(padding or 0.0 for padding in self.padding)

    @cached_property
    def table(self) -> InputTable:
        """The inputs as instructions of one kernel."""
        return InputTable(self.numbers, self.padding)
