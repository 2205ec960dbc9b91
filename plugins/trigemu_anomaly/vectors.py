"""Arithmetic on sixteen numbers at a time, as LLVM vectors: float32, or words of int32 or int64.

numba compiles the loops of kernels, but does not reliably make vectors of them. A function here writes LLVM
code itself: `Lanes` is an expression of sixteen numbers, and Python's operators on it become instructions.
The functions for kernels take, as their last argument, a number of the type; addresses are of this type.

Coefficients of polynomials are those of Cephes (S. L. Moshier, single precision); the largest errors against
float64 are in the docstrings and measured in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16
#: Partial sums of a layer of float32, so that an fma need not wait for the one before.
PARTIAL = 4

_FLOAT, _INT, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
#: Adding and subtracting it rounds a float32 to an integer, which the lowest bits then hold.
_ROUNDER, _ROUNDER_BITS = 12582912.0, 0x4B400000


def _operator(of_floats: str, of_words: str) -> Callable[[Lanes, Lanes | float], Lanes]:
    """Return an operator of `Lanes`, which is one of these instructions."""

    def operator(lanes: Lanes, other: Lanes | float) -> Lanes:
        other = other if isinstance(other, Lanes) else lanes.constant(other)
        instruction = getattr(lanes.builder, of_floats if lanes.is_float else of_words)
        return Lanes(lanes.builder, instruction(lanes.value, other.value))

    return operator


class Lanes:
    """Sixteen numbers in LLVM code. Comparisons of float32 are conditions, false where one is NaN; those of
    words are words, −1 where they hold and 0 elsewhere, which the operators & | ^ combine."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value
        self.is_float = value.type == _FLOATS

    def constant(self, number: float) -> Lanes:
        """Return this number in all lanes."""
        return Lanes(self.builder, ir.Constant(self.value.type, [number] * LANES))

    __add__, __sub__ = _operator("fadd", "add"), _operator("fsub", "sub")
    __mul__, __truediv__ = _operator("fmul", "mul"), _operator("fdiv", "fdiv")
    __and__, __or__, __xor__ = (_operator(name, name) for name in ("and_", "or_", "xor"))
    __lshift__, __rshift__ = _operator("shl", "shl"), _operator("ashr", "ashr")

    def _compared(self, relation: str, other: Lanes | float) -> Lanes:
        other = other if isinstance(other, Lanes) else self.constant(other)
        if self.is_float:
            return Lanes(self.builder, self.builder.fcmp_ordered(relation, self.value, other.value))
        holds = self.builder.icmp_signed(relation, self.value, other.value)
        return Lanes(self.builder, self.builder.sext(holds, self.value.type))

    def __lt__(self, other: Lanes | float) -> Lanes:
        return self._compared("<", other)

    def __gt__(self, other: Lanes | float) -> Lanes:
        return self._compared(">", other)

    def equals(self, other: Lanes | float) -> Lanes:
        return self._compared("==", other)

    def choose(self, first: Lanes, second: Lanes) -> Lanes:
        """Return the first where this comparison holds, else the second."""
        if first.is_float:
            return Lanes(self.builder, self.builder.select(self.value, first.value, second.value))
        return (first & self) | (second & (self ^ -1))

    def as_integers(self) -> Lanes:
        """Return the bits of float32 as int32."""
        return Lanes(self.builder, self.builder.bitcast(self.value, _INTS))

    def as_floats(self) -> Lanes:
        """Return the float32 that have these bits."""
        return Lanes(self.builder, self.builder.bitcast(self.value, _FLOATS))

    def call(self, function: str, *others: Lanes | float) -> Lanes:
        """Call an LLVM function of float32, such as fma, sqrt, fabs."""
        kind = ir.FunctionType(_FLOATS, [_FLOATS] * (1 + len(others)))
        name = f"llvm.{function}.v{LANES}f32"
        called = cgutils.get_or_insert_function(self.builder.module, kind, name)
        operands = [one if isinstance(one, Lanes) else self.constant(one) for one in (self, *others)]
        return Lanes(self.builder, self.builder.call(called, [one.value for one in operands]))

    def polynomial(self, *coefficients: float) -> Lanes:
        """Evaluate a polynomial, the coefficient of the highest power first."""
        result = self.constant(coefficients[0])
        for coefficient in coefficients[1:]:
            result = result.call("fma", self, coefficient)
        return result


def maximum(a: Lanes, b: Lanes) -> Lanes:
    """Return the larger one; NaN if one of them is NaN."""
    larger = (b > a).choose(b, a)
    return b.equals(b).choose(larger, b) if a.is_float else larger


def minimum(a: Lanes, b: Lanes) -> Lanes:
    """Return the smaller one; NaN if one of them is NaN."""
    smaller = (b < a).choose(b, a)
    return b.equals(b).choose(smaller, b) if a.is_float else smaller


