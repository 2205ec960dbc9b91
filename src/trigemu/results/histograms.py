"""Histograms of a result, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trigemu.support import FloatArray


@dataclass(frozen=True)
class Histograms:
    """Histograms over common bins.

    Attributes
    ----------
    label : str
        The label of the axis, with its unit.
    edges : float64[bins + 1]
        The edges of the bins.
    of : mapping of str to (float64[bins], float64[bins])
        Values and variances by name; the name "" is that of a single one.
    """

    label: str
    edges: FloatArray
    of: Mapping[str, tuple[FloatArray, FloatArray]]
