"""Sums over events that may share interactions, for errors: terms of one interaction are summed first."""

from __future__ import annotations

import numpy as np

from trigemu.api import FloatArray, IntArray


def squares(terms: FloatArray, interaction: IntArray) -> float:
    """Return Σ over interactions of (Σ terms)²; terms: float64[n]; interaction: int64[n], counted from 0."""
    return float(np.sum(np.bincount(interaction, terms) ** 2))


def squares_by_cell(terms: FloatArray, interaction: IntArray, cell: IntArray, cells: int) -> FloatArray:
    """Return the same within each cell, float64[cells]; cell: int64[n], the cell of each event."""
    pairs, pair = np.unique(cell * (interaction.max(initial=0) + 1) + interaction, return_inverse=True)
    of = np.empty(len(pairs), np.int64)
    of[pair] = cell
    return np.bincount(of, np.bincount(pair, terms) ** 2, cells).astype(np.float64)
