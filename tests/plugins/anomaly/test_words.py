"""Conversions of words on vectors, against exact fractions: every mode, and widths to 64 bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from ap_fixed import by_fractions
from hypothesis import example, given, strategies as st
from trigemu_anomaly.fixed_point import OVERFLOWS, ROUNDINGS, ApFixed
from trigemu_anomaly.vectors import CONVERSION, LANES, convert

from trigemu.api import kernel

TYPES = st.builds(
    ApFixed,
    st.integers(1, 63),
    st.integers(-30, 64),
    st.booleans(),
    st.sampled_from(ROUNDINGS),
    st.sampled_from(OVERFLOWS),
)


@kernel
def converted_words(y: np.ndarray, a: np.ndarray, to: np.ndarray, word: int) -> None:
    convert(np.int64(y.ctypes.data), np.int64(a.ctypes.data), np.int64(to.ctypes.data), 1, word)


def words_of(kind: ApFixed, fraction: int, words: list[int], bits: int, relu: bool = False) -> list[int]:
    by_name = kind.conversion(fraction, bits, relu=relu)
    of = np.int32 if bits == 32 else np.int64
    a, y = np.zeros(LANES, of), np.zeros(LANES, of)
    a[: len(words)] = words
    converted_words(y, a, np.array([by_name[name] for name in CONVERSION], np.int64), of(0))
    return y[: len(words)].tolist()


@pytest.mark.parametrize("bits", [32, 64])
@given(TYPES, st.integers(-40, 40), st.data())
@example(ApFixed(64, 0, True, "AP_RND_CONV", "AP_SAT"), 40, None)
def test_words_are_those_of_exact_arithmetic(
    bits: int, kind: ApFixed, apart: int, data: st.DataObject
) -> None:
    limit = 1 << (bits - 1)
    fraction = kind.fraction + max(min(apart, bits - 2), 2 - bits)
    if kind.width + (not kind.signed) > bits:
        kind = ApFixed(bits - (not kind.signed), kind.integer, kind.signed, kind.rounding, kind.overflow)
        fraction = kind.fraction + max(min(apart, bits - 2), 2 - bits)
    near = st.builds(
        lambda k, s, d: max(-limit, min(limit - 1, k * 2**s + d)),
        st.integers(-9, 9),
        st.integers(0, bits - 2),
        st.integers(-2, 2),
    )
    words = [-limit, limit - 1, 0, 1, -1]
    if data is not None:
        words += data.draw(st.lists(near | st.integers(-limit, limit - 1), max_size=LANES - 5))
    for relu in (False, True):
        values = [Fraction(max(word, 0) if relu else word) * Fraction(2) ** -fraction for word in words]
        expected = [by_fractions(kind, value)[0] for value in values]
        assert words_of(kind, fraction, words, bits, relu) == expected
