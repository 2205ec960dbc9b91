"""Stage two for crossings: bunch crossings as columns, made from pools of interactions.

Every random number is a function of the seed and the number of the crossing, so that results do not depend on
order or chunks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trigemu.generate import detector, fakes, overlay
from trigemu.generate.events import (
    EVENT_BITS,
    EventColumns,
    centred,
    final,
    normal_pair,
    round_angle,
    round_mantissa,
    uniform,
)
from trigemu.generate.interactions import Objects
from trigemu.generate.overlay import Crossing, Drawn
from trigemu.generate.pools import PT_BITS
from trigemu.generate.recipes import Recipe, contents
from trigemu.generate.write import Normalisation

Array = NDArray[Any]

CHUNK = 20_000  # crossings at a time, for memory; no result depends on it
WEIGHT_BITS = 7
# In crossings with a harder jet, more missing momentum (GeV) or a lepton, fakes are enriched less; the latter
# two are all kept.
RARE_JET_PT = 40.0
RARE_MET = 70.0
# The target weight of crossings with jets alone falls with the pT of the leading jet, as their rate does.
OBJECT_PT = 100.0  # GeV, where the target is the configuration's object_weight_hz
OBJECT_SLOPE = -3.0
FEWEST = 2000  # no target weight is above 1 / FEWEST of the rate of a class
MET_BITS = 9  # with fewer, a step would contain much of the steeply falling rate above a threshold
MET_ANGLE_STEP = 1 / 16

# Numbers of the streams of random numbers; for a jet, its place in the crossing is added.
_FAKE, _MODE, _JET, _ENERGY, _MET, _KEEP = (stream << 32 for stream in range(18, 24))


def make(what: Recipe) -> tuple[EventColumns, Normalisation]:
    """Make the crossings of a class that are kept, and their normalisation; background has its rate."""
    parts = [_chunk(what, start, min(start + CHUNK, what.n)) for start in range(0, what.n, CHUNK)]
    events = _joined([columns for columns, _, _ in parts])
    weight = events.scalars["genWeight"]
    events.scalars["event"] = np.arange(len(weight), dtype=np.uint64)
    if what.background:
        quiet = np.concatenate([q for _, q, _ in parts])
        weight = _normalised(weight, quiet, what.rate_hz)
    stored = round_mantissa(weight, WEIGHT_BITS)
    events.scalars["genWeight"] = stored
    kept = math.fsum(stored.astype(np.float64))
    sumw = kept if what.background else math.fsum(w for _, _, w in parts)
    norm = Normalisation(
        cross_section_pb=what.pool.cross_section_pb,
        filter_efficiency=1.0,
        count=np.array([what.n]),
        sumw=np.array([sumw]),
        sumw2=np.array([math.fsum(stored.astype(np.float64) ** 2)]),
        rate_hz=what.rate_hz if what.background else None,
        mean_interactions=what.mu,
    )
    return events, norm


def _chunk(what: Recipe, start: int, stop: int) -> tuple[EventColumns, Array, float]:
    """Return the crossings of a range that are kept, which of them have no object, and the weight of all."""
    seed, keys, n = what.config.seed, what.keys(start, stop), stop - start
    drawn, weight = contents(what, start, stop)
    crossing = overlay.overlay(drawn, n)
    weight = weight * what.hz
    objects = {kind: final(kind, o) for kind, o in crossing.objects.items() if kind != "photon"}
    met_pt, met_phi = detector.missing_vector(crossing.sums, *normal_pair(seed, keys, _MET, _MET + 1))
    jets = objects["jet"]
    always = (objects["electron"].counts + objects["muon"].counts > 0) | (met_pt > RARE_MET)
    rare = always | (np.bincount(overlay.crossing_of(jets), jets.columns["pt"] > RARE_JET_PT, n) > 0)
    photons, ratio = _with_fakes(what, crossing, keys, weight, rare)
    objects["photon"] = photons
    weight = weight * ratio
    total = math.fsum(weight)
    category = np.select([always, photons.counts > 0, jets.counts > 0], [0, 1, 2], default=3)
    targets = _targets(what, category, jets)
    keep = uniform(seed, keys, _KEEP) * targets < weight
    weight = np.maximum(weight, targets)
    if not what.background:
        keep = photons.counts >= what.model.signal_photons
    scalars = {
        "parent": _parents(crossing, objects, drawn, keys, len(what.config.slices)),
        "genWeight": weight,
        "MET_pt": centred(met_pt, MET_BITS),
        "MET_phi": round_angle(met_phi, MET_ANGLE_STEP),
        "nInteraction": crossing.interactions.astype(np.int32),
    }
    columns = EventColumns(
        {name: column[keep] for name, column in scalars.items()},
        {kind: _stored(o.of(keep)) for kind, o in objects.items()},
    )
    return columns, category[keep] == 3, total


def _targets(what: Recipe, category: Array, jets: Objects) -> Array:
    """Return the smallest weight in Hz of each crossing, float64[n]; 0: the crossing is kept as it is."""
    model, n = what.model, len(category)
    if not what.background:
        return np.zeros(n)
    lead = np.full(n, detector.FINAL_PT["jet"])
    np.maximum.at(lead, overlay.crossing_of(jets), jets.columns["pt"])
    falling = model.object_weight_hz * (lead / OBJECT_PT) ** OBJECT_SLOPE
    targets = [np.zeros(n), np.full(n, model.photon_weight_hz), falling, np.full(n, model.quiet_weight_hz)]
    return np.asarray(np.minimum(np.choose(category, targets), what.rate_hz / FEWEST))


def _with_fakes(
    what: Recipe, crossing: Crossing, keys: Array, weight: Array, rare: Array
) -> tuple[Objects, Array]:
    """Return the final photons, true and fake, and the weights from the choice of fakes, float64[n]."""
    seed, model, fake = what.config.seed, what.model, what.config.fakes
    jets, n = crossing.objects["jet"], len(keys)
    of, pt = overlay.crossing_of(jets), jets.columns["pt"].astype(np.float64)
    low, high = fake.energy_fraction
    # Only fakes above the photon threshold matter: the energy fraction is drawn on that condition.
    needed = np.clip(detector.FINAL_PT["photon"] / pt, low, high)
    p = detector.fake_probability(pt, jets.columns["eta"], fake.probability, fake.slope)
    p *= (high - needed) / (high - low) if high > low else pt * high > detector.FINAL_PT["photon"]
    p *= jets.columns["hadronic"] > 0
    candidates = p > 0
    of, p, needed, pt = of[candidates], p[candidates], needed[candidates], pt[candidates]
    offsets = np.searchsorted(of, np.arange(n + 1))

    p = fakes.crowded(offsets, p, model.fakes_max)
    true = fakes.multiplicity(offsets, p, model)
    real = final("photon", crossing.objects["photon"])
    proposal = fakes.natural(true)
    if what.background:
        proposal = fakes.propose(true, weight, real.counts > 0, rare, model)
    chosen = proposal.choose(uniform(seed, keys, _FAKE), uniform(seed, keys, _FAKE + 1))
    ratio = proposal.ratio(true, chosen)
    place = np.arange(len(of)) - offsets[of]
    taken = fakes.which(
        offsets, p, chosen, uniform(seed, keys, _MODE), uniform(seed, keys[of], _JET + place), model
    )
    fraction = needed + (high - needed) * uniform(seed, keys[of], _ENERGY + place)
    columns = {name: jets.columns[name][candidates][taken] for name in ("eta", "phi", "source", "own")}
    columns["pt"] = centred((pt * fraction)[taken], PT_BITS["photon"])
    columns["fake"] = np.ones(len(columns["pt"]), np.int32)
    known = {**real.columns, "fake": np.zeros(len(real.columns["pt"]), np.int32)}
    parts = [(overlay.crossing_of(real), known), (of[taken], columns)]
    return overlay.merged([(o, {k: c[k] for k in known}) for o, c in parts], n), ratio


def _parents(
    crossing: Crossing, objects: dict[str, Objects], drawn: list[Drawn], keys: Array, slices: int
) -> Array:
    """Return the parent of each crossing, uint64[n], an interaction of the crossing's class.

    It is the one with the leading photon; without one, with the leading other final object; else with the
    leading stored jet; else the first. A crossing without any interaction is its own parent.
    """
    parent = np.uint64(slices << EVENT_BITS) | (keys & np.uint64((1 << EVENT_BITS) - 1))
    first = drawn[0]  # of the class itself; in reverse, so that the first of several is kept
    parent[first.crossing[::-1]] = first.pool.ids(first.rows)[::-1]
    best = np.zeros(len(keys))
    rank = {"photon": 1e6}
    candidates = [(crossing.objects["jet"], 1e-6), *((o, rank.get(k, 1.0)) for k, o in objects.items())]
    for group, scale in candidates:
        own = group.where(group.columns["own"])
        of, lead = np.unique(overlay.crossing_of(own), return_index=True)
        pt = own.columns["pt"][lead].astype(np.float64) * scale
        better = pt > best[of]
        best[of[better]] = pt[better]
        parent[of[better]] = own.columns["source"][lead[better]]
    return parent


def _stored(objects: Objects) -> Objects:
    columns = {k: c for k, c in objects.columns.items() if k not in ("source", "own")}
    return Objects(objects.counts, columns)


def _normalised(weight: Array, quiet: Array, rate_hz: float) -> Array:
    """Return weights that add up to the rate. Only those of crossings without objects are scaled, which no
    trigger on objects accepts; where these are too few, all are scaled."""
    empty, rest = math.fsum(weight[quiet]), math.fsum(weight[~quiet])
    missing = rate_hz - rest
    if empty > 0 and 0.5 < missing / empty < 2.0:
        return np.where(quiet, weight * (missing / empty), weight)
    return weight * (rate_hz / (empty + rest))


def _joined(parts: list[EventColumns]) -> EventColumns:
    scalars = {k: np.concatenate([p.scalars[k] for p in parts]) for k in parts[0].scalars}
    objects = {
        kind: Objects(
            np.concatenate([p.objects[kind].counts for p in parts]),
            {
                k: np.concatenate([p.objects[kind].columns[k] for p in parts])
                for k in parts[0].objects[kind].columns
            },
        )
        for kind in parts[0].objects
    }
    return EventColumns(scalars, objects)
