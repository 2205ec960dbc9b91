"""Boosted trees that XGBoost wrote: as arrays, what evaluates them, and classifiers of two classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from trigemu.base.arrays import FloatArray

from .input_kernels import Features
from .score_model import ScoreModel
from .single_row import Row
from .tree_kernels import TreeKernels
from .trees import Ensemble, FixedEnsemble
from .xgboost_file import LOGISTIC, Objective, read_model


@dataclass(frozen=True)
class Trees:
    """Boosted trees. predict: float32[n, d] → float64[n], the sum of leaves and base, of all rows in one call
    that releases the GIL. tau: the quantile they were trained for, NaN for a classifier. ensemble: their
    nodes. row: makes their form for single events. engine: what evaluates them. notes, names: see
    `XGBoostTrees`."""

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
    file = read_model(content, features, objective, inputs)
    kernels = TreeKernels(file.ensemble)
    return Trees(
        kernels.predict, file.tau, file.ensemble, kernels.row, kernels.engine, file.notes, file.names
    )


@lru_cache(maxsize=32)
def compile_trees(content: bytes, features: int, objective: Objective) -> Trees:
    """Read a BDT like `load_trees`, and let treelite compile it; without a C compiler, and for more than
    20 000 nodes, treelite's interpreter evaluates it, and `notes` says so."""
    # Imported late: the kernels need neither treelite nor tl2cgen.
    from .compiled_trees import CompiledTrees

    file = read_model(content, features, objective)
    trees = CompiledTrees(file.ensemble)
    notes = (*file.notes, *trees.notes)
    return Trees(trees.predict, file.tau, file.ensemble, trees.row, trees.engine, notes, file.names)


def in_fixed_point(trees: Trees, fixed: FixedEnsemble) -> Trees:
    """Return trees that are evaluated by trigemu's kernels in fixed point, as firmware does."""
    return replace(trees, predict=fixed.kernels.predict, row=fixed.kernels.row, engine="in fixed point")


class Classifier(ScoreModel):
    """A classifier of two classes (`binary:logistic`), whose score is the margin. inputs: as the card writes
    them, with which the names in the file are compared."""

    def __init__(self, content: bytes, features: int, inputs: Sequence[str] = ()) -> None:
        self._trees = load_trees(content, features, LOGISTIC, tuple(inputs))
        self.notes, self.names = self._trees.notes, self._trees.names
        self.engine = f"trigemu's kernels ({self._trees.ensemble.trees} trees, {self._trees.engine})"

    def score(self, features: Features) -> FloatArray:
        return self._trees.predict(features)

    def row(self) -> Row:
        return self._trees.row()
