"""Arithmetic on sixteen float32 at a time, as LLVM vectors.

numba compiles the loops of kernels, but does not reliably make vectors of them. A function here writes LLVM
code itself: `Lanes` is an expression of sixteen numbers, and Python's operators on it become instructions.
Each lane goes through the same IEEE 754 operations whatever its neighbours hold. A result therefore has the
same bits in any lane and on any processor, also where LLVM splits a vector into narrower ones.

Coefficients of polynomials are those of Cephes (S. L. Moshier, single precision); the largest errors against
float64 are in the docstrings and measured in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16
#: Partial sums of a layer, so that an fma need not wait for the one before.
PARTIAL = 4

_FLOAT, _INT, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
#: Adding and subtracting it rounds a float32 to an integer, which the lowest bits then hold.
_ROUNDER, _ROUNDER_BITS = 12582912.0, 0x4B400000


class Lanes:
    """Sixteen float32, int32 or conditions in LLVM code."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _other(self, other: Lanes | float) -> Any:
        if isinstance(other, Lanes):
            return other.value
        return ir.Constant(self.value.type, [other] * self.value.type.count)

    def _by(self, operation: str, other: Lanes | float) -> Lanes:
        return Lanes(self.builder, getattr(self.builder, operation)(self.value, self._other(other)))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._by("fadd", other)

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._by("fsub", other)

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._by("fmul", other)

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._by("fdiv", other)

    def compare(self, relation: str, other: Lanes | float) -> Lanes:
        """Return conditions; false where one of the numbers is NaN."""
        return Lanes(self.builder, self.builder.fcmp_ordered(relation, self.value, self._other(other)))

    def choose(self, first: Lanes, second: Lanes | float) -> Lanes:
        """Return the first where this condition holds, else the second."""
        return Lanes(self.builder, self.builder.select(self.value, first.value, first._other(second)))

    def as_number(self) -> Lanes:
        """Return 1 where this condition holds, else 0."""
        return self.choose(Lanes(self.builder, ir.Constant(_FLOATS, [1.0] * LANES)), 0.0)

    def integer(self, operation: str, other: Lanes | int) -> Lanes:
        """Combine integers: add, sub, and_, shl, ashr."""
        return self._by(operation, other)

    def as_integers(self) -> Lanes:
        """Return the bits of float32 as int32."""
        return Lanes(self.builder, self.builder.bitcast(self.value, _INTS))

    def as_floats(self) -> Lanes:
        """Return the float32 that have these bits."""
        return Lanes(self.builder, self.builder.bitcast(self.value, _FLOATS))

    def converted(self) -> Lanes:
        """Convert int32 to float32."""
        return Lanes(self.builder, self.builder.sitofp(self.value, _FLOATS))

    def call(self, function: str, *others: Lanes | float) -> Lanes:
        """Call an LLVM function of vectors, such as fma, sqrt, fabs."""
        vector = self.value.type
        kind = ir.FunctionType(vector, [vector] * (1 + len(others)))
        name = f"llvm.{function}.v{vector.count}f32"
        called = cgutils.get_or_insert_function(self.builder.module, kind, name)
        operands = [self.value, *map(self._other, others)]
        return Lanes(self.builder, self.builder.call(called, operands))

    def polynomial(self, *coefficients: float) -> Lanes:
        """Evaluate a polynomial, the coefficient of the highest power first."""
        result = Lanes(self.builder, self._other(coefficients[0]))
        for coefficient in coefficients[1:]:
            result = result.call("fma", self, coefficient)
        return result


def maximum(a: Lanes, b: Lanes | float) -> Lanes:
    """Return the larger one; NaN if one of them is NaN."""
    other = Lanes(a.builder, a._other(b))
    larger = other.compare(">", a).choose(other, a)
    return other.compare("==", other).choose(larger, other)


def minimum(a: Lanes, b: Lanes | float) -> Lanes:
    """Return the smaller one; NaN if one of them is NaN."""
    other = Lanes(a.builder, a._other(b))
    smaller = other.compare("<", a).choose(other, a)
    return other.compare("==", other).choose(smaller, other)


