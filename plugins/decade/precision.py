"""Y(x) as computed in firmware: the trees as plain arrays, for `trigemu_firmware`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import treelite

from trigemu.api import Features, FloatArray, TrigemuError
from trigemu_anomaly import Ensemble, FixedEnsemble

#: treelite's codes for a node that compares a number, and for `<`.
_NUMERICAL, _BELOW = 1, 2


def read_ensemble(model: treelite.Model) -> Ensemble:
    """Return the trees of a model with one score; raise TrigemuError for splits other than x < threshold."""
    starts, parts = [0], []
    for number in range(model.num_tree):
        tree = model.get_tree_accessor(number)
        feature, left, right, kind, operator = (
            tree.get_field(name) for name in ("split_index", "cleft", "cright", "node_type", "cmp")
        )
        split = left >= 0
        if (kind[split] != _NUMERICAL).any() or (operator[split] != _BELOW).any():
            raise TrigemuError("has splits on categories, or other splits than x < threshold")
        threshold, value = tree.get_field("threshold"), tree.get_field("leaf_value")
        columns = (feature, -1), (threshold, 0.0), (left + starts[-1], -1), (right + starts[-1], -1)
        parts.append([*(np.where(split, of, unused) for of, unused in columns), np.where(split, 0.0, value)])
        starts.append(starts[-1] + len(split))
    features, thresholds, lefts, rights, values = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    base = model.get_header_accessor().get_field("base_scores")
    return Ensemble(
        feature=features.astype(np.int32),
        threshold=thresholds.astype(np.float64),
        left=lefts.astype(np.int32),
        right=rights.astype(np.int32),
        value=values.astype(np.float64),
        starts=np.array(starts, np.int32),
        base=float(base[0]),
        features=model.num_feature,
    )


def predictor(fixed: FixedEnsemble) -> Callable[[Features], FloatArray]:
    """Return a function that computes float64[n] from float32[n, d]."""
    return lambda x: fixed.to_float(fixed.predict(x))
