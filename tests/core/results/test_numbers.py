"""Rates and counts as short text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from trigemu.api import Rate
from trigemu.results.numbers import format_rate, in_hz, in_unit, signed, with_error


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        # What rounds to zero has no sign.
        (with_error(-0.3, 55.0), "0 ± 55"),
        (with_error(-0.004, 0.12), "0.00 ± 0.12"),
        (with_error(-0.6, 55.0), "-1 ± 55"),
        (with_error(-0.0, 0.0), "0"),
        (in_unit(-0.3, 55.0), "0 ± 55 Hz"),
        (in_unit(-4.0, 550.0), "0 ± 550 Hz"),
        (signed(0.0001, 0.05, 1.0), "0.000±0.050 Hz"),
        # Differences above zero have one.
        (signed(0.659, 0.303, 1.0), "+0.66±0.30 Hz"),
        (signed(1290.0, 12.0, 1.0), "+1.290±0.012 kHz"),
        (signed(-0.659, 0.303, 1.0), "-0.66±0.30 Hz"),
        (signed(10.0, 0.0, 1.0), "+10 Hz"),
        (signed(0.0, 0.0, 1.0), "0"),
        (in_hz(0.5), "500 mHz"),
        (in_hz(1.0), "1 Hz"),
        (in_hz(999.9999999999), "1 kHz"),
        (in_hz(2.5e4), "25 kHz"),
        (in_hz(4e7), "40 MHz"),
    ],
)
def test_signs_and_units(shown: str, text: str) -> None:
    assert shown == text


@pytest.mark.parametrize(
    ("hz", "error", "limit", "text"),
    [
        (18_700.0, 1400.0, None, "18.7 ± 1.4 kHz"),
        (18_743.0, 96.0, None, "18.743 ± 0.096 kHz"),
        (18_743.0, 99.7, None, "18.74 ± 0.10 kHz"),
        (912.0, 576.0, None, "910 ± 580 Hz"),
        (5.146e8, 2.1e8, None, "510 ± 210 MHz"),
        (0.0123, 0.0011, None, "12.3 ± 1.1 mHz"),
        (400.0, 1200.0, None, "0.4 ± 1.2 kHz"),
        (-1500.0, 200.0, None, "-1.50 ± 0.20 kHz"),
        (40e6, 0.0, None, "40 MHz"),
        (999.9, 0.0, None, "1 kHz"),
        (0.0, 0.0, None, "0 Hz"),
        (0.0, 0.0, 12.34, "< 12.3 Hz"),
        (0.0, 0.0, 999.7, "< 1 kHz"),
    ],
)
def test_rates_as_text(hz: float, error: float, limit: float | None, text: str) -> None:
    assert format_rate(Rate(hz, error, 10, 5.0, limit)) == text


@given(st.floats(1e-6, 1e8), st.floats(1e-4, 10.0))
def test_the_error_has_two_digits_and_the_value_as_many_decimals(hz: float, relative: float) -> None:
    error = hz * relative
    value, _, shown, unit = format_rate(Rate(hz, error, 10, 5.0, None)).split()
    scale = {"MHz": 1e6, "kHz": 1e3, "Hz": 1.0, "mHz": 1e-3}[unit]
    assert float(shown) * scale == pytest.approx(float(f"{error:.1e}"), rel=0.06)
    assert float(value) * scale == pytest.approx(hz, abs=0.06 * error)
    assert len(value.partition(".")[2]) == len(shown.partition(".")[2])
    assert not math.isclose(float(shown), 0.0)
