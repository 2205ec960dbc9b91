"""Results that are equal but for the last digits of floats, which depend on the order of sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def alike(a: Any, b: Any) -> bool:
    """Whether all floats agree within 1e-11 (or 1e-9 Hz), and all else is equal."""
    if isinstance(a, float | np.floating) and isinstance(b, float | np.floating):
        return a == b or math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, np.ndarray):
        return bool(np.allclose(a, b, rtol=1e-11, atol=1e-9, equal_nan=True))
    if isinstance(a, str | bytes):
        return bool(a == b)
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, Sequence):
        return len(a) == len(b) and all(map(alike, a, b))
    if is_dataclass(a):
        return type(a) is type(b) and all(
            alike(getattr(a, field.name), getattr(b, field.name)) for field in fields(a)
        )
    return bool(a == b)
