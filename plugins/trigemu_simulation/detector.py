"""The detector model: acceptance, efficiency, resolution, and jets that are misidentified as photons.

Every function is vectorised and takes pT in GeV. Random numbers are arguments, which makes results testable
and reproducible. docs/explanation/sample.md explains the complete model.

Sources. [D]: Delphes 3 (arXiv:1307.6346), its card cards/delphes_card_ATLAS.tcl. [D2]: its cards
cards/ATLAS_Run2/tagging/b_tag_*.tcl and efficiency/electron_*.tcl, photon.tcl, muon_medium.tcl. [J]: ATLAS,
jet energy scale and resolution at 13 TeV (arXiv:2007.02645). [C]: CMS, jet energy at 7 TeV
(arXiv:1107.4277). [M]: ATLAS, missing transverse momentum at 7 TeV (arXiv:1108.5602). [T]: ATLAS, taus at
13 TeV (ATL-PHYS-PUB-2015-045), as TAU_EFF_ATLAS_RUN2 of Rivet has it. [U]: ATLAS's
UpgradePerformanceFunctions for the High-Luminosity LHC, in Athena. A number without a source is chosen here,
for the reason given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from trigemu.base.kernels import kernel

from .config import Crossings
from .interactions import Array

if TYPE_CHECKING:
    from .config import Fakes


JET_RADIUS = 0.4
CALORIMETER_ETA = 4.9  # [D], the edge of its towers
JET_ETA = 4.5  # a jet of R = 0.4 is inside the calorimeter
PHOTON_ETA = 2.37  # ATLAS's own limit for photons, with its crack left out
CRACK = (1.37, 1.52)
ELECTRON_ETA = 2.47  # ATLAS's own limit for electrons
MUON_ETA = 2.5  # [D], the edge of tracking

TAU_ETA = 2.5  # [D], the edge of tracking
MET_ETA = 3.0  # missing momentum sums the central calorimeter, as CMS's Level-1 trigger does

# Thresholds of the objects of an event, GeV.
FINAL_PT = {"jet": 20.0, "photon": 10.0, "electron": 10.0, "muon": 4.0, "tau": 20.0}
# Thresholds of the objects stored per interaction, GeV: true jets, which are smeared in each crossing, and
# the other objects as they are measured. They are lower: a jet of 10 GeV can become a photon of 10 GeV.
STORED_PT = {"jet": 5.0, "photon": 8.0, "electron": 8.0, "muon": 3.0, "tau": 15.0}
# Thresholds of true particles, GeV: objects that fluctuate above STORED_PT are complete to 1 %.
TRUE_PT = {"photon": 7.0, "electron": 7.0, "muon": 2.8}
JET_PT = 8.0  # of measured jets in a crossing
HARD_JET_PT = 20.0  # harder true jets enter missing momentum one by one, the rest as its soft part

# Photons that an electron radiates within this ΔR are in its calorimeter cluster: the dressing of ATLAS's
# measurements of Z and W (arXiv:1603.09222).
CLUSTER_RADIUS = 0.1
# Isolation is the scalar sum of pT in a cone around a particle; with more than CONE_MAX times its pT it is
# lost in a jet. Below PHOTON_CONE and ELECTRON_CONE the jet that it also is cannot be mistaken for another
# object.
ISOLATION_RADIUS = 0.4
CONE_MAX = 1.0
PHOTON_CONE = ELECTRON_CONE = 0.25

# A jet is labelled by a b or c hadron or a hadronic tau above this pT (GeV) within this ΔR: ATLAS's label
# (arXiv:1907.05120).
FLAVOUR_PT = 5.0
FLAVOUR_RADIUS = 0.3

# Pions and kaons decay before they reach the calorimeter: [D], the half width and half length of its
# tracking.
CALORIMETER_RADIUS = 1150.0  # mm
CALORIMETER_LENGTH = 3510.0  # mm
FLIGHT_EFFICIENCY = 0.5  # chosen: a kink loses the track of the other half

# σ/pT of a jet = N/pT ⊕ S/√pT ⊕ C through the two published points, 24 % at 20 GeV and 6 % at 300 GeV [J],
# with C = 3 % chosen here, and the noise of pile-up (PILEUP_JET) within N; below 20 GeV it stays as it is
# there.
JET_NOISE = 1.59  # GeV, without pile-up: 2.53² = 1.59² + 0.40² · 24
JET_STOCHASTIC = 0.90  # √GeV
JET_CONSTANT = 0.03
JET_RESOLUTION_PT_MIN = 20.0
# σ/E of photons and electrons = 10.1 %/√E ⊕ 0.17 %: [D], |η| ≤ 3.2.
EM_STOCHASTIC = 0.101
EM_CONSTANT = 0.0017
# σ/pT of muons: constant ⊕ slope · pT for |η| up to the edge: [D].
MUON_RESOLUTION = ((0.5, 0.010, 1.0e-4), (1.5, 0.015, 1.5e-4), (2.5, 0.025, 3.5e-4))
# The share JET_TAIL of the true jets above HARD_JET_PT is badly measured: half of them lose a share of their
# energy, all shares alike, the other half gain one, with the mean JET_GAIN. Chosen: with these numbers rates
# of missing momentum above 100 to 150 GeV agree with CMS's Level-1 trigger
# (docs/explanation/validation.md). Tails of about a percent beyond 2.5 σ are usual [C].
JET_TAIL = 2.5e-3
JET_GAIN = 1.5
# Each component of missing momentum fluctuates by MET_SOFT · √(ΣE_T of the soft part within MET_ETA), E_T in
# GeV; chosen, [M] finds 0.5 for the whole calorimeter of ATLAS.
MET_SOFT = 0.35  # √GeV

# Pile-up under a jet adds PILEUP_JET · √(number of interactions) to its resolution, in GeV; JET_NOISE is
# without it. Chosen such that both together are the published 2.53 GeV of [J] at 24 interactions, the mean of
# its data.
PILEUP_JET = 0.40
# Pile-up in an isolation cone of 0.4, after its mean is subtracted: the same energy density on the same area.
PILEUP_CONE = 0.40

# Identification for |η| ≤ 1.5 and beyond: [D]; electrons and muons include its tracking. [D] has them from
# 10 GeV only; here the same numbers hold down to FINAL_PT, which low-pT lepton triggers need.
EFFICIENCY_ETA = 1.5
PHOTON_EFFICIENCY = (0.95, 0.85)
ELECTRON_EFFICIENCY = (0.95 * 0.95, 0.85 * 0.83)
MUON_EFFICIENCY = (0.95 * 0.99, 0.85 * 0.98)


# Working points of the b-tag, loosest first, for light jets (a + b pT), c jets (a tanh(b pT) / (1 + c pT))
# and b jets (30 a tanh(b pT) / (1 + c pT)): [D2], its 85, 77, 70 and 60 %.
BTAG_LIGHT = ((0.01540, -7.6e-06), (0.00677, 2.1e-06), (0.00352, 5.1e-06), (0.00154, 5.1e-06))
BTAG_CHARM = (
    *((0.362, 0.07200, 0.00047), (0.186, 0.60700, 0.00097)),
    *((0.090, 0.61605, 0.00124), (0.025, 0.59648, -0.00012)),
)
BTAG_BOTTOM = (
    *((7.932, 0.00129, 0.32831), (2.993, 0.00181, 0.18066)),
    *((1.364, 0.00237, 0.11063), (0.383, 0.00381, 0.04990)),
)
# Shares of candidates that reach each level of identification or quality, lowest first. True photons,
# electrons (loose, medium, tight) and prompt muons: [D2] at 40 to 45 GeV; fake electrons: 0.05 chosen, the
# rest of it as between loose, medium and tight of [U] for jets of 30 to 50 GeV. Taus: candidates of Level-1
# (0.85, chosen), then loose and tight of [T], true ones with 23 % of three prongs, fakes of 30 GeV with half.
# The others are chosen.
PHOTON_LEVELS = {"true": (0.90,), "fake": (0.30,)}
ELECTRON_LEVELS = {
    "prompt": (0.93, 0.88, 0.78),
    "hadron": (0.60, 0.40, 0.25),
    "fake": (0.05, 0.0136, 0.005),
}
MUON_LEVELS = {"prompt": (0.97,), "hadron": (0.95,), "flight": (0.35,)}
TAU_LEVELS = {"true": (0.85, 0.577, 0.415), "fake": (1.0, 0.136, 0.024)}
TAU_FAKE_POWER = -0.5  # power of pT in the probability of a jet to fake a tau; chosen
TAU_SCALE = 0.8  # the pT of a fake tau over that of the jet; chosen


def efficiency(values: tuple[float, float], eta: Array) -> Array:
    """Return the probability to identify a particle at eta, from the (central, forward) values."""
    return np.where(np.abs(eta) <= EFFICIENCY_ETA, *values)


def jet_resolution(pt: Array) -> Array:
    """Return σ(pT)/pT of a jet of true pT."""
    x = np.maximum(pt, JET_RESOLUTION_PT_MIN)
    return np.sqrt((JET_NOISE / x) ** 2 + JET_STOCHASTIC**2 / x + JET_CONSTANT**2)


def em_resolution(pt: Array, eta: Array) -> Array:
    """Return σ(E)/E of a photon or electron."""
    return np.sqrt(EM_STOCHASTIC**2 / (pt * np.cosh(eta)) + EM_CONSTANT**2)


def muon_resolution(pt: Array, eta: Array) -> Array:
    """Return σ(pT)/pT of a muon; outside of tracking, the value at its edge."""
    edges, constants, slopes = (np.array(column) for column in zip(*MUON_RESOLUTION, strict=True))
    region = np.minimum(np.searchsorted(edges, np.abs(eta)), len(edges) - 1)
    width: Array = np.hypot(constants[region], slopes[region] * pt)
    return width


def in_photon_acceptance(eta: Array) -> Array:
    """Return whether a photon at eta can be measured: |η| < 2.37 outside the crack."""
    x = np.abs(eta)
    return (x < PHOTON_ETA) & ~((x > CRACK[0]) & (x < CRACK[1]))


def path_to_calorimeter(eta: Array) -> Array:
    """Return the path length in the transverse plane from the beam to the calorimeter, mm."""
    return np.minimum(CALORIMETER_RADIUS, CALORIMETER_LENGTH / np.maximum(np.abs(np.sinh(eta)), 1e-9))


def levels(shares: tuple[float, ...], u: Array) -> Array:
    """Return the level that each object reaches, int8, from uniform numbers. shares: of the objects that
    reach level 1, 2 …"""
    return np.asarray(np.sum([u < share for share in shares], axis=0), np.int8)


def b_tag(pt: Array, flavour: Array, u: Array) -> Array:
    """Return the b-tag of jets, int8: 0 (none) to 4 (passes the tightest working point)."""
    x = np.asarray(pt, np.float64)
    tag = np.zeros(len(x), np.int8)
    for light, charm, bottom in zip(BTAG_LIGHT, BTAG_CHARM, BTAG_BOTTOM, strict=True):
        passed = [scale * a * np.tanh(b * x) / (1 + c * x) for scale, (a, b, c) in ((1, charm), (30, bottom))]
        likely = np.select(
            [flavour == 5, (flavour == 4) | (flavour == 15)], passed[::-1], light[0] + light[1] * x
        )
        tag += u < likely
    return tag


def em_fakes(pt: Array, eta: Array, fakes: Fakes, threshold: float) -> Array:
    """Return the probabilities that jets are misidentified as a photon above a threshold (GeV), float64[m]:
    the integral of the density in `Fakes` over shares of the jet's pT, an incomplete gamma function."""
    shape, (least, full) = 1.0 + fakes.power, _bounds(pt, fakes, threshold)
    scale = fakes.probability * math.gamma(shape) * (pt / (20.0 * fakes.softness)) ** fakes.power
    return np.where(in_photon_acceptance(eta), np.minimum(scale * (least - full), 1.0), 0.0)


