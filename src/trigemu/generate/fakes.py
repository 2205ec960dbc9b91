"""How many photons a crossing fakes, and which of its jets do it: drawn with a bias, weighted by the ratio.

Jet j of a crossing fakes a photon with probability z·p_j, independently of the others once z is given: z is
`busy_factor` in the share `busy_fraction` of the crossings and lower in the rest, 1 on average. So fakes come
together, as they do where a detector is noisy or crowded.

A crossing fakes none, one or several photons with the true probabilities P0, P1 and P2. It is drawn to fake
with probability q instead of 1 − P0, to fake several with one that is `multiple_boost` times too high, and
weighs the ratio of the true probability to the one it was drawn with. Given none, one or several, which jets
fake follows the true distribution, so that nothing else needs a weight, and every crossing is drawn once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trigemu.generate.config import Crossings
from trigemu.support import kernel

Array = NDArray[Any]

MULTIPLE_MAX = 0.5  # the largest share of several fakes among crossings with any
RARE_SHARE = 0.3  # how often a crossing with a lepton or a hard jet fakes,
RARE_WEIGHT_HZ = 4.0  # but oftener where it would weigh more than this


@dataclass(frozen=True, slots=True)
class Multiplicity:
    """float64[n]: the probabilities of no fake, exactly one, and several."""

    none: Array
    one: Array
    several: Array

    @property
    def any(self) -> Array:
        """float64[n]: the probability of at least one fake."""
        return np.asarray(self.one + self.several)


@dataclass(frozen=True, slots=True)
class Proposal:
    """float64[n]: the probabilities that are drawn from: at least one fake, and several given one."""

    any: Array
    several: Array

    def choose(self, u: Array, v: Array) -> Array:
        """int64[n]: 0, 1 or 2 (several) fakes, from two uniform numbers per crossing."""
        return np.where(u >= self.any, 0, np.where(v < self.several, 2, 1))

    def ratio(self, true: Multiplicity, chosen: Array) -> Array:
        """float64[n]: what a crossing with this choice weighs, true over proposed probability."""
        wanted = np.choose(chosen, [true.none, true.one, true.several])
        drawn = np.choose(chosen, [1.0 - self.any, self.any * (1.0 - self.several), self.any * self.several])
        return np.asarray(wanted / drawn)


def busy_modes(model: Crossings) -> tuple[Array, Array]:
    """The values of z and their probabilities, float64[2] each; the mean of z is 1."""
    share, factor = model.busy_fraction, model.busy_factor
    quiet = (1.0 - share * factor) / (1.0 - share)
    return np.array([quiet, factor]), np.array([1.0 - share, share])


def crowded(offsets: Array, p: Array, fakes_max: float) -> Array:
    """p with those of each crossing scaled down so that their sum is at most fakes_max."""
    crossing = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    total = np.bincount(crossing, p, len(offsets) - 1)
    return np.asarray(p * np.minimum(1.0, fakes_max / np.maximum(total, fakes_max))[crossing])


def multiplicity(offsets: Array, p: Array, model: Crossings) -> Multiplicity:
    """Probabilities for n crossings whose jets fake with p (float64, flat) before z; offsets int64[n + 1]."""
    return Multiplicity(*_probabilities(offsets, p, *busy_modes(model)))


def natural(true: Multiplicity) -> Proposal:
    """No bias at all."""
    return Proposal(true.any, _share(true))


def propose(true: Multiplicity, weight_hz: Array, real: Array, rare: Array, model: Crossings) -> Proposal:
    """What to draw from, so that a crossing of weight_hz that fakes weighs photon_weight_hz if it can.

    Never less than the true probability of faking, for that would only add weight; that probability also for
    crossings with a real photon (bool[n]), and less for those that are rare without (bool[n]): what does not
    fake weighs 1 / (1 − q).
    """
    with_fakes = weight_hz * true.any
    most = np.where(rare, np.maximum(RARE_SHARE, with_fakes / RARE_WEIGHT_HZ), 1.0)
    most = np.minimum(most, model.fake_share_max)
    favoured = np.where(real, 0.0, np.minimum(with_fakes / model.photon_weight_hz, most))
    share = _share(true)
    boosted = np.maximum(np.minimum(share * model.multiple_boost, MULTIPLE_MAX), share)
    return Proposal(np.maximum(favoured, true.any), boosted)


def _share(true: Multiplicity) -> Array:
    """float64[n]: several fakes, given any."""
    return np.divide(true.several, true.any, out=np.zeros_like(true.any), where=true.any > 0)


def which(offsets: Array, p: Array, chosen: Array, u_mode: Array, u_jet: Array, model: Crossings) -> Array:
    """bool, flat: the jets that fake, given none, one or several (2) per crossing.

    Uniform numbers: u_mode per crossing for z, u_jet per jet.
    """
    return np.asarray(_which(offsets, p, chosen, u_mode, u_jet, *busy_modes(model)))


@kernel
def _tails(p: Array, first: int, stop: int, z: float, tails: Array) -> None:
    """tails[i, k]: the probability that at least k of the jets from first + i on fake, k = 0, 1, 2."""
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
def _which(
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
                # of "exactly one from here on": that it is this one, and none after it
                this = x * (1.0 - tails[k + 1, 1])
                fires = need == 1 and u_jet[j] * (tails[k, 1] - tails[k, 2]) < this
            else:
                after = tails[k + 1, max(need - 1, 0)]
                fires = u_jet[j] * tails[k, need] < x * after
            if fires:
                taken[j] = True
                need = max(need - 1, 0)
    return taken


@kernel
def _choose_mode(
    p: Array, first: int, stop: int, chosen: int, u: float, z: Array, share: Array, tails: Array
) -> int:
    """z given the number of fakes, by Bayes' theorem."""
    total = 0.0
    for final in range(2):  # first the sum over z, then the place of u in it
        below = 0.0
        for mode in range(len(z)):
            _tails(p, first, stop, z[mode], tails)
            below += share[mode] * (tails[0, 1] - tails[0, 2] if chosen == 1 else tails[0, 2])
            if final == 1 and u * total < below:
                return mode
        total = below
    return len(z) - 1
