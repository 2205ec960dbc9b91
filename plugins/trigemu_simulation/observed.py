"""Reconstruction of a crossing from its interactions: pile-up under its objects, fakes, identification.

Random numbers are functions of the seed, the key of the crossing, a stream and the position of the object.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import detector
from .config import Config
from .events import PT_BITS, centred, final, normal_pair, round_mantissa, uniform
from .interactions import Array, Objects, in_order, ranges
from .overlay import Crossing, merge

ISOLATION_BITS = 3
ISOLATION_MAX = 2.0  # relative; larger values are set to this

# Streams of random numbers; for objects, the position within the crossing and KIND times the kind are added.
_FAKE, _MODE, _JET, _ENERGY = (stream << 32 for stream in range(18, 22))
_NOISE, _CONE, _LEVEL, _SPECIES, _CHARGE, _TAU, _TAG = (stream << 32 for stream in range(24, 38, 2))
_RESPONSE, _BADLY, _BAD_JET, _BAD_RESPONSE = (stream << 32 for stream in (38, 40, 41, 42))
_MET = (22 << 32, 43 << 32)
_KIND = 1 << 24
_NUMBER = {kind: _KIND * i for i, kind in enumerate(("photon", "electron", "muon", "tau"))}


@dataclass(frozen=True, slots=True)
class Observed:
    """The reconstruction of n crossings: final objects by kind, each with `source` and `own`, missing
    momentum (met in GeV, φ) and the weight from the choice of fakes and of badly measured jets,
    float64[n]."""

    objects: dict[str, Objects]
    met: Array
    met_phi: Array
    weight: Array


def observe(
    crossing: Crossing, keys: Array, config: Config, *, fake: bool | None = None, badly: bool | None = None
) -> Observed:
    """Return the reconstruction of n crossings.

    keys: uint64[n]. fake: whether each has at least one fake photon or electron; badly: whether it has a
    badly measured jet; None: at random. Isolation is relative: the pT around an object over its own pT."""
    seed, n = config.seed, len(keys)
    jets, mismeasured, weight = _measured(crossing, keys, seed, badly)
    jets = _with_pileup(jets, crossing.interactions, keys, seed)
    objects = {"jet": final("jet", _tagged(jets, keys, seed)), "muon": _muons(crossing, keys, seed)}
    faked, em, ratio = _em_fakes(jets, keys, config, fake)
    for kind in ("photon", "electron"):
        true = _true_em(kind, crossing, keys, seed)
        chosen = faked.where(em == (kind == "electron"))
        objects[kind] = _merged(true, _fake_em(kind, chosen, crossing, keys, seed), n)
    objects["tau"] = _taus(crossing, jets, keys, config)
    soft = normal_pair(seed, keys, *_MET)
    return Observed(objects, *detector.missing_vector(crossing.sums | mismeasured, *soft), weight * ratio)


def position_of(objects: Objects) -> Array:
    """Return the position of each object within its crossing, int64, flat."""
    return ranges(np.zeros_like(objects.counts), objects.counts)


def _uniform(objects: Objects, keys: Array, seed: int, stream: int) -> Array:
    return uniform(seed, keys[objects.event], stream + position_of(objects))


def _normal(objects: Objects, keys: Array, seed: int, stream: int) -> Array:
    position = position_of(objects)
    return normal_pair(seed, keys[objects.event], stream + position, stream + (1 << 32) + position)[0]


def _measured(
    crossing: Crossing, keys: Array, seed: int, badly: bool | None
) -> tuple[Objects, dict[str, Array], Array]:
    """Return the jets with their reconstructed pT, the mismeasured momentum of each crossing, and the
    probability of the choice. If `badly` is true, each crossing has exactly one badly measured jet."""
    jets = crossing.objects["jet"]
    crossings, flavour = jets.event, jets.columns["flavour"]
    true = jets.columns["pt"].astype(np.float64)
    able = (true > detector.HARD_JET_PT) & (flavour >= 0)
    chosen, weight = _badly(able, crossings, jets, keys, seed, badly)
    normal, u = _normal(jets, keys, seed, _RESPONSE), _uniform(jets, keys, seed, _BAD_RESPONSE)
    pt = true * detector.jet_response(true, flavour, jets.columns["eta"], normal, chosen, u)
    lost, phi = np.where(able, true - pt, 0.0), jets.columns["phi"]
    sums = {
        f"mismeasured_{axis}": np.bincount(crossings, lost * direction, len(keys))
        for axis, direction in (("x", np.cos(phi)), ("y", np.sin(phi)))
    }
    return Objects(jets.counts, {**jets.columns, "pt": pt}), sums, weight


def _badly(
    able: Array, crossings: Array, jets: Objects, keys: Array, seed: int, badly: bool | None
) -> tuple[Array, Array]:
    """Return whether each jet is badly measured, bool, and the probability of that choice in each
    crossing."""
    if badly is None:
        return able & (_uniform(jets, keys, seed, _BADLY) < detector.JET_TAIL), np.ones(len(keys))
    number = np.bincount(crossings[able], minlength=len(keys))
    none = (1.0 - detector.JET_TAIL) ** number
    if not badly:
        return np.zeros(len(able), bool), none
    chosen = np.floor(uniform(seed, keys, _BAD_JET) * number)
    before = np.cumsum(able) - able
    position = before - np.concatenate([[0], np.cumsum(number)])[crossings]
    return able & (position == chosen[crossings]), 1.0 - none


def _with_pileup(jets: Objects, interactions: Array, keys: Array, seed: int) -> Objects:
    """Return jets above JET_PT with the noise of pile-up; nearby jets of different interactions are
    merged."""
    noise = detector.PILEUP_JET * np.sqrt(interactions[jets.event]) * _normal(jets, keys, seed, _NOISE)
    pt = jets.columns["pt"] + np.where(jets.columns["flavour"] >= 0, noise, 0.0)
    measured = Objects(jets.counts, {**jets.columns, "pt": pt.astype(np.float32)})
    visible = measured.where(pt > detector.JET_PT)
    return merge(in_order([(visible.event, visible.columns)], len(keys)))


def _tagged(jets: Objects, keys: Array, seed: int) -> Objects:
    pt, flavour = jets.columns["pt"], jets.columns["flavour"]
    columns = {k: c for k, c in jets.columns.items() if k != "flavour"}
    columns["pt"] = centred(pt, PT_BITS["jet"])
    inside = np.abs(jets.columns["eta"]) < detector.TAU_ETA
    tag = detector.b_tag(pt, flavour, _uniform(jets, keys, seed, _TAG))
    columns["btag"] = np.where(inside, tag, 0).astype(np.int8)
    return Objects(jets.counts, columns)


def _isolation(kind: str, objects: Objects, cone: Array, crossing: Crossing, keys: Array, seed: int) -> Array:
    """Return the relative isolation of objects, float32, with the noise of pile-up."""
    noise = detector.PILEUP_CONE * np.sqrt(crossing.interactions[objects.event])
    total = cone + noise * _normal(objects, keys, seed, _CONE + _NUMBER[kind])
    relative = np.clip(total / objects.columns["pt"], 0.0, ISOLATION_MAX)
    return round_mantissa(np.where(relative < 2.0**-6, 0.0, relative), ISOLATION_BITS)


def _muons(crossing: Crossing, keys: Array, seed: int) -> Objects:
    muons = final("muon", crossing.objects["muon"])
    u = _uniform(muons, keys, seed, _LEVEL + _NUMBER["muon"])
    shares = list(detector.MUON_LEVELS.values())
    quality = np.choose(muons.columns["origin"], [1 + detector.levels(share, u) for share in shares])
    isolation = _isolation("muon", muons, muons.columns["cone"], crossing, keys, seed)
    return _with(muons, quality=quality.astype(np.int8), isolation=isolation)


def _true_em(kind: str, crossing: Crossing, keys: Array, seed: int) -> Objects:
    """Return true photons or electrons."""
    objects = final(kind, crossing.objects[kind])
    u = _uniform(objects, keys, seed, _LEVEL + _NUMBER[kind])
    if kind == "photon":
        identification = detector.levels(detector.PHOTON_LEVELS["true"], u)
    else:
        prompt, hadron = (detector.levels(detector.ELECTRON_LEVELS[k], u) for k in ("prompt", "hadron"))
        identification = np.where(objects.columns["origin"] == 0, prompt, hadron)
    isolation = _isolation(kind, objects, objects.columns["cone"], crossing, keys, seed)
    result = _with(objects, identification=identification.astype(np.int8), isolation=isolation)
    result.columns["fake"] = np.zeros(len(u), np.int8)
    return result


def _em_fakes(jets: Objects, keys: Array, config: Config, fake: bool | None) -> tuple[Objects, Array, Array]:
    """Return fake photons and electrons, whether each is an electron, and the weights from their choice."""
    seed, rate = config.seed, config.fakes
    model = config.crossings
    threshold = detector.FINAL_PT["photon"]
    flavour = jets.columns["flavour"]
    jets = jets.where((jets.columns["pt"] > threshold) & (flavour >= 0) & (flavour != 15))
    p = detector.em_fakes(jets.columns["pt"].astype(np.float64), jets.columns["eta"], rate, threshold)
    jets, p = jets.where(p > 0), p[p > 0] * (1.0 + rate.electrons)
    offsets = np.concatenate([[0], np.cumsum(jets.counts)])
    p = detector.crowded(offsets, np.minimum(p, 1.0), model.fakes_max)
    true = detector.multiplicity(offsets, p, model)
    proposal = detector.proposed(true, fake, model)
    chosen = proposal.choose(uniform(seed, keys, _FAKE), uniform(seed, keys, _FAKE + 1))
    u_jet = _uniform(jets, keys, seed, _JET)
    taken = detector.choose_jets(offsets, p, chosen, uniform(seed, keys, _MODE), u_jet, model)
    species = _uniform(jets, keys, seed, _SPECIES)[taken] * (1.0 + rate.electrons) > 1.0
    u_share = _uniform(jets, keys, seed, _ENERGY)[taken]
    jets = jets.where(taken)
    jet_pt = jets.columns["pt"]
    share = detector.em_fake_share(jet_pt, rate, threshold, u_share)
    result = _with(jets, pt=(jet_pt * share).astype(np.float32))
    result.columns["cone"] = jet_pt - result.columns["pt"]
    return result, species, proposal.ratio(true, chosen)


def _fake_em(kind: str, objects: Objects, crossing: Crossing, keys: Array, seed: int) -> Objects:
    """Return fake photons or electrons; they have their own streams of random numbers."""
    u = _uniform(objects, keys, seed, _LEVEL + 8 * _KIND + _NUMBER[kind])
    levels = (detector.PHOTON_LEVELS if kind == "photon" else detector.ELECTRON_LEVELS)["fake"]
    isolation = _isolation(kind, objects, objects.columns["cone"], crossing, keys, seed + 1)
    result = _with(objects, identification=detector.levels(levels, u), isolation=isolation)
    result.columns["pt"] = centred(result.columns["pt"], PT_BITS[kind])
    result.columns["fake"] = np.ones(len(u), np.int8)
    if kind == "electron":
        result.columns["charge"] = _sign(_uniform(objects, keys, seed, _CHARGE))
    return result


def _taus(crossing: Crossing, jets: Objects, keys: Array, config: Config) -> Objects:
    """Return hadronic taus, true ones and misidentified jets."""
    seed = config.seed
    true = final("tau", crossing.objects["tau"])
    u = _uniform(true, keys, seed, _LEVEL + _NUMBER["tau"])
    true = _with(true, identification=detector.levels(detector.TAU_LEVELS["true"], u))
    true.columns["fake"] = np.zeros(len(u), np.int8)

    pt = jets.columns["pt"].astype(np.float64)
    p = config.fakes.taus * (pt / 20.0) ** detector.TAU_FAKE_POWER
    able = (jets.columns["flavour"] >= 0) & (jets.columns["flavour"] != 15)
    able &= (np.abs(jets.columns["eta"]) < detector.TAU_ETA) & (
        pt * detector.TAU_SCALE > detector.FINAL_PT["tau"]
    )
    draw = _uniform(jets, keys, seed, _TAU)
    taken = jets.where(able & (draw < p))
    u = (draw / np.maximum(p, 1e-9))[able & (draw < p)]  # uniform again
    fake = _with(taken, identification=detector.levels(detector.TAU_LEVELS["fake"], u))
    fake.columns["pt"] = centred(taken.columns["pt"] * detector.TAU_SCALE, PT_BITS["tau"])
    fake.columns["charge"] = _sign(_uniform(taken, keys, seed, _CHARGE + _NUMBER["tau"]))
    fake.columns["fake"] = np.ones(len(u), np.int8)
    return _merged(true, fake, len(keys))


def _sign(u: Array) -> Array:
    return np.where(u < 0.5, -1, 1).astype(np.int8)


def _with(objects: Objects, **columns: Array) -> Objects:
    """Return objects with further columns, without the columns that only the detector model needs."""
    remaining = {k: c for k, c in objects.columns.items() if k not in ("flavour", "origin", "cone")}
    return Objects(objects.counts, remaining | columns)


def _merged(first: Objects, second: Objects, n: int) -> Objects:
    parts = [(o.event, {name: o.columns[name] for name in first.columns}) for o in (first, second)]
    return in_order(parts, n)
