"""Trees in the format of conifer: numbers for its C++ and HLS, integer words for its VHDL.

conifer's VHDL has one type for inputs, thresholds and scores. Here it is `ap_fixed<N,N>`, and each number is
its word in its own type: 12-bit inputs, 16-bit leaves and the score are unchanged. (With a fraction, conifer
would multiply the score by 1.0 and need one more clock.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trigemu.api import FloatArray, TrigemuError
from trigemu_anomaly import MAX_WIDTH, ApFixed, Ensemble, FixedEnsemble


def as_numbers(fixed: FixedEnsemble) -> dict[str, Any]:
    """Return the trees with thresholds scaled like their inputs; conifer converts them to their types."""
    trees = fixed.ensemble
    scales = np.array([*fixed.scales, 0])[trees.feature]
    return _ensemble(trees, np.ldexp(trees.threshold, scales), trees.value, trees.base)


def as_words(fixed: FixedEnsemble) -> dict[str, Any]:
    """Return the trees with words for numbers: thresholds as words of the inputs, leaves and base."""
    cuts, values = fixed.cuts.astype(np.float64), fixed.values.astype(np.float64)
    return _ensemble(fixed.ensemble, cuts, values, float(fixed.base))


def word_type(fixed: FixedEnsemble) -> ApFixed:
    """Return the single type of the VHDL, which holds all words; TrigemuError if no type does."""
    types = fixed.precision
    each = [*types.input.words, *types.score.words, *fixed.cuts.tolist()]
    width = max((word if word >= 0 else ~word).bit_length() + 1 for word in each)
    if width > MAX_WIDTH:
        raise TrigemuError(
            f"input = {types.input}, score = {types.score}: their words need {width} bits in one signed "
            f"type, and VHDL's integers have {MAX_WIDTH}: use narrower types"
        )
    return ApFixed(width, width)


def check_conifer(fixed: FixedEnsemble, backend: str) -> None:
    """Raise TrigemuError if a back end of conifer would differ from the emulation."""
    types, trees = fixed.precision, fixed.ensemble
    if backend == "cpp" and types.input != types.threshold:
        raise TrigemuError(
            f"input = {types.input}, threshold = {types.threshold}: conifer's C++ has one type for both"
        )
    if trees.depth == 0:
        raise TrigemuError("the trees have no split: there is nothing to export")
    if backend == "vhdl" and trees.trees == 1:
        raise TrigemuError("one tree: conifer's VHDL needs two or more, since VHDL has no lists of one")
    if types.score.to_float(types.score.quantise(np.array(1.0))) != 1.0:
        raise TrigemuError(
            f"score = {types.score}: conifer multiplies scores by 1.0, which this type does not hold: "
            f"expected at least {1 + types.score.signed} bits before the point, and none missing behind it"
        )
    if types.score.overflow == "AP_WRAP":
        return
    low, high = sums(fixed)
    if low < types.score.words[0] or high > types.score.words[1]:
        raise TrigemuError(
            f"score = {types.score}: sums of leaves may reach {low * types.score.step:.4g} or "
            f"{high * types.score.step:.4g}, and where they overflow the result depends on the order in "
            f"which conifer's C++, HLS and VHDL add: use more bits before the point, or AP_WRAP"
        )


def sums(fixed: FixedEnsemble) -> tuple[int, int]:
    """Return the lowest and the highest word that a sum of the base and leaves of any trees may reach."""
    trees = fixed.ensemble
    low = high = 0
    for start, stop in zip(trees.starts[:-1], trees.starts[1:], strict=True):
        leaves = fixed.values[start:stop][trees.feature[start:stop] < 0]
        low += min(0, int(leaves.min()))
        high += max(0, int(leaves.max()))
    return min(0, fixed.base) + low, max(0, fixed.base) + high


def _ensemble(trees: Ensemble, threshold: FloatArray, value: FloatArray, base: float) -> dict[str, Any]:
    """Return the argument of `conifer.model.make_model`, with one score (two classes, for conifer)."""
    return {
        "max_depth": trees.depth,
        "n_trees": trees.trees,
        "n_classes": 2,
        "n_features": trees.features,
        "trees": [
            [_tree(trees, threshold, value, start, stop)]
            for start, stop in zip(trees.starts[:-1].tolist(), trees.starts[1:].tolist(), strict=True)
        ],
        "init_predict": [base],
        "norm": 1,
        "library": "xgboost",
        "splitting_convention": "<",
    }


def _tree(trees: Ensemble, threshold: FloatArray, value: FloatArray, start: int, stop: int) -> dict[str, Any]:
    """Return a tree: −2 is the feature of a leaf, −1 its children, and each feature has a weight."""
    nodes = slice(start, stop)
    feature, split = trees.feature[nodes], trees.feature[nodes] >= 0
    return {
        "feature": np.where(split, feature, -2).tolist(),
        "threshold": np.where(split, threshold[nodes], 0.0).tolist(),
        "value": np.where(split, 0.0, value[nodes]).tolist(),
        "children_left": np.where(split, trees.left[nodes] - start, -1).tolist(),
        "children_right": np.where(split, trees.right[nodes] - start, -1).tolist(),
        "weight": (feature[:, None] == np.arange(trees.features)).astype(int).tolist(),
    }