def em_fake_share(pt: Array, fakes: Fakes, threshold: float, u: Array) -> Array:
    """Return the share of the fake photon in the jet's pT, from uniform numbers."""
    least, full = _bounds(pt, fakes, threshold)
    share = special.gammainccinv(1.0 + fakes.power, least - u * (least - full)) / fakes.softness
    return np.asarray(share)


def _bounds(pt: Array, fakes: Fakes, threshold: float) -> tuple[Array, float]:
    """Return the parts of the integral above the threshold's share of pT, and above the full jet pT."""
    shape, z = 1.0 + fakes.power, np.minimum(threshold / np.asarray(pt, np.float64), 1.0)
    above = special.gammaincc(shape, fakes.softness * z)
    return np.asarray(above), float(special.gammaincc(shape, fakes.softness))


def jet_response(pt: Array, flavour: Array, eta: Array, normal: Array, badly: Array, u: Array) -> Array:
    """Return reconstructed over true pT of jets, float64[m], without pile-up.

    Jets that are photons or electrons (flavour −1) have their resolution. badly: whether each is badly
    measured, bool[m]; u: uniform numbers for the response of these jets."""
    width = np.where(flavour < 0, em_resolution(pt, eta), jet_resolution(pt))
    usual = np.maximum(1.0 + width * normal, 0.0)
    gain = 1.0 - JET_GAIN * np.log(2.0 * (1.0 - np.maximum(u, 0.5)))
    return np.where(badly, np.where(u < 0.5, 2.0 * u, gain), usual)


