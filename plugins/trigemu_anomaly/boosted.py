"""Boosted trees that XGBoost wrote: as arrays, what evaluates them, and classifiers of two classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import treelite

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, own_cause

from .compiled_trees import CompiledTrees
from .input_kernels import Features
from .score_model import ScoreModel
from .single_row import Row
from .tree_kernels import TreeKernels
from .trees import Ensemble, FixedEnsemble
from .xgboost_file import LOGISTIC, CheckedTrees, Objective, read_model

#: treelite's codes for a node that compares a number, and for `<`.
_NUMERICAL, _BELOW = 1, 2


@dataclass(frozen=True)
class Trees:
    """Boosted trees. predict: float32[n, d] → float64[n], the sum of leaves and base, of all rows in one call
    that releases the GIL. tau: the quantile they were trained for, NaN for a classifier. ensemble: their
    nodes. row: makes their form for single events. engine: what evaluates them. notes, names: see
    `CheckedTrees`."""

    predict: Callable[[Features], FloatArray]
    tau: float
    ensemble: Ensemble
    row: Callable[[], Row]
    engine: str
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@lru_cache(maxsize=32)
def load_trees(content: bytes, features: int, objective: Objective, inputs: tuple[str, ...] = ()) -> Trees:
    """Read a BDT with this number of inputs and make a table of it; if that would be too large, its trees are
    followed one by one, with the same result. Raise TrigemuError if it cannot be used. inputs: see
    `read_model`."""
    file, model = _read(content, features, objective, inputs)
    ensemble = read_ensemble(model)
    kernels = TreeKernels(ensemble)
    said = file.notes, file.names
    return Trees(kernels.predict, file.tau, ensemble, kernels.row, kernels.engine, *said)


@lru_cache(maxsize=32)
def compile_trees(content: bytes, features: int, objective: Objective) -> Trees:
    """Read a BDT like `load_trees`, and let treelite compile it; without a C compiler, and for more than
    20 000 nodes, treelite's interpreter evaluates it, and `notes` says so."""
    file, model = _read(content, features, objective)
    ensemble = read_ensemble(model)
    trees = CompiledTrees(ensemble)
    notes = (*file.notes, *trees.notes)
    return Trees(trees.predict, file.tau, ensemble, trees.row, trees.engine, notes, file.names)


def in_fixed_point(trees: Trees, fixed: FixedEnsemble) -> Trees:
    """Return trees that are evaluated by trigemu's kernels in fixed point, as firmware does."""

    return replace(trees, predict=fixed.kernels.predict, row=fixed.kernels.row, engine="in fixed point")


def _read(
    content: bytes, features: int, objective: Objective, inputs: tuple[str, ...] = ()
) -> tuple[CheckedTrees, treelite.Model]:
    checked = read_model(content, features, objective, inputs)
    try:
        return checked, treelite.frontend.from_xgboost_json(checked.json)
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        reason = " ".join(str(error).split())[:200]
        raise TrigemuError(f"is not a model that treelite can read ({reason})") from None


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
        parts.append(
            [*(np.where(split, field, unused) for field, unused in columns), np.where(split, 0.0, value)]
        )
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


class Classifier(ScoreModel):
    """A classifier of two classes (`binary:logistic`), whose score is the margin.

    Parameters
    ----------
    content : bytes
        The file, XGBoost's JSON.
    features : int
        The number of its inputs.
    inputs : sequence of str
        Its inputs as the card writes them, with which the names in the file are compared.

    Raises
    ------
    TrigemuError
        If the model cannot be used.
    """

    def __init__(self, content: bytes, features: int, inputs: Sequence[str] = ()) -> None:
        self._features = features
        self._trees = load_trees(content, features, LOGISTIC, tuple(inputs))
        self.notes, self.names = self._trees.notes, self._trees.names
        self.engine = f"trigemu's kernels ({self._trees.ensemble.trees} trees, {self._trees.engine})"

    def score(self, features: Features) -> FloatArray:
        if features.shape[1:] != (self._features,):
            raise ValueError(f"a classifier of {self._features} features got an array {features.shape}")
        return self._trees.predict(features)

    def row(self) -> Row:
        return self._trees.row()
