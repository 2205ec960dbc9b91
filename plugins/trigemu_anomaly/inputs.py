"""The inputs of a model: numbers in the observable language, in the order of its card, as instructions for
the kernel in `input_kernels`.

Selections and numbers of other kinds than the kernel knows are computed as arrays first.

Inputs may be integers of the hardware: columns of the sample, or computed from GeV and radians. A card with
the scales of a menu reads `jet[0].hw_pt` from the column `pt`, also of samples that have no integers:

    [integer.jet]
    pt = { first = 0.0, step = 0.5, bins = 2047 }
    eta = { step = 0.0435 }
    phi = { bins = 144 }

`met[0].hw_pt` and `met[0].hw_phi` are those of `met` and `met_phi` if the scale is that of `met`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.observables.expressions import (
    Count,
    Element,
    MissingMomentum,
    Number,
    ObjectVector,
    OfVectors,
    Scalar,
    ScalarSum,
)
from trigemu.observables.hardware_scales import Integers
from trigemu.observables.selections import AnyOf, Column, ObjectSelection, Scope, Window, any_of
from trigemu.observables.workspace import Workspace

from . import input_kernels as do
from .input_kernels import FULL, INFINITE, ROOM, Features, fill_events, inputs_function

#: The types of columns that the kernel reads, and their numbers; others are converted.
_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}


class InputTable:
    """The inputs of a model, as instructions for the kernel. padding: the replacement for a missing value;
    None if an event without that value is incomplete. is_direct: whether no part of it is computed as an
    array first."""

    def __init__(self, numbers: Sequence[Number], padding: Sequence[float | None]) -> None:
        self.is_direct = True
        self._selections: dict[ObjectSelection, int] = {}
        self._columns: dict[tuple[str, Column] | Number, int] = {}
        self._sums: dict[tuple[ObjectSelection, ...], bool] = {}
        self._rows: list[ObjectSelection] = []
        self._numbers = [value or 0.0 for value in padding]
        self._lists: tuple[list[tuple[int, ...]], ...] = ([], [], [], [], [], [])
        _, _, sums, parts, groups, inputs = self._lists
        for key, items in groupby(map(self._input, numbers), lambda item: item[:3]):
            begin = len(inputs)
            inputs += [(*item[3:], int(padding[begin + k] is None)) for k, item in enumerate(items)]
            groups.append((*key, begin, len(inputs) - begin, max(item[-1] for item in inputs[begin:])))
        for selections, is_vector in self._sums.items():
            sums.append((int(is_vector), len(parts), len(selections)))
            names = ("pt", "phi") if is_vector else ("pt", "pt")
            for d in selections:
                parts.append((self._selection(d), *(self._column((d.base, name)) for name in names)))
        self._fixed = [np.array([n for row in rows for n in row], np.int64) for rows in self._lists]
        self._fixed.append(np.array(self._numbers))
        self._addresses = [_address(array) for array in self._fixed]
        self.sizes = len(self._lists[0]), len(sums), len(groups), len(inputs)

    def _input(self, number: Number) -> tuple[int, int, int, int, int]:
        """Return kind, selection, index of the object, column and sum of a number."""
        if isinstance(number, Element):
            column = self._column((number.selection.base, number.column))
            return do.OBJECT, self._selection(number.selection), number.index, column, -1
        if isinstance(number, Count):
            return do.COUNT, self._selection(number.selection), 0, 0, -1
        if isinstance(number, ScalarSum):
            return do.OF_SUM, 0, 0, 0, self._sum(number.selections, False)
        if isinstance(number, OfVectors) and isinstance(number.vectors[-1], MissingMomentum):
            first, summed = number.vectors[0], number.vectors[-1].selections
            if number.vectors == (first,) and number.function in ("pt", "phi"):
                kind = do.MISSING if number.function == "pt" else do.DIRECTION
                return kind, 0, 0, 0, self._sum(summed, True)
            if number.function == "dphi" and isinstance(first, ObjectVector):
                selection, total = self._selection(first.selection), self._sum(summed, True)
                phi = self._column((first.selection.base, first.selection.column("phi")))
                return do.OBJECT, selection, first.index, phi, total
        self.is_direct &= isinstance(number, Scalar)
        return do.SCALAR, 0, 0, self._column(number), -1

    def _sum(self, selections: tuple[ObjectSelection, ...], is_vector: bool) -> int:
        """Return the number of a sum, which is made once for the same selections."""
        self._sums[selections] = self._sums.get(selections, False) or is_vector
        return list(self._sums).index(selections)

    def _column(self, key: tuple[str, Column] | Number) -> int:
        return self._columns.setdefault(key, len(self._columns))

    def _constants(self, *values: float) -> int:
        self._numbers += values
        return len(self._numbers) - len(values)

    def _selection(self, selection: ObjectSelection) -> int:
        if selection not in self._selections:
            row = self._selection_row(selection)
            self._lists[0].append((*row, *[0] * (do.SELECTION - len(row))))
            self._selections[selection] = len(self._lists[0]) - 1
        return self._selections[selection]

    def _selection_row(self, selection: ObjectSelection) -> tuple[int, ...]:
        spans = [span for name, window in selection.windows for span in _spans(name, window)]
        derived = bool(selection.source or selection.windows or selection.overlap)
        if selection.any_of or None in spans or not derived:
            self.is_direct &= not (selection.any_of or spans)
            self._rows.append(selection)
            return do.ROWS, len(self._rows) - 1
        source = self._selection(selection.source or ObjectSelection(selection.base))
        tests = self._lists[1]
        first = len(tests)
        for name, absolute, low, high in filter(None, spans):
            tests.append((self._column((selection.base, name)), absolute, self._constants(low, high)))
        row = (do.WITHIN, source, first, len(tests) - first)
        if not selection.overlap:
            return (*row, -1)
        other, dr = selection.overlap
        columns = (
            self._column((base, name)) for base in (selection.base, other.base) for name in ("eta", "phi")
        )
        return (*row, self._selection(other), self._constants(dr), *columns)

    def bind(self, work: Workspace, room: int = do.ROOM) -> BoundInputs:
        """Return the table for the events of a workspace."""
        columns = [_column_of(work, key) for key in self._columns]
        rows = [_rows_of(work, selection) for selection in self._rows]
        places = [n for a, first in columns for n in (_address(a) - first * a.itemsize, _TYPES[a.dtype])]
        for offsets, rows_of, first in rows:
            places += _address(offsets), 0 if rows_of is None else _address(rows_of), first
        selections, sums = max(self.sizes[0], 1), self.sizes[1]
        table = np.array([*[0] * do.TABLE, *places], np.int64)
        sizes = do.BLOCK * do.RESULT * sums, selections * (do.BLOCK + 1), selections * room, selections * room
        memory = np.empty(sum(sizes), np.int64)
        table_address, place = _address(table) + 8 * do.TABLE, _address(memory)
        addresses = [*self._addresses, table_address, table_address + 16 * len(columns)]
        for size in sizes:
            addresses.append(place)
            place += 8 * size
        table[: do.TABLE] = (*addresses, *self.sizes, room)
        return BoundInputs(_address(table), (self, columns, rows, table, memory))


def _spans(name: Column, window: Window | AnyOf) -> list[tuple[Column, int, float, float] | None]:
    """Return the ranges of a window, each with whether it is of |v|; None for other conditions."""
    first, *others = any_of(window)
    low, high = first.span()
    if others or first.any_of is not None or first.bits is not None or low > high:
        return [None]
    spans = (name, 0, low, high), (name, 1, *first.span("abs_"))
    return [span for span in spans if span[2] > -math.inf or span[3] < math.inf]


def _column_of(work: Workspace, key: tuple[str, Column] | Number) -> tuple[Array, int]:
    """Return a column, and the row that its first number has."""
    if isinstance(key, Scalar):
        column = work.scalar(key.name)
    elif isinstance(key, Number):
        column = key.evaluate(work)
    else:
        base, name = key
        collection = work.events.collections.get(base)
        if collection and isinstance(name, str) and name in collection.columns:
            column = collection.columns[name]
        else:  # computed, or missing
            part = work.column(ObjectSelection(base), name)
            return _native(part), int(work.events.collections[base].offsets[0])
    return _native(column), 0


def _native(column: Array) -> Array:
    if column.dtype in _TYPES and column.flags.c_contiguous:
        return column
    return np.ascontiguousarray(column, column.dtype if column.dtype in _TYPES else np.float64)


def _rows_of(work: Workspace, selection: ObjectSelection) -> tuple[IntArray, IntArray | None, int]:
    """Return offsets and rows of a selection, and the row that these count from."""
    if selection == ObjectSelection(selection.base) and selection.base in work.events.collections:
        return np.ascontiguousarray(work.events.collections[selection.base].offsets), None, 0
    objects = work.objects(selection)
    return objects.offsets, objects.rows, int(work.events.collections[selection.base].offsets[0])


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@dataclass(frozen=True)
class BoundInputs:
    """The table of a range of events."""

    address: int  # The address of the table, valid as long as this object exists
    memory: tuple[object, ...]  # What is at the addresses


_OBJECT = re.compile(r"\w+\[\d+\]")


@dataclass(frozen=True)
class Inputs:
    """The k inputs of a model."""

    numbers: tuple[Number, ...]  # The observables
    texts: tuple[str, ...]  # The observables as written in the card
    # The replacement for a missing value; None if an event without that value cannot be scored.
    padding: tuple[float | None, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def objects_needed(self) -> tuple[str, ...]:
        """The objects without which an event cannot be scored, such as muon[1]."""
        texts = (text for text, value in zip(self.texts, self.padding, strict=True) if value is None)
        return tuple(dict.fromkeys(found for text in texts for found in _OBJECT.findall(text)))

    @property
    def have_nan(self) -> bool:
        """Whether an input of an event that has a score may be NaN."""
        return any(value != value for value in self.padding)

    def evaluate(self, work: Workspace) -> tuple[Features, BoolArray]:
        """Evaluate the inputs of the n events of `work`. Returns features float32[n, k], complete bool[n]."""
        features = np.empty((len(work.events), len(self)), np.float32)
        complete = np.empty(len(work.events), np.bool_)
        room, result = ROOM, FULL
        while result == FULL:
            bound = self.table.bind(work, room)
            result, room = fill_events(inputs_function(), bound.address, features, complete), 8 * room
        if result == INFINITE:
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
        column_of = {key: index for index, key in enumerate(zip(other.numbers, other._filled, strict=True))}
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


@dataclass(frozen=True)
class InputScale:
    """How an input in GeV or radians becomes an integer of the hardware. first, step: where bin 0 begins, and
    the width of a bin. lowest, highest: the first and the last bin. period: the bins of a circle, or 0.
    halved: whether the integer is then halved and rounded down."""

    first: float = 0.0
    step: float = 1.0
    lowest: float = -np.inf
    highest: float = np.inf
    period: int = 0
    halved: bool = False


_INTEGER = re.compile(r"([A-Za-z_]\w*)\[(\d+)\]\.hw_(pt|eta|phi|upt)")


def hardware_input(
    text: str, padding: float | None, halved: bool, integers: Integers | None, scope: Scope
) -> tuple[str, float | None, InputScale | None]:
    """Return the observable to read for an input, its padding, and how it becomes an integer; TrigemuError if
    the scale of the object lacks the column."""
    match = _INTEGER.fullmatch(text.strip())
    if not match:
        return text, padding, None
    name, index, column = match.groups()
    half = halved and column in ("pt", "upt")
    table = integers and integers.scale(scope.object(name).base)
    if not table:
        return text, padding, InputScale(halved=True) if half else None
    scale = _input_scale(table, column, half)
    if scale is None:
        raise TrigemuError(f"{text}: [integer.{name}] has no {column}")
    read = f"{name}[{index}].{column}"
    if name == "met" and not scope.has_object("met"):
        read = {"pt": "met", "phi": "met_phi"}.get(column, read)
    missing = None if padding is None else scale.first + (padding + 0.5) * scale.step
    return read, missing, scale


def _input_scale(table: object, column: str, halved: bool) -> InputScale | None:
    scale = getattr(table, column)
    if scale is None:
        return None
    if column == "eta":
        return InputScale(-0.5 * scale.step if scale.centred else 0.0, scale.step)
    if column == "phi":
        return InputScale(0.0, 2 * math.pi / scale.bins, period=scale.bins)
    return InputScale(scale.first, scale.step, 0, scale.bins, halved=halved)