def missing_vector(sums: Mapping[str, Array], first: Array, second: Array) -> tuple[Array, Array]:
    """Return magnitude (GeV) and φ of reconstructed missing momentum, float64[n].

    sums: the sums stored for interactions, and `mismeasured_x` and `_y`, true minus reconstructed jets;
    first, second: normal numbers, float64[n], of the fluctuation of the soft part."""
    width = MET_SOFT * np.sqrt(sums["soft_et"])
    x, y = (
        sums[f"invisible_{axis}"].astype(np.float64) + sums[f"mismeasured_{axis}"] + width * normal
        for axis, normal in (("x", first), ("y", second))
    )
    return np.hypot(x, y), np.arctan2(y, x)


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


def proposed(true: Multiplicity, fake: bool | None, model: Crossings) -> Proposal:
    """Return the proposal with no fake, or with at least one: the weights of these two copies of a crossing
    add up to its weight. fake None: the true probabilities, without bias."""
    share = np.divide(true.several, true.any, out=np.zeros_like(true.any), where=true.any > 0)
    if fake is None:
        return Proposal(true.any, share)
    boosted = np.maximum(np.minimum(share * model.multiple_boost, MULTIPLE_MAX), share)
    return Proposal(np.full(len(share), float(fake)), boosted)


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
