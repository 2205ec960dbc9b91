"""The probability of each pattern of decisions in a filled crossing, for drawing.

An event of weight w Hz stands for a share w / Σw of the crossings. In a menu with fitted triggers, w is
counted as in its rates: events of both halves count without their fitted triggers, and those of the unseen
half, scaled to the sample, with them in place of the same events without. So drawn rates are those of `run`.
Where few events leave a pattern with a negative sum, it is not drawn; what that adds to the rate is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trigemu.api import (
    BoolArray,
    Emulation,
    FloatArray,
    IntArray,
    SampleError,
    TrigemuError,
)

from .menu_arrays import MenuArrays

#: The largest share of the rate of all triggers that patterns with negative sums may have.
MAX_NEGATIVE = 0.01
_TINY = 1e-12


class Patterns(NamedTuple):
    """m patterns; the first has no trigger that fires. c classes of crossings, such as bunches of equal
    luminosity.

    starts: int64[m + 1] and fired: int64[k], the nodes that fire in each, in their order.
    keep: float64[c, m] and other: int64[c, m], Walker's tables of aliases: a pattern is drawn evenly, kept
    with this probability, and otherwise replaced.
    chance: float64[1], the probability that a pattern is drawn in a crossing.
    """

    starts: IntArray
    fired: IntArray
    keep: FloatArray
    other: IntArray
    chance: FloatArray


class Weighed(NamedTuple):
    """fires: bool[m, n]; share: float64[c, m], of the crossings of each class; negative: the share of
    patterns that are not drawn, relative to all with a trigger."""

    fires: BoolArray
    share: FloatArray
    negative: float


def weigh(arrays: MenuArrays, emulations: list[Emulation]) -> Weighed:
    """Return the patterns of a menu and their shares of crossings, in one class for each emulation."""
    found: list[tuple[BoolArray, FloatArray]] = [_of(arrays, emulation) for emulation in emulations]
    everything = np.concatenate([fires for fires, _ in found])
    nothing = np.zeros((1, everything.shape[1]), np.bool_)
    packed = np.packbits(np.concatenate([nothing, everything]), axis=1)
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    fires = np.concatenate([nothing, everything])[first]
    number, at = number.ravel()[1:], 0
    share = np.zeros((len(found), len(fires)))
    for row, (_, weight) in enumerate(found):
        np.add.at(share[row], number[at : at + len(weight)], weight)
        share[row] /= share[row].sum()
        at += len(weight)
    enabled = arrays.nodes.rows[:, 0] >= 0
    some: BoolArray = np.asarray(fires[:, enabled].any(axis=1))
    negative = float(-np.minimum(share[:, some], 0).sum() / max(share[:, some].sum(), _TINY))
    if negative > MAX_NEGATIVE or (share[:, ~some].sum(axis=1) < 0).any():
        raise TrigemuError(
            f"{arrays.menu.path}: patterns with negative weights have {100 * negative:.2g} % of the rate of "
            f"its triggers: crossings cannot be drawn from them; the samples need more events"
        )
    share = np.maximum(share, 0.0)
    share[:, 0] += share[:, ~some].sum(axis=1) - share[:, 0]  # what fires nothing needs no pattern of its own
    used: BoolArray = np.asarray(some & (share > 0).any(axis=0))
    used[0] = True
    share = share[:, used]
    share[:, 0] = 1.0 - share[:, 1:].sum(axis=1)
    return Weighed(fires[used], share, negative)


def _of(arrays: MenuArrays, emulation: Emulation) -> tuple[BoolArray, FloatArray]:
    catalogue = emulation.catalogue
    if catalogue.table.convention == "luminosity":
        raise SampleError(
            f"{catalogue.path}: the events are single interactions (convention 'luminosity'), not crossings: "
            f"how often two accepts follow each other cannot be drawn from them"
        )
    number = emulation.menus.index(arrays.menu) if arrays.menu in emulation.menus else 0
    counted = emulation.counted(number)
    weight = counted.table.weight_hz
    fires = arrays.fires(counted.table.words, emulation.plan.bits[number])
    fitted = np.array([name in emulation.fitted[number] for name in arrays.names], np.bool_)
    touched = fires[:, fitted].any(axis=1)
    if not touched.any():
        return fires, weight
    unseen = counted.scales.unseen
    without = fires[touched] & ~fitted
    untouched = ~touched
    # w f₀ + s w (f − f₀): with its fitted triggers s w, without them (1 − s) w
    rows = [fires[untouched], fires[touched], without]
    weights = [
        weight[untouched],
        (weight * unseen)[touched],
        (weight * (1.0 - unseen))[touched],
    ]
    return np.concatenate(rows), np.concatenate(weights)


def to_draw(weighed: Weighed, factor: float = 1.0) -> Patterns:
    """Return the patterns for drawing. factor: on the probability of every pattern with a trigger."""
    chance = factor * (1.0 - weighed.share[:, 0])
    largest = float(chance.max())
    if largest > 1.0:
        raise TrigemuError(
            f"triggers fire, before their prescales, in {100 * largest / factor:.3g} % of the crossings: "
            f"that rate cannot be scaled by {factor:.4g}"
        )
    share = weighed.share * factor
    share[:, 0] = largest - chance  # a class with a lower rate draws nothing instead
    keep, other = np.ones(share.shape), np.tile(np.arange(share.shape[1]), (len(share), 1))
    for row in range(len(share)):
        if largest > 0:
            keep[row], other[row] = aliases(share[row] / largest)
    starts = np.concatenate([[0], np.cumsum(weighed.fires.sum(axis=1))]).astype(np.int64)
    fired = np.nonzero(weighed.fires)[1].astype(np.int64)
    return Patterns(starts, fired, keep, other.astype(np.int64), np.array([largest]))


def aliases(probability: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return Walker's tables: the probability to keep each of m evenly drawn numbers, float64[m], and the
    number that replaces it, int64[m] (M. D. Vose, IEEE Trans. Softw. Eng. 17 (1991) 972)."""
    m = len(probability)
    scaled = probability * (m / probability.sum())
    keep, other = np.ones(m), np.arange(m)
    small = [i for i in range(m) if scaled[i] < 1.0]
    large = [i for i in range(m) if scaled[i] >= 1.0]
    while small and large:
        less, more = small.pop(), large[-1]
        keep[less], other[less] = scaled[less], more
        scaled[more] -= 1.0 - scaled[less]
        if scaled[more] < 1.0:
            small.append(large.pop())
    return keep, other
