"""Stored values agree with the rounding in the catalogue."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from rounding_twin import rounded

from trigemu_simulation.events import centred, round_mantissa


@given(st.floats(2.0**-6, 5000, width=32), st.integers(3, 12), st.booleans())
def test_against_plain_python(value: float, bits: int, middle: bool) -> None:
    makes = centred if middle else round_mantissa
    assert float(makes(np.array([value], np.float32), bits)[0]) == rounded(value, bits, middle)
