"""Translation of compiled triggers into a program for single events; each node and each object selection is
translated once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numba import types
from trigemu_anomaly.input_kernels import DONE, Features, inputs_function
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.single_row import ModelCall, model_call
from trigemu_anomaly.vectors import numbers_at

from trigemu.base.kernels import address_of, c_function, call_function
from trigemu.observables import expressions
from trigemu.observables.expressions import Condition, Number
from trigemu.triggers.base import Compiled
from trigemu.triggers.combination import MATCH_AFTER, CompiledCombination, CompiledLegThreshold
from trigemu.triggers.function import CompiledFunction
from trigemu.triggers.logic import CompiledExternal
from trigemu.triggers.pairs import COLUMNS

from . import opcodes as do
from .assembly import HALF, Assembly, NoFormError
from .instructions import choose
from .opcodes import REFUSED

_integer, _ = numbers_at(types.int64)
_flag, _ = numbers_at(types.uint8)


def single(trigger: Compiled) -> Condition | Compiled | ModelCall | None:
    """Return how one event is decided without a workspace; None for a trigger that needs one."""
    if isinstance(trigger, CompiledLegThreshold):
        return trigger.fired_above(trigger.threshold)
    if isinstance(trigger, CompiledCombination | CompiledExternal | CompiledFunction):
        return trigger
    return trigger.condition or model_call(trigger)


@c_function
def _fill(arguments: int) -> int:
    """Write the inputs of an event: the arguments are those of `fill_block`, and the address of its function.
    Return 1, 0 if a needed input is missing, or REFUSED."""
    if call_function(_integer(arguments, 7), arguments) != DONE:
        return REFUSED
    return int(_flag(_integer(arguments, 6), 0))


class Program(Assembly):
    """The program of the slots of a plan."""

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
            self.add(do.REQUEST, number, bit, *(call.native or (0, 0)))
            if requires is not None:
                self._code[skip] = self._padded(do.SKIP, requires, len(self._code) - skip - 1)
        except NoFormError:
            del self._code[length:]
            raise
        finally:
            self._positions = positions  # instructions that may be skipped cannot be reused elsewhere

    def _store(self, inputs: Inputs, features: Features) -> None:
        address = int(features.ctypes.data)
        if inputs.table.is_direct:
            bound, complete = inputs.table.bind(self._work, 1 + self._capacity), np.zeros(1, np.bool_)
            numbers = (bound.address, 0, 1, address, 0, 1, complete.ctypes.data, inputs_function())
            arguments = np.array(numbers, np.int64)
            self._alive += bound, complete, arguments
            self.add(do.INPUTS, address_of(_fill, types.intp(types.intp)), arguments.ctypes.data)
            return
        first = self.constant(*(math.nan if padding is None else padding for padding in inputs.padding))
        for input_number, number in enumerate(inputs.numbers):
            self.add(do.STORE, address + 4 * input_number, self.register(number), first + input_number)

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
    return _chain(program, {"and": do.AND, "or": do.OR}[node.operation], operands)


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
        pool += [program.column(base, read[line], place) if line in read else -1 for line in lines]
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
_COMPARISONS = {
    ">": do.ABOVE,
    ">=": do.AT_LEAST,
    "<": do.BELOW,
    "<=": do.AT_MOST,
    "==": do.EQUAL,
    "!=": do.UNEQUAL,
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
    expressions.Relation: lambda p, node: p.compute(
        _COMPARISONS[node.operation], p.register(node.left), p.register(node.right)
    ),
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
