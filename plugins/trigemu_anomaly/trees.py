"""Boosted trees as plain arrays, and their evaluation in fixed-point arithmetic, bit-exact with conifer's C++
model.

An input is scaled by a power of two and converted to its type; a split compares words, `input < threshold`
goes left; the score is the base plus the leaves of the trees in order, with each sum converted to the type of
the score. conifer's adder trees (HLS, VHDL) sum in another order, which gives the same result with AP_WRAP or
if no sum overflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.kernels import kernel

from .fixed_point import ApFixed, in_range
from .input_kernels import Features

_LEAVES = 31
#: Masks per table. The size of a table grows with their square; bins are looked up once per table.
_MASKS = 64
#: Buckets that divide the range of an input between its thresholds: nearly all contain a single bin.
_BUCKETS = 4096
#: Multiplied by a power of two below 2³², its bits 27 to 31 are a different number for each power.
_DE_BRUIJN = 0x077CB531
_POSITIONS = np.array([_DE_BRUIJN << bit >> 27 & 31 for bit in range(32)])


@dataclass(frozen=True)
class LookupTable:
    """Some trees, as m masks.

    feature: int64[k], the inputs that they split on. cuts: int64[c], the different thresholds of each input
    in turn, ascending; a word goes right if it is not below. low, high: int64[k], range to which words are
    first limited. shift, bucket: int64[k]; a word is in bucket + ((word − low) >> shift). first:
    int64[buckets + 1], index of the first cut that is not below the bucket. masks: int32[c + k, m], for each
    bin. values: int64[m · 32], the leaves, at the positions of their bits.
    """

    feature: IntArray
    cuts: IntArray
    low: IntArray
    high: IntArray
    shift: IntArray
    bucket: IntArray
    first: IntArray
    masks: npt.NDArray[np.int32]
    values: IntArray


@dataclass(frozen=True)
class _Part:
    """At most 31 leaves of a tree. inputs, cuts: int64[s], its splits. left, right: int64[s], the bits of the
    leaves on the left and right. values: int64[l]."""

    inputs: IntArray
    cuts: IntArray
    left: IntArray
    right: IntArray
    values: IntArray


def tables(
    feature: npt.NDArray[np.int32],
    cuts: IntArray,
    children: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    values: IntArray,
    starts: npt.NDArray[np.int32],
) -> list[LookupTable]:
    """Make tables from the nodes of trees (see `Ensemble`), in the order of the trees; cuts: int64[nodes]."""
    parts: list[_Part] = []
    for start, stop in pairwise(starts.tolist()):
        parts += _parts(feature, cuts, children, values, range(start, stop))
    return [_table(parts[first : first + _MASKS]) for first in range(0, len(parts), _MASKS)]


def _parts(
    feature: npt.NDArray[np.int32],
    cuts: IntArray,
    children: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    values: IntArray,
    nodes: range,
) -> Iterator[_Part]:
    """Split a tree into parts; leaves are numbered in the order of the nodes."""
    rows = np.arange(nodes.start, nodes.stop)
    leaves, splits = rows[feature[rows] < 0], rows[feature[rows] >= 0]
    below: BoolArray = np.zeros((len(rows), len(leaves)), np.bool_)
    below[leaves - nodes.start, np.arange(len(leaves))] = True
    sides = [child[splits] - nodes.start for child in children]
    for split, left, right in zip(splits[::-1], *(side[::-1] for side in sides), strict=True):
        below[split - nodes.start] = below[left] | below[right]
    for start in range(0, len(leaves), _LEAVES):
        bits = 1 << np.arange(len(leaves[start : start + _LEAVES]))
        left, right = (below[side, start : start + _LEAVES] @ bits for side in sides)
        chosen = (left | right) != 0
        some = splits[chosen]
        splits_of_part = feature[some].astype(np.int64), cuts[some], left[chosen], right[chosen]
        yield _Part(*splits_of_part, values[leaves[start : start + _LEAVES]])


def _table(parts: list[_Part]) -> LookupTable:
    inputs = np.concatenate([part.inputs for part in parts])
    words = np.concatenate([part.cuts for part in parts])
    features = np.unique(inputs)
    of_each = [np.unique(words[inputs == feature]) for feature in features]
    edges = np.cumsum([0, *map(len, of_each)])
    first: list[int] = []
    low, high, shift, bucket = [], [], [], []
    for start, cuts in zip(edges[:-1], of_each, strict=True):
        low.append(cuts[0] - 1)
        high.append(cuts[-1])
        shift.append(max(0, int(high[-1] - low[-1]).bit_length() - _BUCKETS.bit_length() + 1))
        bucket.append(len(first))
        buckets = (int(high[-1] - low[-1]) >> shift[-1]) + 1
        begins = low[-1] + (np.arange(buckets) << shift[-1])
        first += (start + np.searchsorted(cuts, begins)).tolist()
    masks = np.zeros((edges[-1] + len(features), len(parts)), np.uint32)
    values = np.zeros((len(parts), 32), np.int64)
    for column, part in enumerate(parts):
        masks[:, column] = 0xFFFFFFFF
        values[column, _POSITIONS[: len(part.values)]] = part.values
        for feature, cut, left, right in zip(part.inputs, part.cuts, part.left, part.right, strict=True):
            k = int(np.searchsorted(features, feature))
            place = edges[k] + k
            middle = place + int(np.searchsorted(of_each[k], cut)) + 1
            masks[place:middle, column] &= ~np.uint32(right)
            masks[middle : edges[k + 1] + k + 1, column] &= ~np.uint32(left)
    return LookupTable(
        feature=features,
        cuts=np.concatenate([*of_each, []]).astype(np.int64),
        low=np.array(low, np.int64),
        high=np.array(high, np.int64),
        shift=np.array(shift, np.int64),
        bucket=np.array(bucket, np.int64),
        first=np.array([*first, edges[-1]], np.int64),
        masks=masks.view(np.int32),
        values=values.ravel(),
    )


def add(table: LookupTable, words: IntArray, score: ApFixed, total: IntArray, outside: BoolArray) -> None:
    """Add the leaves of rows of words, int64[n, d], to total, int64[n]. With AP_WRAP sums are not wrapped
    here, which gives the same result if done at the end; otherwise each sum is converted to the type of the
    score, and outside, bool[n], is set if that changes it."""
    add_leaves_of(
        words,
        table.feature,
        table.cuts,
        table.low,
        table.high,
        table.shift,
        table.bucket,
        table.first,
        table.masks,
        table.values,
        score.modes[1],
        *score.words,
        total,
        outside,
    )


@kernel
def add_leaves_of(
    words: IntArray,
    feature: IntArray,
    cuts: IntArray,
    low: IntArray,
    high: IntArray,
    shift: IntArray,
    bucket: IntArray,
    first: IntArray,
    masks: npt.NDArray[np.int32],
    values: IntArray,
    overflow: int,
    lowest: int,
    highest: int,
    total: IntArray,
    outside: BoolArray,
) -> None:
    """`add`, of the arrays of a table."""
    m = masks.shape[1]
    allowed = np.empty(m, np.int32)
    for row in range(len(words)):
        allowed[:] = -1
        for k in range(len(feature)):
            word = min(max(words[row, feature[k]], low[k]), high[k])
            place = bucket[k] + ((word - low[k]) >> shift[k])
            interval = first[place]
            for cut in range(first[place], first[place + 1]):
                interval += cuts[cut] <= word
            for t in range(m):
                allowed[t] &= masks[interval + k, t]
        s = total[row]
        for t in range(m):
            bit = allowed[t] & -allowed[t]
            s += values[32 * t + (bit * _DE_BRUIJN >> 27 & 31)]
            if overflow != 0 and not lowest <= s <= highest:
                s = in_range(np.float64(s), overflow, lowest, highest)
                outside[row] = True
        total[row] = s


Nodes = npt.NDArray[np.int32]

#: Most trees and nodes of a model. A compiler takes a minute for 30 000; published models have a few hundred.
MAX_TREES, MAX_NODES = 10_000, 50_000
#: Most splits from a root to a leaf; XGBoost's default is 6.
MAX_DEPTH = 64
#: Most nodes of one tree in fixed point, whose look-up table grows with their square: a depth of 13.
MAX_TREE = 2**14


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees with one score, as concatenated arrays of nodes.

    feature: int32[nodes], the input that a node splits on, −1 for a leaf. threshold: float64[nodes]; x <
    threshold goes left. left, right: int32[nodes], the indices of the children, larger than the index of
    their parent, −1 for a leaf. value: float64[nodes], of leaves. starts: int32[trees + 1], the first node of
    each tree, its root. base: the score to which leaves are added. features: the number of inputs.
    """

    feature: Nodes
    threshold: FloatArray
    left: Nodes
    right: Nodes
    value: FloatArray
    starts: Nodes
    base: float
    features: int

    def __post_init__(self) -> None:
        nodes = np.arange(len(self.feature))
        columns = self.threshold, self.left, self.right, self.value
        sizes = np.diff(self.starts)
        if any(column.shape != nodes.shape for column in columns) or (sizes <= 0).any() or not len(sizes):
            raise TrigemuError("trees: expected at least one, each with a root, and columns of one length")
        if self.starts[0] != 0 or self.starts[-1] != len(nodes):
            raise TrigemuError(f"trees: expected the trees to have all of {len(nodes)} nodes")
        split = self.feature >= 0
        tree = np.repeat(np.arange(self.trees), sizes)
        for child in (self.left, self.right):
            inside = (child[split] > nodes[split]) & (child[split] < len(nodes))
            if not inside.all() or (tree[child[split]] != tree[split]).any():
                raise TrigemuError("trees: a child is not a later node of its tree")
        parents = np.bincount(np.concatenate([self.left[split], self.right[split]]), minlength=len(nodes))
        parents[self.starts[:-1]] += 1
        if (parents != 1).any():
            raise TrigemuError("trees: a node is not reached, or more than once")
        if (self.feature < -1).any():
            raise TrigemuError(f"trees: a node has feature {self.feature.min()}: expected −1 for a leaf")
        if (self.feature >= self.features).any():
            raise TrigemuError(f"trees: one splits on number {self.feature.max()} of {self.features} inputs")
        if not np.isfinite([self.base, *self.threshold[split], *self.value[~split]]).all():
            raise TrigemuError("trees: a threshold, a leaf or the base is not finite")

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
        largest = int(np.diff(self.ensemble.starts).max())
        if largest > MAX_TREE:
            raise TrigemuError(f"a tree of {largest} nodes: expected at most {MAX_TREE} in fixed point")

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
        """The lowest and the highest word of the sum, if each tree contributed its lowest or highest leaf
        and nothing overflowed."""
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
        return self._evaluate(x)[0]

    def overflows(self, x: Features) -> Overflows:
        """Count overflows in finite float32[n, d]. With AP_WRAP a score overflows if the total does,
        otherwise if any partial sum does; inputs that no tree splits on do not count."""
        _, inputs, scores = self._evaluate(x)
        inputs &= np.isin(np.arange(self.ensemble.features), self.ensemble.feature)
        return Overflows(tuple(inputs.sum(axis=0).tolist()), int(scores.sum()))

    def to_float(self, words: IntArray) -> FloatArray:
        """Convert words of scores to float64[n]."""
        return self.precision.score.to_float(words)

    def _evaluate(self, x: Features) -> tuple[IntArray, BoolArray, BoolArray]:
        """Return the scores, int64[n], and whether inputs, bool[n, d], and scores, bool[n], overflow."""
        score = self.precision.score
        words, outside = self.precision.input.quantise_columns(x, self.scales)
        total, beyond = np.full(len(x), self.base, np.int64), np.zeros(len(x), np.bool_)
        for table in self.tables:
            add(table, words, score, total, beyond)
        totals = total[:, np.newaxis].astype(np.float64)
        wrapped, above = score.quantise_columns(totals, (-score.fraction,))
        return wrapped[:, 0], outside, beyond | above[:, 0]

    @cached_property
    def _scaled(self) -> FloatArray:
        """The thresholds on scaled inputs, float64[nodes], 0 for leaves."""
        trees = self.ensemble
        scales = np.array([*self.scales, 0])[trees.feature]
        return np.where(trees.feature >= 0, np.ldexp(trees.threshold, scales), 0.0)

    @cached_property
    def tables(self) -> list[LookupTable]:
        """The trees as look-up tables."""
        trees = self.ensemble
        return tables(trees.feature, self.cuts, (trees.left, trees.right), self.values, trees.starts)
