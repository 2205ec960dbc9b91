"""The number of fake photons in a crossing and the jets that fake them, drawn with a bias and weighted.

Jet j of a crossing fakes a photon with probability z·p_j, independently of the others for a given z: z is
`busy_factor` in the share `busy_fraction` of the crossings and lower in the rest, 1 on average. Fakes are
therefore correlated, as in a noisy or crowded detector.

A crossing has no, one or several fakes with the true probabilities P0, P1 and P2. It is divided in two: once
without fakes and with the weight P0, once with fakes, where the probability of several fakes is multiplied by
`multiple_boost`; the weight is the ratio of the true probability to the one used. Given none, one or several,
the jets that fake follow the true distribution and need no further weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trigemu.api import kernel

from .config import Crossings

Array = NDArray[Any]

MULTIPLE_MAX = 0.5  # the largest share of several fakes among crossings with any


@dataclass(frozen=True, slots=True)
class Multiplicity:
    """The true probabilities of no fake, exactly one, and several, float64[n] each."""

    none: Array
    one: Array
    several: Array

    @property
    def any(self) -> Array:
        """The probability of at least one fake, float64[n]."""
        return np.asarray(self.one + self.several)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The biased probabilities of at least one fake, and of several given one, float64[n] each."""

    any: Array
    several: Array

    def choose(self, u: Array, v: Array) -> Array:
        """Draw 0, 1 or 2 (several) fakes, int64[n], from two uniform numbers per crossing."""
        return np.where(u >= self.any, 0, np.where(v < self.several, 2, 1))

    def ratio(self, true: Multiplicity, chosen: Array) -> Array:
        """Return the weight of each crossing, float64[n]: true over proposed probability of its choice."""
        true_probability = np.choose(chosen, [true.none, true.one, true.several])
        drawn = np.choose(chosen, [1.0 - self.any, self.any * (1.0 - self.several), self.any * self.several])
        return np.asarray(true_probability / drawn)


def busy_modes(model: Crossings) -> tuple[Array, Array]:
    """Return the values of z and their probabilities, float64[2] each; the mean of z is 1."""
    share, factor = model.busy_fraction, model.busy_factor
    quiet = (1.0 - share * factor) / (1.0 - share)
    return np.array([quiet, factor]), np.array([1.0 - share, share])


def crowded(offsets: Array, p: Array, fakes_max: float) -> Array:
    """Return p, scaled down in each crossing so that its sum is at most fakes_max."""
    crossing = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    total = np.bincount(crossing, p, len(offsets) - 1)
    return np.asarray(p * np.minimum(1.0, fakes_max / np.maximum(total, fakes_max))[crossing])


def multiplicity(offsets: Array, p: Array, model: Crossings) -> Multiplicity:
    """Return probabilities of n crossings whose jets fake with z · p, float64, flat; offsets int64[n + 1]."""
    return Multiplicity(*_probabilities(offsets, p, *busy_modes(model)))


def natural(true: Multiplicity) -> Proposal:
    """Return the true probabilities as a proposal, without bias."""
    return Proposal(true.any, _share(true))


def divided(true: Multiplicity, fake: bool, model: Crossings) -> Proposal:
    """Return the proposal with no fake, or with at least one: the weights of these two copies of a crossing
    add up to its weight."""
    share = _share(true)
    boosted = np.maximum(np.minimum(share * model.multiple_boost, MULTIPLE_MAX), share)
    return Proposal(np.full(len(share), float(fake)), boosted)


def _share(true: Multiplicity) -> Array:
    """Return the probability of several fakes given any, float64[n]."""
    return np.divide(true.several, true.any, out=np.zeros_like(true.any), where=true.any > 0)


def choose_jets(
    offsets: Array, p: Array, chosen: Array, u_mode: Array, u_jet: Array, model: Crossings
) -> Array:
    """Draw the jets that fake, bool, flat, given none, one or several (2) fakes per crossing.

    u_mode, u_jet: uniform numbers, one per crossing for z, and one per jet.
    """
    return np.asarray(_choose_jets(offsets, p, chosen, u_mode, u_jet, *busy_modes(model)))


@kernel
def _tails(p: Array, first: int, stop: int, z: float, tails: Array) -> None:
    """Fill tails[i, k], the probability that at least k of the jets from first + i on fake, k = 0, 1, 2."""
    n = stop - first
    tails[n, 0], tails[n, 1], tails[n, 2] = 1.0, 0.0, 0.0
    for i in range(n - 1, -1, -1):
        x = min(z * p[first + i], 1.0)
        tails[i, 0] = 1.0
        tails[i, 1] = x + (1.0 - x) * tails[i + 1, 1]
        tails[i, 2] = x * tails[i + 1, 1] + (1.0 - x) * tails[i + 1, 2]


@kernel
def _probabilities(offsets: Array, p: Array, z: Array, share: Array) -> tuple[Array, Array, Array]:
    n = len(offsets) - 1
    none, one, several = np.zeros(n), np.zeros(n), np.zeros(n)
    tails = np.empty((_longest(offsets) + 1, 3))
    for i in range(n):
        for mode in range(len(z)):
            _tails(p, offsets[i], offsets[i + 1], z[mode], tails)
            none[i] += share[mode] * (1.0 - tails[0, 1])
            one[i] += share[mode] * (tails[0, 1] - tails[0, 2])
            several[i] += share[mode] * tails[0, 2]
    return none, one, several


@kernel
def _longest(offsets: Array) -> int:
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@kernel
def _choose_jets(
    offsets: Array, p: Array, chosen: Array, u_mode: Array, u_jet: Array, z: Array, share: Array
) -> Array:
    taken = np.zeros(len(p), np.bool_)
    tails = np.empty((_longest(offsets) + 1, 3))
    for i in range(len(chosen)):
        if chosen[i] == 0:
            continue
        first, stop = offsets[i], offsets[i + 1]
        mode = _choose_mode(p, first, stop, chosen[i], u_mode[i], z, share, tails)
        _tails(p, first, stop, z[mode], tails)
        need, exactly = chosen[i], chosen[i] == 1
        for j in range(first, stop):
            x = min(z[mode] * p[j], 1.0)
            k = j - first
            if exactly:
                # given exactly one fake from this jet on: it is this jet, and none after it
                this = x * (1.0 - tails[k + 1, 1])
                is_fake = need == 1 and u_jet[j] * (tails[k, 1] - tails[k, 2]) < this
            else:
                after = tails[k + 1, max(need - 1, 0)]
                is_fake = u_jet[j] * tails[k, need] < x * after
            if is_fake:
                taken[j] = True
                need = max(need - 1, 0)
    return taken


@kernel
def _choose_mode(
    p: Array, first: int, stop: int, chosen: int, u: float, z: Array, share: Array, tails: Array
) -> int:
    """Draw z given the number of fakes, by Bayes' theorem."""
    total = 0.0
    for final in range(2):  # first the sum over z, then the position of u in it
        below = 0.0
        for mode in range(len(z)):
            _tails(p, first, stop, z[mode], tails)
            below += share[mode] * (tails[0, 1] - tails[0, 2] if chosen == 1 else tails[0, 2])
            if final == 1 and u * total < below:
                return mode
        total = below
    return len(z) - 1
