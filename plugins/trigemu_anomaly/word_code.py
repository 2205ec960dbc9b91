"""Integer arithmetic on sixteen words at a time, as LLVM vectors: what `vector_code` is for float32.

A word is an int32 or an int64: each function takes, as its last argument, a number of the type. Networks of
both widths then share the code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .vector_code import LANES, Lanes, splat

_LONG = ir.IntType(64)


class Words(Lanes):
    """Sixteen words in LLVM code. Comparisons are −1 where they hold, else 0."""

    def _signed(self, relation: str, other: Lanes | float) -> Words:
        holds = self.builder.icmp_signed(relation, self.value, self._other(other))
        return Words(self.builder, self.builder.sext(holds, self.value.type))

    def __add__(self, other: Lanes | float) -> Words:
        return self._word("add", other)

    def __sub__(self, other: Lanes | float) -> Words:
        return self._word("sub", other)

    def __mul__(self, other: Lanes | float) -> Words:
        return self._word("mul", other)

    def __and__(self, other: Lanes | float) -> Words:
        return self._word("and_", other)

    def __or__(self, other: Lanes | float) -> Words:
        return self._word("or_", other)

    def __xor__(self, other: Lanes | float) -> Words:
        return self._word("xor", other)

    def __lshift__(self, other: Lanes | float) -> Words:
        return self._word("shl", other)

    def __rshift__(self, other: Lanes | float) -> Words:
        return self._word("ashr", other)

    def __lt__(self, other: Lanes | float) -> Words:
        return self._signed("<", other)

    def __gt__(self, other: Lanes | float) -> Words:
        return self._signed(">", other)

    def equals(self, other: Lanes | float) -> Words:
        return self._signed("==", other)

    def where(self, mask: Words, other: Words) -> Words:
        """Return these words where a mask is −1, the others where it is 0."""
        return (self & mask) | (other & (mask ^ -1))

    def _word(self, operation: str, other: Lanes | float) -> Words:
        return Words(self.builder, getattr(self.builder, operation)(self.value, self._other(other)))


def larger(a: Words, b: Words) -> Words:
    return a.where(a > b, b)


def smaller(a: Words, b: Words) -> Words:
    return a.where(a < b, b)


def shifted(a: Words, by: Words) -> Words:
    """Shift to the right, or by a negative number to the left."""
    zero = by - by
    return ((a >> larger(by, zero)) << larger(zero - by, zero)).where(by < 0, a >> larger(by, zero))


#: The numbers of a conversion, in the order of its list (`fixed_point.conversion`).
CONVERSION = (
    "floor", "right", "rest", "half", "nearest", "tie", "tie_below", "tie_above", "tie_odd", "to_zero",
    "left", "low", "high", "if_low", "if_high", "limited", "mask", "sign",
)  # fmt: skip


def converted(v: Words, to: dict[str, Words]) -> Words:
    """Convert words to another type, without branches.

    Shifted to the right by `right` bits, they are rounded down, then up where the rounding says so; shifted
    to the left by `left`, words beyond `low` or `high` are limited, or lose their upper bits. Masks, −1 or 0,
    choose the modes. Words below `floor` are raised to it first, which is a ReLU.
    """
    v = larger(v, to["floor"])
    q, rest = v >> to["right"], v & to["rest"]
    negative = v < 0
    tie = to["tie"] | (to["tie_below"] & negative) | (to["tie_above"] & (negative ^ -1))
    tie = tie | (to["tie_odd"] & ((q & 1).equals(1)))
    up = ((rest > to["half"]) & to["nearest"]) | (rest.equals(to["half"]) & tie)
    up = up | ((rest > 0) & negative & to["to_zero"])
    q = q - up  # a mask is −1
    wrapped = (((q << to["left"]) & to["mask"]) ^ to["sign"]) - to["sign"]
    below, above = q < to["low"], q > to["high"]
    limit = to["if_low"].where(below, to["if_high"])
    return limit.where((below | above) & to["limited"], wrapped)


def _vector(context: Any, word: Any) -> Any:
    return ir.VectorType(context.get_value_type(word), LANES)


def _loaded(builder: Any, vector: Any, list_: Any, names: tuple[str, ...]) -> dict[str, Words]:
    """Load numbers of an int64 list into all lanes."""
    numbers = {}
    for at, name in enumerate(names):
        value = builder.load(builder.gep(list_, [ir.Constant(_LONG, at)]))
        if vector.element.width < value.type.width:
            value = builder.trunc(value, vector.element)
        numbers[name] = Words(builder, splat(builder, value))
    return numbers


#: By their numbers in the evaluator: ADD, SUBTRACT, MULTIPLY, MAXIMUM, MINIMUM, SHIFT.
_OPERATIONS: tuple[Callable[[Words, Words], Words], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    larger,
    smaller,
    shifted,
)


@intrinsic  # type: ignore[untyped-decorator]
def combine(typing: Any, number: Any, y: Any, a: Any, b: Any, n: Any, word: Any) -> Any:
    """Compute n vectors y of the vectors a and b, by the operation of a number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, *addresses, n, _ = arguments
        vector = _vector(context, signature.args[-1])
        pointers = [builder.inttoptr(at, vector.as_pointer()) for at in addresses]
        with cgutils.for_range(builder, n) as loop:
            y, a, b = (builder.gep(pointer, [loop.index]) for pointer in pointers)
            first, second = (Words(builder, builder.load(at, align=4)) for at in (a, b))
            end = builder.append_basic_block()
            choice = builder.switch(number, end)
            for own, operation in enumerate(_OPERATIONS):
                block = builder.append_basic_block()
                choice.add_case(ir.Constant(_LONG, own), block)
                builder.position_at_end(block)
                builder.store(operation(first, second).value, y, align=4)
                builder.branch(end)
            builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5, word), generate