def relu(a: Lanes) -> Lanes:
    """Return max(a, 0), NaN of NaN."""
    return a.compare("<", 0.0).choose(Lanes(a.builder, a._other(0.0)), a)


def exponential(x: Lanes) -> Lanes:
    """Return e^x, within one unit in the last place; 0 and ∞ beyond the range of float32."""
    limited = x.compare(">", 89.0).choose(Lanes(x.builder, x._other(89.0)), x)
    limited = limited.compare("<", -104.0).choose(Lanes(x.builder, x._other(-104.0)), limited)
    rounded = limited.call("fma", 1.44269504088896341, _ROUNDER)
    power = rounded - _ROUNDER
    r = power.call("fma", -0.693359375, limited)
    r = power.call("fma", 2.12194440e-4, r)
    p = r.polynomial(
        1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1
    )
    y = p.call("fma", r * r, r) + 1.0
    n = rounded.as_integers().integer("sub", _ROUNDER_BITS)
    half = n.integer("ashr", 1)  # 2^n in two factors: the powers of subnormal results are no float32
    for factor in (half, n.integer("sub", half)):
        y = y * factor.integer("add", 127).integer("shl", 23).as_floats()
    return y


def logarithm(x: Lanes) -> Lanes:
    """Return ln x, within 0.81 units in the last place; −∞ of 0, NaN of negative numbers."""
    small = x.compare("<", 1.1754943508222875e-38)
    scaled = small.choose(x * 8388608.0, x)
    bits = scaled.as_integers().integer("sub", 0x3F3504F3)
    exponent = bits.integer("ashr", 23).converted()
    exponent = small.choose(exponent - 23.0, exponent)
    f = bits.integer("and_", 0x007FFFFF).integer("add", 0x3F3504F3).as_floats() - 1.0
    p = f.polynomial(
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )  # fmt: skip
    square = f * f
    y = exponent.call("fma", -2.12194440e-4, p * (square * f))
    y = square.call("fma", -0.5, y)
    y = exponent.call("fma", 0.693359375, f + y)
    y = x.compare("<", math.inf).choose(y, x)  # ∞ and NaN
    y = x.compare("<", 0.0).choose(Lanes(x.builder, x._other(math.nan)), y)
    return x.compare("==", 0.0).choose(Lanes(x.builder, x._other(-math.inf)), y)


def hyperbolic_tangent(x: Lanes) -> Lanes:
    """Return tanh x, within 1.3 units in the last place."""
    size, square = x.call("fabs"), x * x
    p = square.polynomial(
        -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1
    )
    near = (p * square).call("fma", x, x)
    two = Lanes(x.builder, x._other(2.0))
    far = (two / (exponential(size + size) + 1.0)).call("fma", -1.0, 1.0).call("copysign", x)
    return size.compare("<", 0.625).choose(near, far)


