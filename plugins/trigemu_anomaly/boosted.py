"""Boosted trees that XGBoost wrote, and what evaluates them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from trigemu.base.arrays import FloatArray

from .input_kernels import Features
from .single_row import Row, ScoreModel
from .tree_kernels import TreeKernels
from .trees import FixedEnsemble
from .xgboost_file import Objective, XGBoostTrees, read_model

if TYPE_CHECKING:
    from .compiled_trees import CompiledTrees


class Trees(ScoreModel):
    """Boosted trees, whose score is the sum of leaves and base. how: the way in which they are evaluated."""

    def __init__(
        self, file: XGBoostTrees, kernels: TreeKernels | CompiledTrees, how: str, notes: tuple[str, ...] = ()
    ) -> None:
        self.file, self._kernels, self.how = file, kernels, how
        self.tau, self.ensemble, self.names = file.tau, file.ensemble, file.names
        self.notes = (*file.notes, *notes)
        self.engine = f"trigemu's kernels ({file.ensemble.trees} trees, {how})"

    def score(self, features: Features) -> FloatArray:
        return self._kernels.predict(features)

    def row(self) -> Row:
        return self._kernels.row()

    def in_fixed_point(self, fixed: FixedEnsemble) -> Trees:
        """Return the trees as firmware evaluates them."""
        return Trees(self.file, fixed.kernels, "in fixed point")


@lru_cache(maxsize=32)
def load_trees(
    content: bytes, features: int, objective: Objective, inputs: tuple[str, ...] = (), nan: bool = False
) -> Trees:
    """Read a BDT for trigemu's kernels; arguments and errors are those of `read_model`."""
    file = read_model(content, features, objective, inputs, nan)
    kernels = TreeKernels(file.ensemble)
    return Trees(file, kernels, kernels.engine)


@lru_cache(maxsize=32)
def compile_trees(content: bytes, features: int, objective: Objective, nan: bool = False) -> Trees:
    """Read a BDT like `load_trees`, and let treelite evaluate it (`CompiledTrees`)."""
    # Imported late: the kernels need neither treelite nor tl2cgen.
    from .compiled_trees import CompiledTrees

    file = read_model(content, features, objective, nan=nan)
    trees = CompiledTrees(file.ensemble)
    return Trees(file, trees, trees.engine, trees.notes)