@intrinsic  # type: ignore[untyped-decorator]
def convert(typing: Any, y: Any, a: Any, to: Any, n: Any, word: Any) -> Any:
    """Convert n vectors a to y; to: the address of the numbers of the conversion, int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        y, a, to, n, _ = arguments
        vector = _vector(context, signature.args[-1])
        y, a = (builder.inttoptr(at, vector.as_pointer()) for at in (y, a))
        numbers = _loaded(builder, vector, builder.inttoptr(to, _LONG.as_pointer()), CONVERSION)
        with cgutils.for_range(builder, n) as loop:
            value = Words(builder, builder.load(builder.gep(a, [loop.index]), align=4))
            result = converted(value, numbers).value
            builder.store(result, builder.gep(y, [loop.index]), align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4, word), generate


def _layer(row: bool, together: int) -> Any:
    """Make a function for kernels: (x, w, bias, n_in, n_out, y, right, word) computes
    y = bias + Σ (x w >> right), all modulo 2^bits, so that the order of the terms does not matter.

    In blocks, x and y are [features][16 events], w is [n_in][n_out]. For a row, x is [n_in], and y, bias and
    w have n_out padded to sixteen. `together`: vectors of y that are computed in one loop over x.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, w, bias, n_in, n_out, y, right, _ = arguments
        vector = _vector(context, signature.args[-1])
        one = vector.element
        of_x, of_w = (one, vector) if row else (vector, one)
        x, y = builder.inttoptr(x, of_x.as_pointer()), builder.inttoptr(y, vector.as_pointer())
        w, bias = (builder.inttoptr(at, of_w.as_pointer()) for at in (w, bias))
        if one.width < _LONG.width:
            right = builder.trunc(right, one)
        by = Words(builder, splat(builder, right))

        def load(pointer: Any, at: Any) -> Words:
            value = builder.load(builder.gep(pointer, [at]), align=4)
            return Words(builder, value if value.type == vector else splat(builder, value))

        columns = builder.sdiv(n_out, ir.Constant(_LONG, LANES)) if row else n_out
        sums = [cgutils.alloca_once(builder, vector) for _ in range(together)]

        def compute(first: Any, count: int) -> None:
            at = [builder.add(first, ir.Constant(_LONG, k)) for k in range(count)]
            for k in range(count):
                builder.store(load(bias, at[k]).value, sums[k])
            with cgutils.for_range(builder, n_in) as loop:
                value = load(x, loop.index)
                start = builder.mul(loop.index, columns)
                for k in range(count):
                    term = (value * load(w, builder.add(start, at[k]))) >> by
                    builder.store((Words(builder, builder.load(sums[k])) + term).value, sums[k])
            for k in range(count):
                builder.store(builder.load(sums[k]), builder.gep(y, [at[k]]), align=4)

        number = ir.Constant(_LONG, together)
        whole = builder.sdiv(columns, number)
        with cgutils.for_range(builder, whole) as loop:
            compute(builder.mul(loop.index, number), together)
        done = builder.mul(whole, number)
        with cgutils.for_range(builder, builder.sub(columns, done)) as loop:
            compute(builder.add(done, loop.index), 1)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def layer(
        typing: Any, x: Any, w: Any, bias: Any, n_in: Any, n_out: Any, y: Any, right: Any, word: Any
    ) -> Any:
        return types.void(*[types.int64] * 7, word), generate

    return layer


block_layer, row_layer = _layer(row=False, together=4), _layer(row=True, together=2)


@intrinsic  # type: ignore[untyped-decorator]
def word_at(typing: Any, address: Any, number: Any, word: Any) -> Any:
    """Read the word at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.gep(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]]))

    return word(types.int64, types.int64, word), generate


@intrinsic  # type: ignore[untyped-decorator]
def put_word(typing: Any, address: Any, number: Any, value: Any, word: Any) -> Any:
    """Write a word, of a value in its range, to a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.args[-1])
        at = builder.gep(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])
        value = arguments[2]
        builder.store(builder.trunc(value, kind) if value.type.width > kind.width else value, at)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, word), generate
