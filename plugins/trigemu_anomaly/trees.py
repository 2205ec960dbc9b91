"""Boosted trees as plain arrays, and their evaluation in fixed-point arithmetic, bit-exact with conifer's C++
model.

An input is scaled by a power of two and converted to its type; a split compares words, `input < threshold`
goes left; the score is the base plus the leaves of the trees in order, with each sum converted to the type of
the score. Firmware with a tree of adders sums in another order, which gives the same result with AP_WRAP or
if no sum overflows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError

from .fixed_point import ApFixed
from .inputs import Features
from .tree_kernels import TreeKernels

Nodes = npt.NDArray[np.int32]

#: Most trees and nodes of a model. A compiler takes a minute for 30 000; published models have a few hundred.
MAX_TREES, MAX_NODES = 10_000, 50_000
#: Most splits from a root to a leaf; XGBoost's default is 6.
MAX_DEPTH = 64


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees with one score, as concatenated arrays of nodes; a child comes after its parent."""

    feature: Nodes  # int32[nodes], the input that a node splits on; −1 for a leaf
    threshold: FloatArray  # float64[nodes]; x < threshold goes left
    left: Nodes  # int32[nodes], the child; −1 for a leaf
    right: Nodes
    value: FloatArray  # float64[nodes], of leaves
    starts: Nodes  # int32[trees + 1], the first node of each tree, its root
    base: float  # The score to which leaves are added
    features: int  # The number of inputs
    left_of_nan: BoolArray | None = None  # bool[nodes], whether NaN goes left; None if no input is NaN

    @property
    def trees(self) -> int:
        return len(self.starts) - 1

    @property
    def split_nodes(self) -> int:
        return int((self.feature >= 0).sum())

    @cached_property
    def depth(self) -> int:
        """The number of splits on the longest path from a root to a leaf."""
        level = np.zeros(len(self.feature), np.int64)
        for node in np.flatnonzero(self.feature >= 0):
            level[[self.left[node], self.right[node]]] = level[node] + 1
        return int(level.max())


@dataclass(frozen=True)
class Precision:
    """The types of inputs, thresholds and scores in firmware."""

    input: ApFixed
    threshold: ApFixed
    score: ApFixed


@dataclass(frozen=True)
class Overflows:
    """The number of rows in which each input overflows, and in which the score overflows."""

    inputs: tuple[int, ...]
    scores: int


@dataclass(frozen=True, eq=False)
class FixedEnsemble:
    """Trees in fixed-point arithmetic. scales: input i and its thresholds are multiplied by 2^scales[i]."""

    ensemble: Ensemble
    precision: Precision
    scales: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.scales) != self.ensemble.features:
            raise TrigemuError(f"{len(self.scales)} scales for {self.ensemble.features} inputs: one each")
        if self.ensemble.left_of_nan is not None:
            raise TrigemuError("trees with inputs that may be NaN, which fixed-point types do not have")

    @cached_property
    def thresholds(self) -> IntArray:
        """The words of thresholds, int64[nodes], 0 for leaves."""
        return self.precision.threshold.quantise(self._scaled)

    @cached_property
    def cuts(self) -> IntArray:
        """The cuts on words of the input, int64[nodes], 0 for leaves: a word goes left if it is below. A
        threshold between two words is rounded up; one above all words becomes the word after the last."""
        types = self.precision
        words = np.ldexp(self.thresholds.astype(np.float64), types.input.fraction - types.threshold.fraction)
        lowest, highest = types.input.words
        limited = np.clip(np.ceil(words), lowest, highest + 1).astype(np.int64)
        return np.where(self.ensemble.feature >= 0, limited, 0)

    @cached_property
    def values(self) -> IntArray:
        """The words of leaves, int64[nodes], 0 for splits."""
        trees = self.ensemble
        return self.precision.score.quantise(np.where(trees.feature < 0, trees.value, 0.0))

    @cached_property
    def base(self) -> int:
        return int(self.precision.score.quantise(np.array(self.ensemble.base)))

    @cached_property
    def overflowing(self) -> tuple[int, int]:
        """The number of thresholds, and of leaves including the base, that are outside of their types."""
        trees, precision = self.ensemble, self.precision
        values = np.append(trees.value[trees.feature < 0], trees.base)
        thresholds = precision.threshold.overflows(self._scaled)
        return int(thresholds.sum()), int(precision.score.overflows(values).sum())

    @cached_property
    def reach(self) -> tuple[int, int]:
        """The lowest and highest word of the sum of lowest or highest leaves, without overflow."""
        leaf, starts = self.ensemble.feature < 0, self.ensemble.starts[:-1]
        highest = np.iinfo(np.int64).max
        low = np.minimum.reduceat(np.where(leaf, self.values, highest), starts)
        high = np.maximum.reduceat(np.where(leaf, self.values, -highest), starts)
        return self.base + int(low.sum()), self.base + int(high.sum())

    def inputs(self, x: Features) -> IntArray:
        """Return the words int64[n, d] of finite float32[n, d]."""
        return self.precision.input.quantise_columns(x, self.scales)[0]

    def predict(self, x: Features) -> IntArray:
        """Return the words int64[n] of the scores of finite float32[n, d]."""
        return np.ldexp(self.kernels.predict(x), self.precision.score.fraction).astype(np.int64)

    def overflows(self, x: Features) -> Overflows:
        """Count overflows in finite float32[n, d]. With AP_WRAP a score overflows if the total does,
        otherwise if any partial sum does; inputs that no tree splits on do not count."""
        inputs = self.precision.input.quantise_columns(x, self.scales)[1]
        inputs &= np.isin(np.arange(self.ensemble.features), self.ensemble.feature)
        return Overflows(tuple(inputs.sum(axis=0).tolist()), int(self.kernels.scores(x)[1].sum()))

    def to_float(self, words: IntArray) -> FloatArray:
        """Convert words of scores to float64[n]."""
        return self.precision.score.to_float(words)

    @cached_property
    def _scaled(self) -> FloatArray:
        """The thresholds on scaled inputs, float64[nodes], 0 for leaves."""
        trees = self.ensemble
        scales = np.array([*self.scales, 0])[trees.feature]
        return np.where(trees.feature >= 0, np.ldexp(trees.threshold, scales), 0.0)

    @cached_property
    def kernels(self) -> TreeKernels:
        """The trees for kernels, whose scores are float64."""
        cuts, values = self.cuts.astype(np.float64), self.values.astype(np.float64)
        words = replace(self.ensemble, threshold=cuts, value=values, base=float(self.base))
        return TreeKernels(words, (self.precision.input, self.precision.score, self.scales))
