"""Trees as lookup tables on integer words: the leaf of each tree in a few operations, for any depth.

The thresholds of an input divide its range into bins. Each bin has a mask, one bit per leaf, of the leaves
that this input still allows. The masks of all inputs have exactly one leaf in common. A mask holds 31 leaves;
a tree with more leaves has several masks, and bit 31 means a leaf in another mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from trigemu.api import BoolArray, IntArray, kernel

from .fixed_point import ApFixed, in_range

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
    return [_table(parts[at : at + _MASKS]) for at in range(0, len(parts), _MASKS)]


def _parts(
    feature: npt.NDArray[np.int32],
    cuts: IntArray,
    children: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    values: IntArray,
    nodes: range,
) -> Iterator[_Part]:
    """Split a tree into parts; leaves are numbered in the order of the nodes."""
    own = np.arange(nodes.start, nodes.stop)
    leaves, splits = own[feature[own] < 0], own[feature[own] >= 0]
    below: BoolArray = np.zeros((len(own), len(leaves)), np.bool_)
    below[leaves - nodes.start, np.arange(len(leaves))] = True
    sides = [child[splits] - nodes.start for child in children]
    for split, left, right in zip(splits[::-1], *(side[::-1] for side in sides), strict=True):
        below[split - nodes.start] = below[left] | below[right]
    for at in range(0, len(leaves), _LEAVES):
        bits = 1 << np.arange(len(leaves[at : at + _LEAVES]))
        left, right = (below[side, at : at + _LEAVES] @ bits for side in sides)
        chosen = (left | right) != 0
        some = splits[chosen]
        splits_of_part = feature[some].astype(np.int64), cuts[some], left[chosen], right[chosen]
        yield _Part(*splits_of_part, values[leaves[at : at + _LEAVES]])


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
            at = edges[k] + k
            middle = at + int(np.searchsorted(of_each[k], cut)) + 1
            masks[at:middle, column] &= ~np.uint32(right)
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
            at = bucket[k] + ((word - low[k]) >> shift[k])
            interval = first[at]
            for cut in range(first[at], first[at + 1]):
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