def elementwise(*functions: Callable[..., Lanes]) -> Any:
    """Make a function for kernels: (number, y, a, b, c, n) computes n vectors y of the vectors a, b, c by one
    of these functions, which reads the first one, two or three. y, a, b, c are addresses of float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, *addresses, n = arguments
        pointers = [builder.inttoptr(at, _FLOATS.as_pointer()) for at in addresses]
        with cgutils.for_range(builder, n) as loop:
            y, *operands = (builder.gep(pointer, [loop.index]) for pointer in pointers)
            end = builder.append_basic_block()
            choice = builder.switch(number, end)
            for own, function in enumerate(functions):
                block = builder.append_basic_block()
                choice.add_case(ir.Constant(_LONG, own), block)
                builder.position_at_end(block)
                read = operands[: function.__code__.co_argcount]
                result = function(*(Lanes(builder, builder.load(at, align=4)) for at in read))
                builder.store(result.value, y, align=4)
                builder.branch(end)
            builder.position_at_end(end)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def vectors(typing: Any, number: Any, y: Any, a: Any, b: Any, c: Any, n: Any) -> Any:
        return types.void(*[types.int64] * 6), generate

    return vectors


def dense(row: bool, together: int) -> Any:
    """Make a function for kernels: (x, w, bias, n_in, n_out, y, is_relu) computes y = bias + x w.

    In blocks, x and y are [features][16 events], w is [n_in][n_out]. For a row, x is [n_in], and y, bias and
    w have n_out padded to sixteen. Either adds with one fma a term: every `PARTIAL`th term of the first whole
    number of these to the same partial sum, the remaining terms to the first one, which starts with the bias.
    `together`: vectors of y that are computed in one loop over x, in registers.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, w, bias, n_in, n_out, y, is_relu = arguments
        of_x, of_w = (_FLOAT, _FLOATS) if row else (_FLOATS, _FLOAT)
        x, y = builder.inttoptr(x, of_x.as_pointer()), builder.inttoptr(y, _FLOATS.as_pointer())
        w, bias = (builder.inttoptr(at, of_w.as_pointer()) for at in (w, bias))

        def constant(number: int) -> Any:
            return ir.Constant(_LONG, number)

        def load(pointer: Any, at: Any) -> Lanes:
            value = builder.load(builder.gep(pointer, [at]), align=4)
            return Lanes(builder, value if value.type == _FLOATS else splat(builder, value))

        columns = builder.sdiv(n_out, constant(LANES)) if row else n_out
        zero = ir.Constant(_FLOATS, [0.0] * LANES)
        sums = [[cgutils.alloca_once(builder, _FLOATS) for _ in range(PARTIAL)] for _ in range(together)]

        def add_term(number: Any, first: Any, count: int, to: int) -> None:
            value, at = load(x, number), builder.add(builder.mul(number, columns), first)
            for k in range(count):
                weight = load(w, builder.add(at, constant(k)))
                total = Lanes(builder, builder.load(sums[k][to]))
                builder.store(value.call("fma", weight, total).value, sums[k][to])

        def compute(first: Any, count: int) -> None:
            for k in range(count):
                builder.store(load(bias, builder.add(first, constant(k))).value, sums[k][0])
                for other in sums[k][1:]:
                    builder.store(zero, other)
            whole = builder.sdiv(n_in, constant(PARTIAL))
            with cgutils.for_range(builder, whole) as loop:
                start = builder.mul(loop.index, constant(PARTIAL))
                for q in range(PARTIAL):
                    add_term(builder.add(start, constant(q)), first, count, q)
            done = builder.mul(whole, constant(PARTIAL))
            with cgutils.for_range(builder, builder.sub(n_in, done)) as loop:
                add_term(builder.add(done, loop.index), first, count, 0)
            for k in range(count):
                total = tree(lambda a, b: a + b, [Lanes(builder, builder.load(part)) for part in sums[k]])
                result = builder.select(is_relu, relu(total).value, total.value)
                builder.store(result, builder.gep(y, [builder.add(first, constant(k))]), align=4)

        whole = builder.sdiv(columns, constant(together))
        with cgutils.for_range(builder, whole) as loop:
            compute(builder.mul(loop.index, constant(together)), together)
        done = builder.mul(whole, constant(together))
        with cgutils.for_range(builder, builder.sub(columns, done)) as loop:
            compute(builder.add(done, loop.index), 1)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def layer(typing: Any, x: Any, w: Any, bias: Any, n_in: Any, n_out: Any, y: Any, is_relu: Any) -> Any:
        return types.void(*[types.int64] * 6, types.boolean), generate

    return layer


def tree(function: Callable[[Lanes, Lanes], Lanes], values: list[Lanes]) -> Lanes:
    """Combine values: the first half with the second, and so on; their number is a power of 2."""
    while len(values) > 1:
        half = len(values) // 2
        values = [function(a, b) for a, b in zip(values[:half], values[half:], strict=True)]
    return values[0]


