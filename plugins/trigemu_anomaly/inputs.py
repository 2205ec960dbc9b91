"""The inputs of a model: numbers in the observable language, in the order of its card, as one array.

Models read many numbers of few objects. Selections and numbers per event are those of the core; one kernel
then takes the columns of the selected objects to where the model reads them.

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

import numpy as np
import numpy.typing as npt
from numba import types

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.base.kernels import kernel
from trigemu.observables.expressions import Element, Number, ObjectVector, OfVectors
from trigemu.observables.hardware_scales import Integers
from trigemu.observables.selections import Column, ObjectSelection, Scope
from trigemu.observables.workspace import Workspace, delta_phi

from .vectors import numbers_at

#: The inputs of a model: float32[n, k].
Features = npt.NDArray[np.float32]


class InputTable:
    """The inputs of a model, in groups: of one object each, or a number per event. All that is read stands in
    one of three lists, once.

    selections, columns, angles: what is read. Columns are of all objects, or numbers per event; angles are
    subtracted from columns. groups: int64[g + 1, 3], the first input, the selection of the object or −1, and
    its index; then the number of inputs. inputs: int64[k, 3], column, angle or −1, and whether an event
    without it is incomplete."""

    def __init__(self, numbers: Sequence[Number], padding: Sequence[float | None]) -> None:
        selections: dict[ObjectSelection, int] = {}
        columns: dict[tuple[str, Column] | Number, int] = {}
        angles: dict[Number, int] = {}
        groups: list[tuple[int, int, int]] = []
        inputs: list[tuple[int, int, bool]] = []
        for number, missing in zip(numbers, padding, strict=True):
            element, angle = _parts(number)
            key: tuple[str, Column] | Number = number
            place = -1, 0
            if element:
                key = element.selection.base, element.column
                place = selections.setdefault(element.selection, len(selections)), element.index
            if not groups or element is None or groups[-1][1:] != place:
                groups.append((len(inputs), *place))
            subtracted = -1 if angle is None else angles.setdefault(angle, len(angles))
            inputs.append((columns.setdefault(key, len(columns)), subtracted, missing is None))
        self.selections, self.columns, self.angles = list(selections), list(columns), list(angles)
        self.groups = np.array([*groups, (len(inputs), -1, 0)], np.int64)
        self.inputs = np.array(inputs, np.int64).reshape(-1, 3)

    def bind(self, work: Workspace) -> tuple[IntArray, IntArray, IntArray, object]:
        """Return the addresses of objects, columns and angles, for `_fill`, and what is at them."""
        objects = [work.objects(selection) for selection in self.selections]
        columns = [
            work.column(ObjectSelection(key[0]), key[1]) if isinstance(key, tuple) else key.evaluate(work)
            for key in self.columns
        ]
        columns = [
            np.ascontiguousarray(c, np.float32 if c.dtype == np.float32 else np.float64) for c in columns
        ]
        angles = [angle.evaluate(work) for angle in self.angles]
        places = [(_address(o.offsets), 0 if o.rows is None else _address(o.rows)) for o in objects]
        sources = [(_address(column), column.itemsize) for column in columns]
        directions = [(_address(angle), 0) for angle in angles]
        return _pairs(places), _pairs(sources), _pairs(directions), (objects, columns, angles)


def _parts(number: Number) -> tuple[Element | None, Number | None]:
    """Return the element that a number is, and the angle that is subtracted from it, if it is one."""
    if isinstance(number, OfVectors) and number.function == "dphi":
        first, other = number.vectors
        if isinstance(first, ObjectVector) and not isinstance(other, ObjectVector):
            return first.element("phi"), OfVectors("phi", (other,))
    return (number, None) if isinstance(number, Element) else (None, None)


def _pairs(numbers: list[tuple[int, int]]) -> IntArray:
    return np.array(numbers, np.int64).reshape(-1, 2)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


# Arrays that are passed from kernel to kernel take longer than the work on an event; addresses do not.
_integer, _ = numbers_at(types.int64)
_double, _ = numbers_at(types.float64)
_single, _ = numbers_at(types.float32)
#: The events whose inputs are written together.
_BLOCK = 64


@kernel
def _fill(
    groups: IntArray,
    inputs: IntArray,
    objects: IntArray,
    columns: IntArray,
    angles: IntArray,
    padding: FloatArray,
    features: Features,
    complete: BoolArray,
) -> bool:
    """Write the inputs of n events, float32[n, k], and whether each event is complete, bool[n]; return
    whether all are finite. padding: of missing values, float64[k].

    The events of a block stay in the cache while one input after the other is written, without a branch on
    whether an event has the object, which no processor predicts."""
    is_finite, rows, present = True, np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for start in range(0, len(features), _BLOCK):
        block, whole = features[start : start + _BLOCK], complete[start : start + _BLOCK]
        for n in range(len(block)):
            for i in range(len(padding)):
                block[n, i] = padding[i]
        for g in range(len(groups) - 1):
            found = _find(groups[g], objects, start, len(block), rows, present)
            for i in range(groups[g, 0], groups[g + 1, 0]):
                (address, size), angle, is_needed = columns[inputs[i, 0]], inputs[i, 1], inputs[i, 2] != 0
                if is_needed and found < len(block):
                    for n in range(len(block)):
                        whole[n] &= rows[n] >= 0
                for m in range(found):
                    n = present[m]
                    value = np.float64(_single(address, rows[n])) if size == 4 else _double(address, rows[n])
                    if angle >= 0:
                        value = delta_phi(value, _double(angles[angle, 0], start + n))
                    if value == value:
                        block[n, i] = value
                        is_finite &= not math.isinf(block[n, i])
                    else:
                        whole[n] &= not is_needed
    return is_finite


@kernel
def _find(
    group: IntArray, objects: IntArray, start: int, events: int, rows: IntArray, present: IntArray
) -> int:
    """Write the row of what a group reads of each event of a block, −1 if it lacks the object, and the events
    that have it; return their number."""
    found = 0
    for n in range(events):
        row = start + n
        if group[1] >= 0:
            offsets, places = objects[group[1], 0], objects[group[1], 1]
            row = _integer(offsets, start + n) + group[2]
            if row >= _integer(offsets, start + n + 1):
                row = -1
            elif places != 0:
                row = _integer(places, row)
        rows[n] = row
        present[found] = n
        found += row >= 0
    return found


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
        n, table = len(work.events), self.table
        features, complete = np.empty((n, len(self)), np.float32), np.ones(n, np.bool_)
        padding = np.array([value or 0.0 for value in self.padding])
        objects, columns, angles, _held = table.bind(work)
        read = table.groups, table.inputs, objects, columns, angles
        if not _fill(*read, padding, features, complete):
            infinite = np.isinf(features)
            column = int(infinite.any(axis=0).argmax())
            raise SampleError(
                f"sample {work.events.sample!r}, event {work.events.id[infinite[:, column].argmax()]}: the "
                f"input {self.texts[column]!r} of a model is infinite as a float32"
            )
        return features, complete

    @cached_property
    def table(self) -> InputTable:
        """The inputs as instructions of a kernel."""
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