def relu(a: Lanes) -> Lanes:
    """Return max(a, 0), NaN of NaN."""
    return (a < 0.0).choose(a.constant(0.0), a)


def shifted(a: Lanes, by: Lanes) -> Lanes:
    """Shift words to the right, or by a negative number to the left."""
    right, left = (maximum(number, by.constant(0)) for number in (by, by.constant(0) - by))
    return (by < 0).choose((a >> right) << left, a >> right)


def exponential(x: Lanes) -> Lanes:
    """Return e^x, within one unit in the last place; 0 and ∞ beyond the range of float32."""
    limited = (x > 89.0).choose(x.constant(89.0), x)
    limited = (limited < -104.0).choose(x.constant(-104.0), limited)
    rounded = limited.call("fma", 1.44269504088896341, _ROUNDER)
    power = rounded - _ROUNDER
    r = power.call("fma", -0.693359375, limited)
    r = power.call("fma", 2.12194440e-4, r)
    p = r.polynomial(
        1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1
    )
    y = p.call("fma", r * r, r) + 1.0
    n = rounded.as_integers() - _ROUNDER_BITS
    half = n >> 1  # 2^n in two factors: the powers of subnormal results are no float32
    for factor in (half, n - half):
        y = y * ((factor + 127) << 23).as_floats()
    return y


def logarithm(x: Lanes) -> Lanes:
    """Return ln x, within 0.81 units in the last place; −∞ of 0, NaN of negative numbers."""
    small = x < 1.1754943508222875e-38
    bits = small.choose(x * 8388608.0, x).as_integers() - 0x3F3504F3
    exponent = Lanes(x.builder, x.builder.sitofp((bits >> 23).value, _FLOATS))
    exponent = small.choose(exponent - 23.0, exponent)
    f = ((bits & 0x007FFFFF) + 0x3F3504F3).as_floats() - 1.0
    p = f.polynomial(
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )  # fmt: skip
    square = f * f
    y = exponent.call("fma", -2.12194440e-4, p * (square * f))
    y = square.call("fma", -0.5, y)
    y = exponent.call("fma", 0.693359375, f + y)
    y = (x < math.inf).choose(y, x)  # ∞ and NaN
    y = (x < 0.0).choose(x.constant(math.nan), y)
    return x.equals(0.0).choose(x.constant(-math.inf), y)


def hyperbolic_tangent(x: Lanes) -> Lanes:
    """Return tanh x, within 1.3 units in the last place."""
    size, square = x.call("fabs"), x * x
    p = square.polynomial(
        -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1
    )
    near = (p * square).call("fma", x, x)
    far = (x.constant(2.0) / (exponential(size + size) + 1.0)).call("fma", -1.0, 1.0).call("copysign", x)
    return (size < 0.625).choose(near, far)


#: The numbers of a conversion, in the order of its list (`fixed_point.conversion`).
CONVERSION = (
    "floor", "right", "rest", "half", "nearest", "tie", "tie_below", "tie_above", "tie_odd", "to_zero",
    "left", "low", "high", "if_low", "if_high", "limited", "mask", "sign",
)  # fmt: skip


def _converted(v: Lanes, to: dict[str, Lanes]) -> Lanes:
    """Convert words to another type, without branches. Shifted to the right by `right` bits, they are rounded
    down, then up where the rounding says so; shifted to the left by `left`, words beyond `low` or `high` are
    limited, or lose their upper bits. Masks, −1 or 0, choose the modes. Words below `floor` are raised to it
    first, which is a ReLU."""
    v = maximum(v, to["floor"])
    q, rest = v >> to["right"], v & to["rest"]
    negative = v < 0
    tie = to["tie"] | (to["tie_below"] & negative) | (to["tie_above"] & (negative ^ -1))
    tie = tie | (to["tie_odd"] & ((q & 1).equals(1)))
    up = ((rest > to["half"]) & to["nearest"]) | (rest.equals(to["half"]) & tie)
    up = up | ((rest > 0) & negative & to["to_zero"])
    q = q - up  # a mask is −1
    wrapped = (((q << to["left"]) & to["mask"]) ^ to["sign"]) - to["sign"]
    below, above = q < to["low"], q > to["high"]
    limit = below.choose(to["if_low"], to["if_high"])
    return ((below | above) & to["limited"]).choose(limit, wrapped)


def _vector(context: Any, word: Any) -> Any:
    return ir.VectorType(context.get_value_type(word), LANES)


def _splat(builder: Any, value: Any) -> Any:
    """Return sixteen copies of a number."""
    vector = ir.VectorType(value.type, LANES)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_INTS, [0] * LANES))


