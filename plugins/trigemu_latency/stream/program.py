"""Translation of compiled triggers into a program for single events; each node and each object selection is
translated once."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, pairwise, product
from typing import Any, cast

import numpy as np
from numba import types
from trigemu_anomaly.inputs import Features, Inputs
from trigemu_anomaly.single_row import ModelCall, model_call

from trigemu.base.arrays import Array, FloatArray, Words
from trigemu.base.kernels import address_of
from trigemu.observables import expressions
from trigemu.observables.expressions import Condition, Number
from trigemu.observables.selections import Column, ObjectSelection, Window, Windows, any_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled
from trigemu.triggers.combination import MATCH_AFTER, MAX_LEGS, CompiledCombination, CompiledLegThreshold
from trigemu.triggers.function import CompiledFunction
from trigemu.triggers.logic import CompiledExternal
from trigemu.triggers.pairs import COLUMNS

from . import opcodes as do
from .machine import choose

#: Bits of a half word.
HALF = 32
#: Every integer below this is exact in float64.
_EXACT = 2**53


class NoFormError(Exception):
    """Raised for an expression that has no form in instructions."""


def single(trigger: Compiled) -> Condition | Compiled | ModelCall | None:
    """Return how one event is decided without a workspace; None for a trigger that needs one."""
    if isinstance(trigger, CompiledLegThreshold):
        return trigger.fired_above(trigger.threshold)
    if isinstance(trigger, CompiledCombination | CompiledExternal | CompiledFunction):
        return trigger
    return trigger.condition or model_call(trigger)


#: Windows on columns, all of which must hold.
Alternative = tuple[tuple[Column, Window], ...]


def _alternatives(windows: Windows) -> Iterator[Alternative]:
    """Yield each choice of one window on each column, which may have several."""
    yield from product(*([(name, window) for window in any_of(allowed)] for name, allowed in windows))


class Program:
    """The instructions for the slots of a plan, with their registers, columns and selections, each created
    once; `finish` lays them out for the machine. Raises SampleError if the events lack a column."""

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

    def column(self, collection: str, name: Column) -> int:
        """Return the start of a column of a collection; one that is derived from pT is computed here."""
        return self._column_start(
            collection, name, lambda: self._work.column(ObjectSelection(collection), name)
        )

    def _column_start(self, collection: str, name: Column, column: Callable[[], Array]) -> int:
        need = collection, name
        if need not in self._begin:
            values = column()
            exact = values.dtype.kind == "f" or not len(values)
            if not (exact or -_EXACT < values.min() <= values.max() < _EXACT):
                raise NoFormError(f"{name}, which has integers that are not exactly float64")
            self._columns.append(values.astype(np.float64))
            self._begin[need] = self._end
            self._end += len(values)
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
        # Of each group of alternatives, one must hold, which is a conjunction of windows on columns.
        groups: list[list[Alternative]] = [
            [((name, window),) for window in any_of(allowed)] for name, allowed in selection.windows
        ]
        if selection.any_of:
            groups.append([each for windows in selection.any_of for each in _alternatives(windows)])
        tests = [test for group in groups for test in self._tests(selection.base, group)]
        if tests:
            rows = self._new(do.WINDOWS, rows, self.put(*chain.from_iterable(tests)), len(tests))
        if selection.overlap:
            other, dr = selection.overlap
            columns = [self.column(d, c) for d in (selection.base, other.base) for c in ("eta", "phi")]
            others = self.selection(other, crossing)
            rows = self._new(do.CLEAR, rows, others, *columns, self.constant(dr))
        return rows

    def _tests(self, base: str, alternatives: Sequence[Alternative]) -> Iterator[tuple[int, ...]]:
        """Yield the tests of alternatives; none if one of them always holds."""
        tests = [
            [test for name, window in windows for test in self._tests_of(base, name, window)]
            for windows in alternatives
        ]
        for i, some in enumerate(tests if all(tests) else (), start=1):
            for k, test in enumerate(some, start=1):
                yield *test, do.MORE if k < len(some) else do.OTHERWISE if i < len(tests) else do.END

    def _tests_of(self, base: str, name: Column, window: Window) -> Iterator[tuple[int, ...]]:
        """Yield a column with how its value is compared with a window, and two operands."""
        column = self.column(base, name)
        if window.bits is not None:
            if self._work.column(ObjectSelection(base), name).dtype.kind == "f":
                raise NoFormError(f"bits of {name}, whose values are not integers")
            yield column, do.BITS, window.bits, 0
        for prefix, inside in (("", do.WITHIN), ("abs_", do.ABSOLUTELY)):
            low, high = window.span(prefix)
            if low > -math.inf or high < math.inf:
                yield column, do.AROUND if low > high else inside, self.constant(low), self.constant(high)
        if window.any_of is not None:
            yield column, do.AMONG, self.constant(*map(float, window.any_of)), len(window.any_of)

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

    def fire(self, bit: int, condition: Condition | Compiled) -> None:
        """Set decision `bit` if the condition holds."""
        self.add(do.FIRE, bit, self.register(condition))

    def request(self, number: int, bit: int, call: ModelCall) -> None:
        """Request model `number`, with its inputs written, if its preselection passes and no required input
        is missing. A model that is machine code decides at once instead."""
        requires = None if call.requires is None else self.register(call.requires)
        positions, length = self._positions.copy(), len(self._code)
        try:
            skip = len(self._code)
            if requires is not None:
                self.add(do.SKIP, requires)
            for inputs, features in call.reads:
                self._store(inputs, features)
            self.add(do.REQUEST, number, bit, *(call.decision.native or (0, 0)))
            if requires is not None:
                self._code[skip] = self._padded(do.SKIP, requires, len(self._code) - skip - 1)
        except NoFormError:
            del self._code[length:]
            raise
        finally:
            self._positions = positions  # instructions that may be skipped cannot be reused elsewhere

    def _store(self, inputs: Inputs, features: Features) -> None:
        padding = self.constant(*(math.nan if padding is None else padding for padding in inputs.padding))
        table, groups = inputs.table, inputs.table.groups.tolist()
        for (first, selection, index), (end, *_) in pairwise(groups):
            to = int(features.ctypes.data) + 4 * first
            if selection < 0:
                self.add(do.STORE, to, self.register(inputs.numbers[first]), padding + first)
                continue
            pool: list[int] = []
            for column, angle, _ in table.inputs[first:end].tolist():
                base, name = cast("tuple[str, Column]", table.columns[column])
                pool += self.column(base, name), -1 if angle < 0 else self.register(table.angles[angle])
            rows = self.selection(table.selections[selection])
            self.add(do.OBJECT, to, rows, index, padding + first, self.put(*pool), end - first)

    def register(self, node: Number | Condition | Compiled) -> int:
        """Return the register of the value of a node."""
        if type(node) not in _EMIT:
            raise NoFormError(type(node))
        return self.once(node, lambda: _EMIT[type(node)](self, node))

    def component(self, vector: expressions.Vector, axis: int) -> int:
        """Return the register of px, py, pz or E of a vector."""
        if type(vector) not in _COMPONENTS:
            raise NoFormError(type(vector))
        return self.once((vector, axis), lambda: _COMPONENTS[type(vector)](self, vector, axis))

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


def _of_vectors(program: Program, node: expressions.OfVectors) -> int:
    """Compute a function of vectors exactly like `OfVectors` does in batches."""
    first, function = node.vectors[0], node.function
    if function == "m" and len(node.vectors) == 2:
        objects = cast("tuple[expressions.ObjectVector, ...]", node.vectors)
        return program.compute(
            do.PAIR_MASS,
            *(program.register(v.element(c)) for v in objects for c in ("pt", "eta", "phi")),
        )
    if len(node.vectors) == 1 and isinstance(first, expressions.ObjectVector):
        if function == "m":
            return program.compute(do.MULTIPLY, program.constant(0.0), program.register(first.element("pt")))
        return program.register(first.element(function))
    if len(node.vectors) == 1:
        op, axes = _FUNCTIONS[function]
        return program.compute(op, *(program.component(first, axis) for axis in range(axes)))
    azimuths = [program.register(expressions.OfVectors("phi", (v,))) for v in node.vectors]
    if function == "dphi":
        return program.compute(do.DELTA_PHI, *azimuths)
    etas = [program.register(expressions.OfVectors("eta", (v,))) for v in node.vectors]
    if function == "deta":
        return program.compute(do.SUBTRACT, *etas)
    return program.compute(do.DELTA_R, etas[0], azimuths[0], etas[1], azimuths[1])


def _of_object(program: Program, vector: expressions.ObjectVector, axis: int) -> int:
    op = (do.X, do.Y, do.Z, do.ENERGY)[axis]
    angle = "phi" if axis < 2 else "eta"
    return program.compute(op, *(program.register(vector.element(c)) for c in ("pt", angle)))


def _of_missing(program: Program, vector: expressions.MissingMomentum, axis: int) -> int:
    def both() -> int:
        columns = ("pt", "phi")
        triples = [
            (program.selection(d), *(program.column(d.base, c) for c in columns)) for d in vector.selections
        ]
        pool = program.put(*(n for triple in triples for n in triple))
        return program.compute(do.MISSING, pool, len(triples), results=2)

    return program.once(vector, both) + axis


def _scalar_sum(program: Program, node: expressions.ScalarSum) -> int:
    pairs = [(program.selection(d), program.column(d.base, "pt")) for d in node.selections]
    return program.compute(do.SUM, program.put(*(n for pair in pairs for n in pair)), len(pairs))


def _junction(program: Program, node: expressions.Junction) -> int:
    operands = [program.register(operand) for operand in node.operands]
    if node.operation == "not":
        return program.compute(do.NOT, operands[0])
    return _chain(program, {"and": do.MULTIPLY, "or": do.LARGER}[node.operation], operands)


def _relation(program: Program, node: expressions.Relation) -> int:
    operation, swapped = _COMPARISONS[node.operation]
    left, right = program.register(node.left), program.register(node.right)
    return program.compute(operation, right, left) if swapped else program.compute(operation, left, right)


def _chain(program: Program, op: int, operands: Sequence[int]) -> int:
    """Combine operands from left to right."""
    result = operands[0]
    for operand in operands[1:]:
        result = program.compute(op, result, operand)
    return result


def _combination(program: Program, node: CompiledCombination) -> int:
    of_legs, cuts, numbers = node.arrays
    pool = of_legs.reshape(-1).tolist()
    for leg in node.legs:
        base, place = leg.objects.base, leg.crossing
        pool.append(program.selection(leg.selection, place))
        read = dict(leg.read)
        lines = range(1, 1 + len(COLUMNS))
        pool += [program.column(base, read[line]) if line in read else -1 for line in lines]
    pool += cuts.reshape(-1).tolist()
    first = program.constant(*numbers.tolist())
    sizes = len(node.legs), len(cuts), first, len(numbers)
    function = address_of(choose, types.intp(types.intp))
    return program.compute(do.CHOICE, program.put(*pool), *sizes, function, MATCH_AFTER)


def _function(program: Program, node: CompiledFunction) -> int:
    numbers = [program.register(number) for number in node.numbers]
    first = program.constant(*[math.nan] * len(numbers), *node.parameters)
    result = program.constant(math.nan)
    program.add(do.CALL, first, node.address, program.put(*numbers), len(numbers), result)
    return program.compute(
        do.ABOVE, result, program.constant(0.0 if node.threshold is None else node.threshold)
    )


def _arithmetic(program: Program, node: expressions.Arithmetic) -> int:
    operands = [program.register(operand) for operand in node.operands]
    if node.operation in _EXTREMES:
        return _chain(program, _EXTREMES[node.operation], operands)
    return program.compute(_ARITHMETIC[node.operation], *operands)


_ARITHMETIC = {
    "+": do.ADD,
    "-": do.SUBTRACT,
    "*": do.MULTIPLY,
    "/": do.DIVIDE,
    "negative": do.NEGATIVE,
    "abs": do.ABSOLUTE,
}
_EXTREMES = {"max": do.LARGER, "min": do.SMALLER}
#: Comparisons: the instruction, and whether its operands change places.
_COMPARISONS = {
    ">": (do.ABOVE, False),
    ">=": (do.AT_LEAST, False),
    "<": (do.ABOVE, True),
    "<=": (do.AT_LEAST, True),
    "==": (do.EQUAL, False),
    "!=": (do.UNEQUAL, False),
}
#: Functions of one vector: the instruction, and the number of components px, py, pz, E that it reads.
_FUNCTIONS = {
    "pt": (do.TRANSVERSE, 2),
    "phi": (do.AZIMUTH, 2),
    "eta": (do.PSEUDORAPIDITY, 3),
    "m": (do.MASS, 4),
}
_EMIT: dict[type, Callable[[Program, Any], int]] = {
    expressions.Constant: lambda p, node: p.constant(node.value),
    expressions.Scalar: lambda p, node: p.compute(do.SCALAR, p.scalar(node.name)),
    expressions.Count: lambda p, node: p.compute(do.COUNT, p.selection(node.selection)),
    expressions.Element: lambda p, node: p.compute(
        do.ELEMENT, p.selection(node.selection), node.index, p.column(node.selection.base, node.column)
    ),
    expressions.ScalarSum: _scalar_sum,
    expressions.Arithmetic: _arithmetic,
    expressions.OfVectors: _of_vectors,
    expressions.Relation: _relation,
    expressions.Junction: _junction,
    CompiledCombination: _combination,
    CompiledExternal: lambda p, node: p.compute(
        do.BIT, p.half_word(node.column, node.bit // HALF), node.bit % HALF, node.crossing
    ),
    CompiledFunction: _function,
}
_COMPONENTS: dict[type, Callable[[Program, Any, int], int]] = {
    expressions.ObjectVector: _of_object,
    expressions.VectorSum: lambda p, vector, axis: _chain(
        p, do.ADD, [p.component(part, axis) for part in vector.parts]
    ),
    expressions.MissingMomentum: _of_missing,
    expressions.MissingEt: lambda p, vector, axis: p.compute(
        (do.X, do.Y)[axis], *(p.register(expressions.Scalar(n)) for n in ("met", "met_phi"))
    ),
}
