"""Instructions on numbers, against Python's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trigemu_latency.stream import opcodes as do
from trigemu_latency.stream.compute import compute

NUMBERS = st.floats(-100, 100) | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan])
COMPARISONS = {
    do.ABOVE: lambda a, b: a > b,
    do.AT_LEAST: lambda a, b: a >= b,
    do.BELOW: lambda a, b: a < b,
    do.AT_MOST: lambda a, b: a <= b,
    do.EQUAL: lambda a, b: a == b,
}


def result(op: int, *operands: float) -> float:
    registers = np.array([*operands, 0.0, 0.0], np.float64)
    instruction = np.zeros(do.WIDTH, np.int64)
    instruction[: 2 + len(operands)] = (op, 0, *range(len(operands)))
    return float(compute(op, instruction, registers))


@given(st.sampled_from([*COMPARISONS, do.UNEQUAL]), NUMBERS, NUMBERS)
def test_a_comparison_with_a_missing_value_is_false(op: int, a: float, b: float) -> None:
    missing = math.isnan(a) or math.isnan(b)
    expected = not missing and (a != b if op == do.UNEQUAL else COMPARISONS[op](a, b))
    assert result(op, a, b) == float(expected)


@given(NUMBERS, NUMBERS)
def test_arithmetic(a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        x, y = np.float64(a), np.float64(b)
        expected = {do.ADD: x + y, do.SUBTRACT: x - y, do.MULTIPLY: x * y, do.DIVIDE: x / y}
        expected |= {do.NEGATIVE: -x, do.ABSOLUTE: abs(x)}
        expected |= {do.LARGER: np.fmax(x, y), do.SMALLER: np.fmin(x, y)}
    for op, value in expected.items():
        assert result(op, a, b) == value or (math.isnan(value) and math.isnan(result(op, a, b)))


@pytest.mark.parametrize("a", [0.0, 1.0])
@pytest.mark.parametrize("b", [0.0, 1.0])
def test_junctions(a: float, b: float) -> None:
    assert result(do.AND, a, b) == float(a and b)
    assert result(do.OR, a, b) == float(a or b)
    assert result(do.NOT, a) == float(not a)


def test_momenta() -> None:
    """Of an object with pT 5 at η = 1, φ = 2, and of one with pT 3 at η = −0.5, φ = −3."""
    x, y = 5 * math.cos(2), 5 * math.sin(2)
    z, e = 5 * math.sinh(1), 5 * math.cosh(1)
    close = {do.X: x, do.Y: y}
    for op, value in close.items():
        assert result(op, 5, 2) == pytest.approx(value, rel=1e-14)
    assert result(do.Z, 5, 1) == pytest.approx(z, rel=1e-14)
    assert result(do.ENERGY, 5, 1) == pytest.approx(e, rel=1e-14)
    assert result(do.TRANSVERSE, x, y) == pytest.approx(5, rel=1e-14)
    assert result(do.AZIMUTH, x, y) == pytest.approx(2, rel=1e-14)
    assert result(do.PSEUDORAPIDITY, x, y, z) == pytest.approx(1, rel=1e-14)
    assert result(do.MASS, x, y, z, e + 1) == pytest.approx(math.sqrt((e + 1) ** 2 - 25 - z * z), rel=1e-12)
    assert result(do.MASS, x, y, z, e - 1) == 0.0
    assert result(do.DELTA_PHI, 2, -3) == pytest.approx(5 - 2 * math.pi, rel=1e-14)
    assert result(do.DELTA_R, 1, 2, -0.5, -3) == pytest.approx(math.hypot(1.5, 5 - 2 * math.pi), rel=1e-14)
    square = 2 * 5 * 3 * (math.cosh(1.5) - math.cos(5))
    assert result(do.PAIR_MASS, 5, 1, 2, 3, -0.5, -3) == pytest.approx(math.sqrt(square), rel=1e-14)