def _narrowed(builder: Any, value: Any, kind: Any) -> Any:
    """Return an int64 as a word."""
    return builder.trunc(value, kind) if kind.width < value.type.width else value


Operations = Mapping[int, Callable[..., Lanes]]


def elementwise(floats: Operations, words: Operations) -> Any:
    """Make a function for kernels: (number, y, a, b, c, n, word) computes n vectors y of the vectors a, b, c
    by the operation of a number, which reads the first one, two or three."""

    @intrinsic  # type: ignore[untyped-decorator]
    def vectors(typing: Any, number: Any, y: Any, a: Any, b: Any, c: Any, n: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number, *addresses, n, _ = arguments
            vector = _vector(context, signature.args[-1])
            pointers = [builder.inttoptr(at, vector.as_pointer()) for at in addresses]
            end = builder.append_basic_block()
            choice = builder.switch(number, end)
            for key, function in (floats if vector == _FLOATS else words).items():
                block = builder.append_basic_block()
                choice.add_case(ir.Constant(_LONG, key), block)
                builder.position_at_end(block)
                with cgutils.for_range(builder, n) as loop:
                    y, *operands = (builder.gep(pointer, [loop.index]) for pointer in pointers)
                    read = operands[: function.__code__.co_argcount]
                    result = function(*(Lanes(builder, builder.load(at, align=4)) for at in read))
                    builder.store(result.value, y, align=4)
                builder.branch(end)
            builder.position_at_end(end)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6, word), generate

    return vectors


@intrinsic  # type: ignore[untyped-decorator]
def convert(typing: Any, y: Any, a: Any, to: Any, n: Any, word: Any) -> Any:
    """Convert n vectors of words a to y; to: the address of the numbers of the conversion, int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        y, a, to, n, _ = arguments
        vector = _vector(context, signature.args[-1])
        if vector == _FLOATS:  # of which there are no conversions
            return context.get_dummy_value()
        y, a = (builder.inttoptr(at, vector.as_pointer()) for at in (y, a))
        list_ = builder.inttoptr(to, _LONG.as_pointer())
        numbers = {}
        for at, name in enumerate(CONVERSION):
            value = builder.load(builder.gep(list_, [ir.Constant(_LONG, at)]))
            numbers[name] = Lanes(builder, _splat(builder, _narrowed(builder, value, vector.element)))
        with cgutils.for_range(builder, n) as loop:
            value = Lanes(builder, builder.load(builder.gep(a, [loop.index]), align=4))
            builder.store(_converted(value, numbers).value, builder.gep(y, [loop.index]), align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4, word), generate


def _layer(row: bool, together: int) -> Any:
    """Make a function for kernels: (x, w, bias, n_in, n_out, y, last, word) computes y = bias + x w. In
    blocks, x and y are [features][16 events], w is [n_in][n_out]. For a row, x is [n_in], and y, bias and w
    have n_out padded to sixteen. Either adds float32 with one fma a term: every `PARTIAL`th term of the first
    whole number of these to the same partial sum, the remaining terms to the first one, which starts with the
    bias; last: whether a ReLU follows. Of words, each product is shifted to the right by `last` bits and all
    is modulo 2^bits, so that the order does not matter. `together`: vectors of y that are computed in one
    loop over x, in registers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, w, bias, n_in, n_out, y, last, _ = arguments
        vector = _vector(context, signature.args[-1])
        one, is_float = vector.element, vector == _FLOATS
        of_x, of_w = (one, vector) if row else (vector, one)
        x, y = builder.inttoptr(x, of_x.as_pointer()), builder.inttoptr(y, vector.as_pointer())
        w, bias = (builder.inttoptr(at, of_w.as_pointer()) for at in (w, bias))
        partial = PARTIAL if is_float else 1

        def constant(number: int) -> Any:
            return ir.Constant(_LONG, number)

        is_relu = builder.icmp_signed("!=", last, constant(0))
        right = None if is_float else Lanes(builder, _splat(builder, _narrowed(builder, last, one)))

        def load(pointer: Any, at: Any) -> Lanes:
            value = builder.load(builder.gep(pointer, [at]), align=4)
            return Lanes(builder, value if value.type == vector else _splat(builder, value))

        columns = builder.sdiv(n_out, constant(LANES)) if row else n_out
        zero = ir.Constant(vector, [0] * LANES)
        sums = [[cgutils.alloca_once(builder, vector) for _ in range(partial)] for _ in range(together)]

        def add_term(number: Any, first: Any, count: int, to: int) -> None:
            value, at = load(x, number), builder.add(builder.mul(number, columns), first)
            for k in range(count):
                weight = load(w, builder.add(at, constant(k)))
                total = Lanes(builder, builder.load(sums[k][to]))
                added = (
                    value.call("fma", weight, total) if right is None else total + (value * weight >> right)
                )
                builder.store(added.value, sums[k][to])

        def compute(first: Any, count: int) -> None:
            for k in range(count):
                builder.store(load(bias, builder.add(first, constant(k))).value, sums[k][0])
                for other in sums[k][1:]:
                    builder.store(zero, other)
            whole = builder.sdiv(n_in, constant(partial))
            with cgutils.for_range(builder, whole) as loop:
                start = builder.mul(loop.index, constant(partial))
                for q in range(partial):
                    add_term(builder.add(start, constant(q)), first, count, q)
            done = builder.mul(whole, constant(partial))
            with cgutils.for_range(builder, builder.sub(n_in, done)) as loop:
                add_term(builder.add(done, loop.index), first, count, 0)
            for k in range(count):
                parts = [Lanes(builder, builder.load(part)) for part in sums[k]]
                while len(parts) > 1:  # the first half with the second
                    half = len(parts) // 2
                    parts = [a + b for a, b in zip(parts[:half], parts[half:], strict=True)]
                total = parts[0].value
                if is_float:
                    total = builder.select(is_relu, relu(parts[0]).value, total)
                builder.store(total, builder.gep(y, [builder.add(first, constant(k))]), align=4)

        whole = builder.sdiv(columns, constant(together))
        with cgutils.for_range(builder, whole) as loop:
            compute(builder.mul(loop.index, constant(together)), together)
        done = builder.mul(whole, constant(together))
        with cgutils.for_range(builder, builder.sub(columns, done)) as loop:
            compute(builder.add(done, loop.index), 1)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def layer(
        typing: Any, x: Any, w: Any, bias: Any, n_in: Any, n_out: Any, y: Any, last: Any, word: Any
    ) -> Any:
        return types.void(*[types.int64] * 7, word), generate

    return layer


