from __future__ import annotations

import pytest

from trigemu.results.numbers import in_unit, signed, with_error


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [(-0.3, 55.0, "0 ± 55"), (-0.004, 0.12, "0.00 ± 0.12"), (-0.6, 55.0, "-1 ± 55"), (-0.0, 0.0, "0")],
)
def test_what_rounds_to_zero_has_no_sign(value: float, error: float, text: str) -> None:
    assert with_error(value, error) == text


def test_a_difference_that_rounds_to_zero_has_no_sign() -> None:
    assert in_unit(-0.3, 55.0) == "0 ± 55 Hz"
    assert in_unit(-4.0, 550.0) == "0 ± 550 Hz"


def test_differences_above_zero_have_a_sign() -> None:
    for hz, error, text in (
        (0.659, 0.303, "+0.66±0.30 Hz"),
        (1290.0, 12.0, "+1.290±0.012 kHz"),
        (-0.659, 0.303, "-0.66±0.30 Hz"),
        (0.0001, 0.05, "0.000±0.050 Hz"),
        (0.0, 0.0, "0"),
    ):
        assert signed(hz, error, 1.0) == text
