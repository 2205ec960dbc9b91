"""Assembly of instructions and their arrays, for a range of events."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator

import numpy as np

from trigemu.base.arrays import Array, FloatArray, Words
from trigemu.observables.selections import (
    AnyOf,
    Column,
    ObjectSelection,
    Scaled,
    Window,
    Windows,
    any_of,
)
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events
from trigemu.triggers.combination import MAX_LEGS

from . import opcodes as do

#: Bits of a half word.
HALF = 32
#: Every integer below this is exact in float64.
_EXACT = 2**53


class NoFormError(Exception):
    """Raised for an expression that has no form in instructions."""


class Assembly:
    """Registers, columns and selections, each created once; `finish` lays them out for the machine. Raises
    SampleError if the events lack a column."""

    def __init__(self, events: Events) -> None:
        self._events, self._work = events, Workspace(events)
        self._code: list[tuple[int, ...]] = []
        self._pool: list[int] = []
        self._registers: list[float] = []
        self._columns: list[FloatArray] = []
        self._begin: dict[tuple[str, Column], int] = {}
        self._end = 0
        self._collections: list[str] = []
        self._rows = 0
        counts = (np.diff(collection.offsets) for collection in events.collections.values())
        self._capacity = max([1, *(int(count.max(initial=0)) for count in counts)])
        self._positions: dict[Hashable, int] = {}
        self._arrays: list[Array] = []
        self._alive: list[object] = []

    def once(self, key: Hashable, make: Callable[[], int]) -> int:
        if key not in self._positions:
            self._positions[key] = make()
        return self._positions[key]

    def constant(self, *values: float) -> int:
        """Put values into consecutive registers and return the first register."""
        self._registers += values
        return len(self._registers) - len(values)

    def put(self, *values: int) -> int:
        """Put operands into the pool and return the position of the first."""
        self._pool += values
        return len(self._pool) - len(values)

    def compute(self, op: int, *operands: int, results: int = 1) -> int:
        """Add an instruction and return the (first) register of its result."""
        register = self.constant(*[math.nan] * results)
        self.add(op, register, *operands)
        return register

    def add(self, op: int, *operands: int) -> None:
        self._code.append(self._padded(op, *operands))

    def _padded(self, *instruction: int) -> tuple[int, ...]:
        return (*instruction, *[0] * (do.WIDTH - len(instruction)))

    def scalar(self, name: str) -> int:
        """Return the start of a scalar column."""
        return self._column_start("", name, lambda: self._work.scalar(name))

    def half_word(self, name: str, half: int) -> int:
        """Return the start of the lower (0) or upper (1) half of the bits of an integer column."""

        def bits() -> Array:
            return self._work.scalar(name).astype(np.int64) >> HALF * half & (1 << HALF) - 1

        return self._column_start(f"half {half}", name, bits)

    def column(self, collection: str, name: Column, crossing: int = 0) -> int:
        """Return the start of a column of a collection, if scaled for the objects of a crossing."""

        stored_name = "pt" if isinstance(name, Scaled) else name
        begin = self._column_start(
            collection, name, lambda: self._work.column(ObjectSelection(collection), stored_name)
        )
        if isinstance(name, Scaled):
            self.once((collection, name, crossing), lambda: self._scale(collection, name, crossing, begin))
        return begin

    def _scale(self, collection: str, scaled: Scaled, crossing: int, begin: int) -> int:
        """Add the instruction that fills a scaled column for the objects of a crossing."""
        dtype = self._stored(collection, "pt").dtype
        if dtype not in (np.float32, np.float64):
            raise NoFormError(f"{scaled.name}, which is computed from a pT of type {dtype}")
        rows = self.selection(ObjectSelection(collection), crossing)
        pieces = [
            (self.within(rows, collection, passing, crossing), self.constant(slope, offset))
            for slope, offset, passing in scaled.pieces
        ]
        pool = self.put(*(n for piece in pieces for n in piece))
        single = int(dtype == np.float32)
        self.add(do.SCALED, begin, rows, self.column(collection, "pt"), pool, len(pieces), single)
        return begin

    def _stored(self, collection: str, name: str) -> Array:
        return self._work.column(ObjectSelection(collection), name)

    def _column_start(self, collection: str, name: Column, column: Callable[[], Array]) -> int:
        need = collection, name
        if need not in self._begin:
            self._columns.append(column().astype(np.float64))
            self._begin[need] = self._end
            self._end += len(self._columns[-1])
        return self._begin[need]

    def selection(self, selection: ObjectSelection, crossing: int = 0) -> int:
        """Return the position of the number of rows of a selection, which the rows follow."""
        return self.once((selection, crossing), lambda: self._derive(selection, crossing))

    def _derive(self, selection: ObjectSelection, crossing: int) -> int:
        if selection.source:
            rows = self.selection(selection.source, crossing)
        elif selection.windows or selection.any_of or selection.overlap:
            rows = self.selection(ObjectSelection(selection.base), crossing)
        else:
            begin = self._collection(selection.base) * (len(self._events) + 1)
            return self._new(do.ALL, begin, crossing)
        if selection.windows:
            rows = self.within(rows, selection.base, selection.windows, crossing)
        if selection.any_of:
            parts = [self.within(rows, selection.base, window, crossing) for window in selection.any_of]
            rows = self._new(do.EITHER, rows, self.put(*parts), len(parts))
        if selection.overlap:
            other, dr = selection.overlap
            columns = [self.column(d, c) for d in (selection.base, other.base) for c in ("eta", "phi")]
            others = self.selection(other, crossing)
            rows = self._new(do.CLEAR, rows, others, *columns, self.constant(dr))
        return rows

    def within(self, rows: int, base: str, passing: Windows, crossing: int = 0) -> int:
        """Return the selection of the objects that lie in all windows. rows: objects of a crossing."""

        def select() -> int:
            columns = [
                (name, self.column(base, name, crossing), any_of(allowed)) for name, allowed in passing
            ]
            tests = [test for column in columns for test in self._tests(base, *column)]
            return self._new(do.WINDOWS, rows, self.put(*(n for test in tests for n in test)), len(tests))

        return self.once((rows, passing), select) if passing else rows

    def _tests(self, base: str, name: Column, column: int, passing: AnyOf) -> Iterator[tuple[int, ...]]:
        """Yield the tests of the windows on a column, any of which must hold."""
        for i, window in enumerate(passing, start=1):
            tests = [(column, *test) for test in self._tests_of(base, name, window)]
            for k, test in enumerate(tests, start=1):
                last = do.END if i == len(passing) else do.OTHERWISE
                yield *test, last if k == len(tests) else do.MORE

    def _tests_of(self, base: str, name: Column, w: Window) -> Iterator[tuple[int, ...]]:
        if w.bits is not None:
            values = np.empty(0) if isinstance(name, Scaled) else self._stored(base, name)
            exact = np.issubdtype(values.dtype, np.integer)  # whether float64 has them
            if exact and len(values):
                exact = int(values.max()) < _EXACT and int(values.min()) > -_EXACT
            if not exact:
                raise NoFormError(f"bits of {name}, whose values are not all integers below 2⁵³")
            yield do.BITS, w.bits, 0
        low, high = w.span()
        if low > -math.inf or high < math.inf:
            mode = do.AROUND if low > high else do.WITHIN
            yield mode, self.constant(low), self.constant(high)
        low, high = w.span("abs_")
        if low > -math.inf or high < math.inf:
            yield do.ABSOLUTELY, self.constant(low), self.constant(high)
        if w.any_of is not None:
            if any(abs(value) >= _EXACT for value in w.any_of):
                raise NoFormError(f"{name} among integers that are not exactly float64")
            yield do.AMONG, self.constant(*map(float, w.any_of)), len(w.any_of)

    def _new(self, op: int, *operands: int) -> int:
        begin = self._rows
        self._rows += 1 + self._capacity
        self.add(op, begin, *operands)
        return begin

    def _collection(self, name: str) -> int:
        if name not in self._collections:
            self._work.objects(ObjectSelection(name))  # raises SampleError if there is no such collection
            self._collections.append(name)
        return self._collections.index(name)

    def finish(self, decisions: Words) -> int:
        """Lay everything out, and return the address of the table. decisions: the words to write."""
        used = [self._events.collections[name].offsets for name in self._collections]
        arrays: dict[int, Array] = {
            do.CODE: np.array(self._code, np.int64).reshape(-1),
            do.POOL: np.array(self._pool, np.int64),
            do.REGISTERS: np.array(self._registers, np.float64),
            do.COLUMNS: np.concatenate([*self._columns, np.empty(0)]),
            do.OFFSETS: np.concatenate([*(o - o[0] for o in used), np.empty(0, np.int64)]),
            do.ROWS: np.zeros(self._rows, np.int64),
            do.DECISIONS: decisions,
            do.STARTS: np.zeros(2 * MAX_LEGS, np.int64),
            do.OBJECTS: np.zeros(do.LINES * MAX_LEGS * self._capacity),
            do.CHOSEN: np.zeros(MAX_LEGS, np.int64),
            do.FOUND: np.zeros(1, np.int64),
        }
        numbers = (number for k in sorted(arrays) for number in (arrays[k].ctypes.data, len(arrays[k])))
        table = np.array([len(self._events), *numbers, 0], np.int64)
        self._arrays = [*arrays.values(), table]
        return int(table.ctypes.data)