block_layer, row_layer = _layer(row=False, together=4), _layer(row=True, together=2)


@intrinsic  # type: ignore[untyped-decorator]
def number_at(typing: Any, address: Any, number: Any, word: Any) -> Any:
    """Read the number at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.gep(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]]))

    return word(types.int64, types.int64, word), generate


@intrinsic  # type: ignore[untyped-decorator]
def put_word(typing: Any, address: Any, number: Any, value: Any, word: Any) -> Any:
    """Write a word, of an int64 in its range, to a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.args[-1])
        at = builder.gep(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])
        if kind != _FLOAT:  # which inputs are copied to, and not converted
            builder.store(_narrowed(builder, arguments[2], kind), at)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, word), generate


def _copying(row: bool) -> Any:
    """Make a function for kernels: (y, memory, places, n, word) copies n vectors, or for a row n numbers, a
    multiple of sixteen, from places int64[n] of memory to consecutive ones."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        y, memory, places, n, _ = arguments
        vector = _vector(context, signature.args[-1])
        y, places = builder.inttoptr(y, vector.as_pointer()), builder.inttoptr(places, _LONG.as_pointer())
        memory = builder.inttoptr(memory, vector.element.as_pointer())

        def source(number: Any) -> Any:
            return builder.gep(memory, [builder.load(builder.gep(places, [number]))])

        with cgutils.for_range(builder, builder.sdiv(n, ir.Constant(_LONG, LANES)) if row else n) as loop:
            if row:  # as one vector, which the next step reads at once
                value, first = (
                    ir.Constant(vector, ir.Undefined),
                    builder.mul(loop.index, ir.Constant(_LONG, LANES)),
                )
                for k in range(LANES):
                    number = builder.load(source(builder.add(first, ir.Constant(_LONG, k))))
                    value = builder.insert_element(value, number, ir.Constant(_INT, k))
            else:
                value = builder.load(builder.bitcast(source(loop.index), vector.as_pointer()), align=4)
            builder.store(value, builder.gep(y, [loop.index]), align=4)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def copy(typing: Any, y: Any, memory: Any, places: Any, n: Any, word: Any) -> Any:
        return types.void(*[types.int64] * 4, word), generate

    return copy


block_copy, row_copy = _copying(row=False), _copying(row=True)


def numbers_at(kind: types.Type) -> tuple[Any, Any]:
    """Make functions that read and write numbers of a type at an address; for use in kernels.

    They compile faster than arrays at addresses (`numba.carray`), and cost nothing when they run.
    """

    def place(builder: Any, context: Any, address: Any, number: Any) -> Any:
        kind_of_data = context.get_data_type(kind)
        return builder.gep(builder.inttoptr(address, kind_of_data.as_pointer()), [number])

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typing: Any, address: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(place(builder, context, *arguments))

        return kind(types.int64, types.int64), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def write(typing: Any, address: Any, number: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            *index, value = arguments
            builder.store(value, place(builder, context, *index))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind), generate

    return read, write