def reduction(function: Callable[[Lanes, Lanes], Lanes], neutral: float) -> tuple[Any, Any]:
    """Make functions for kernels, for blocks and for a row: (y, x, n) reduces n numbers to one. Every
    sixteenth number goes into the same partial result; `tree` combines these."""
    number = ir.Constant(_LONG, LANES)
    neutrals = ir.Constant(_FLOATS, [neutral] * LANES)

    def of_block(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        y, x, n = arguments
        y, x = (builder.inttoptr(at, _FLOATS.as_pointer()) for at in (y, x))
        results = cgutils.alloca_once(builder, _FLOATS, size=LANES)
        with cgutils.for_range(builder, number) as loop:
            builder.store(neutrals, builder.gep(results, [loop.index]))
        with cgutils.for_range(builder, n) as loop:
            own = builder.gep(results, [builder.and_(loop.index, ir.Constant(_LONG, LANES - 1))])
            value = Lanes(builder, builder.load(builder.gep(x, [loop.index]), align=4))
            builder.store(function(Lanes(builder, builder.load(own)), value).value, own)
        own = [builder.load(builder.gep(results, [ir.Constant(_LONG, q)])) for q in range(LANES)]
        builder.store(tree(function, [Lanes(builder, value) for value in own]).value, y, align=4)
        return context.get_dummy_value()

    def of_row(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        y, x, n = arguments
        y, x = builder.inttoptr(y, _FLOAT.as_pointer()), builder.inttoptr(x, _FLOATS.as_pointer())
        count = builder.sdiv(builder.add(n, ir.Constant(_LONG, LANES - 1)), number)
        lane = ir.Constant(_INTS, list(range(LANES)))
        results = cgutils.alloca_once_value(builder, neutrals)
        with cgutils.for_range(builder, count) as loop:
            left = builder.trunc(builder.sub(n, builder.mul(loop.index, number)), _INT)
            inside = builder.icmp_signed("<", lane, splat(builder, left))
            value = builder.load(builder.gep(x, [loop.index]), align=4)
            chosen = Lanes(builder, builder.select(inside, value, neutrals))
            builder.store(function(Lanes(builder, builder.load(results)), chosen).value, results)
        result = Lanes(builder, builder.load(results))
        while result.value.type.count > 1:
            half = result.value.type.count // 2
            undefined = ir.Constant(result.value.type, ir.Undefined)
            parts = [list(range(half)), list(range(half, 2 * half))]
            result = function(
                *(
                    Lanes(builder, builder.shuffle_vector(result.value, undefined, _indices(part)))
                    for part in parts
                )
            )
        builder.store(builder.extract_element(result.value, ir.Constant(_INT, 0)), y, align=4)
        return context.get_dummy_value()

    return _reducing(of_block), _reducing(of_row)


def _reducing(generate: Callable[..., Any]) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def reduced(typing: Any, y: Any, x: Any, n: Any) -> Any:
        return types.void(*[types.int64] * 3), generate

    return reduced


def copying(row: bool) -> Any:
    """Make a function for kernels: (y, memory, places, n) copies n numbers, or rows of sixteen, from places
    int64[n] of memory to consecutive ones; n is a multiple of sixteen for a row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        y, memory, places, n = arguments
        y, memory, places = (
            builder.inttoptr(at, kind.as_pointer())
            for at, kind in ((y, _FLOATS), (memory, _FLOAT), (places, _LONG))
        )

        def source(at: Any) -> Any:
            return builder.gep(memory, [builder.load(builder.gep(places, [at]))])

        number = ir.Constant(_LONG, LANES)
        with cgutils.for_range(builder, builder.sdiv(n, number) if row else n) as loop:
            if row:
                value = ir.Constant(_FLOATS, ir.Undefined)
                first = builder.mul(loop.index, number)
                for k in range(LANES):
                    one = builder.load(source(builder.add(first, ir.Constant(_LONG, k))))
                    value = builder.insert_element(value, one, ir.Constant(_INT, k))
            else:
                pointer = builder.bitcast(source(loop.index), _FLOATS.as_pointer())
                value = builder.load(pointer, align=4)
            builder.store(value, builder.gep(y, [loop.index]), align=4)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def copied(typing: Any, y: Any, memory: Any, places: Any, n: Any) -> Any:
        return types.void(*[types.int64] * 4), generate

    return copied


def _indices(numbers: list[int]) -> Any:
    return ir.Constant(ir.VectorType(_INT, len(numbers)), numbers)


def splat(builder: Any, value: Any) -> Any:
    """Return sixteen copies of a number."""
    vector = ir.VectorType(value.type, LANES)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(first, undefined, _indices([0] * LANES))
