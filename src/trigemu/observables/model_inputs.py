"""The inputs of a model: numbers in the observable language, in the order of its card.

Models read many elements of few collections. Elements of one column are written together, event by event,
directly into the rows that the model reads; an intermediate array for each would take ten times as long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trigemu.observables.expressions import Element, Number
from trigemu.observables.momenta import delta_phi
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.vectors import ObjectVector, OfVectors
from trigemu.observables.windows import Column
from trigemu.observables.workspace import Workspace
from trigemu.samples import SampleError
from trigemu.support import Array, BoolArray, FloatArray, IntArray, kernel

#: The inputs of a model: float32[n, k].
Features = npt.NDArray[np.float32]
#: A column, and the reference φ if the input is a Δφ.
_Source = tuple[ObjectSelection, Column, Number | None]


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
        features[:] = self._filled
        complete = np.ones(len(work.events), np.bool_)
        finite = [part.fill(work, features, complete) for part in self.parts]
        if not all(finite):
            infinite = np.isinf(features)
            column = int(infinite.any(axis=0).argmax())
            raise SampleError(
                f"sample {work.events.sample!r}, event {work.events.id[infinite[:, column].argmax()]}: the "
                f"input {self.texts[column]!r} of a model is infinite as a float32"
            )
        return features, complete

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
    def parts(self) -> tuple[Values | Elements, ...]:
        """The inputs in groups that are written together."""
        parts: list[Values | Elements] = []
        groups: dict[_Source, list[tuple[int, int, bool]]] = {}
        for at, (number, padding) in enumerate(zip(self.numbers, self.padding, strict=True)):
            if element := _element(number):
                source, index = element
                groups.setdefault(source, []).append((index, at, padding is None))
            else:
                parts.append(Values(number, at, padding is None))
        for source, members in groups.items():
            parts.append(Elements(*source, *map(np.array, zip(*sorted(members), strict=True))))
        return tuple(parts)


def _element(number: Number) -> tuple[_Source, int] | None:
    """Split an element into its column and the index of the object; None for other numbers."""
    if isinstance(number, Element):
        return (number.of, number.column, None), number.index
    if isinstance(number, OfVectors) and number.function == "dphi":
        first, second = number.vectors
        if isinstance(first, ObjectVector):
            return (first.of, "phi", OfVectors("phi", (second,))), first.index
    return None


@dataclass(frozen=True)
class Values:
    """A number for column `at`. needed: whether an event without it is incomplete."""

    number: Number
    at: int
    needed: bool

    def fill(self, work: Workspace, features: Features, complete: BoolArray) -> bool:
        """Write the existing values; return whether all are finite."""
        return _fill(features, complete, self.number.evaluate(work), self.at, self.needed)


@dataclass(frozen=True)
class Elements:
    """A column of several objects of a collection, or its Δφ to a direction, as inputs of a model.

    Attributes
    ----------
    of : ObjectSelection
        The collection.
    column : Column
        The column.
    phi : Number or None
        The direction in radians, from which Δφ is measured; None: the column itself is the input.
    index : int64[i]
        Numbers of the objects, ascending.
    at : int64[i]
        The columns of the features to write to.
    needed : bool[i]
        Whether an event without the object is incomplete.
    """

    of: ObjectSelection
    column: Column
    phi: Number | None
    index: IntArray
    at: IntArray
    needed: BoolArray

    def fill(self, work: Workspace, features: Features, complete: BoolArray) -> bool:
        """Write the existing values of the n events of `work` to `features`, float32[n, k]; unset `complete`,
        bool[n], if a needed one is missing. Return whether all values are finite."""
        objects = work.objects(self.of)
        rows = _ALL if objects.rows is None else objects.rows
        column = work.base_column(self.of.base, self.column)
        phi = _NONE if self.phi is None else self.phi.evaluate(work)
        where = self.index, self.at, self.needed
        return _fill_elements(features, complete, column, rows, objects.offsets, *where, phi)


#: Means all rows of a collection. (If it has no objects, rows are never read.)
_ALL = np.empty(0, np.int64)
_NONE = np.empty(0)


@kernel
def _fill(features: Features, complete: BoolArray, values: FloatArray, at: int, needed: bool) -> bool:
    finite = True
    for event in range(len(values)):
        if values[event] == values[event]:
            features[event, at] = values[event]
            finite &= not math.isinf(features[event, at])
        elif needed:
            complete[event] = False
    return finite


@kernel
def _fill_elements(
    features: Features,
    complete: BoolArray,
    column: Array,
    rows: IntArray,
    offsets: IntArray,
    index: IntArray,
    at: IntArray,
    needed: BoolArray,
    phi: FloatArray,
) -> bool:
    finite = True
    some_needed = needed.any()
    for event in range(len(features)):
        start = offsets[event]
        count = offsets[event + 1] - start
        for i in range(len(index)):
            value = math.nan
            if index[i] < count:
                row = start + index[i]
                value = np.float64(column[rows[row] if len(rows) else row])
                if len(phi):
                    value = delta_phi(value, phi[event])
            elif not some_needed:
                break  # the following ones are missing too
            if value == value:
                features[event, at[i]] = value
                finite &= not math.isinf(features[event, at[i]])
            elif needed[i]:
                complete[event] = False
    return finite
