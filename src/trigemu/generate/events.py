"""Stage two: events as columns, made from stored interactions.

Random numbers of an event depend only on the seed and the event's parent, not on other events or on how they
are grouped. Tuning this stage does not re-run the generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trigemu.generate import detector
from trigemu.generate.config import Fakes
from trigemu.generate.interactions import Interactions, Objects
from trigemu.support import splitmix64

Array = NDArray[Any]

EVENT_BITS = 56  # bits of `parent` for the number of the interaction within its slice
MANTISSA_BITS = 12  # bits of momenta: steps of 1.2e-4 to 2.4e-4, a tenth of the best resolution
ANGLE_STEP = 1 / 2048  # step of η and φ: 5e-4, a fiftieth of a calorimeter cell

# Numbers of the streams of random numbers; for a jet, its place in the event is added.
_MET_RADIUS, _MET_ANGLE, _IS_FAKE, _FAKE_ENERGY = (stream << 32 for stream in range(1, 5))


@dataclass(frozen=True, slots=True)
class EventColumns:
    """n events: scalars by their name in the file, objects by kind ("jet" …) in descending pT.

    Photons have a column `fake` (int32), electrons and muons `charge` (int32)."""

    scalars: dict[str, Array]
    objects: dict[str, Objects]


def make(rows: Interactions, first: int, slice_number: int, seed: int, fakes: Fakes) -> EventColumns:
    """Make an event from each interaction; `first` is the number of the first of them within the slice."""
    number = np.uint64(first) + np.arange(len(rows), dtype=np.uint64)
    parent = np.uint64(slice_number << EVENT_BITS) | number
    objects = {kind: rounded(o) for kind, o in rows.objects.items()}
    objects["photon"] = with_fakes(objects["jet"], objects["photon"], parent, seed, fakes)
    selected = {kind: final(kind, o) for kind, o in objects.items()}
    met_pt, met_phi = missing_momentum(rows, parent, seed)
    scalars = {
        "run": np.ones(len(rows), np.uint32),
        "event": number,
        "parent": parent,
        "genWeight": rows.scalars["weight"],
        "pTHat": centred(rows.scalars["pt_hat"]),
        "MET_pt": centred(met_pt),
        "MET_phi": round_angle(met_phi),
    }
    return EventColumns(scalars, selected)


def with_fakes(jets: Objects, photons: Objects, parent: Array, seed: int, fakes: Fakes) -> Objects:
    """Return the true and fake photons of n events in descending pT; a jet that fakes one also stays a jet.

    A jet that is a true photon or electron does not fake one. parent: uint64[n]."""
    event = np.repeat(np.arange(len(parent)), jets.counts)
    place = np.arange(len(event)) - np.repeat(np.cumsum(jets.counts) - jets.counts, jets.counts)
    pt, eta = jets.columns["pt"], jets.columns["eta"]
    probability = detector.fake_probability(pt, eta, fakes.probability, fakes.slope)
    taken = uniform(seed, parent[event], _IS_FAKE + place) < probability
    taken &= jets.columns["hadronic"] > 0
    low, high = fakes.energy_fraction
    fraction = low + (high - low) * uniform(seed, parent[event], _FAKE_ENERGY + place)

    of = np.concatenate([np.repeat(np.arange(len(parent)), photons.counts), event[taken]])
    both = {
        "pt": np.concatenate([photons.columns["pt"], centred(pt * fraction)[taken]]),
        "eta": np.concatenate([photons.columns["eta"], eta[taken]]),
        "phi": np.concatenate([photons.columns["phi"], jets.columns["phi"][taken]]),
        "fake": np.repeat([0, 1], [photons.counts.sum(), taken.sum()]).astype(np.int32),
    }
    order = np.lexsort((-both["pt"], of))
    counts = np.bincount(of, minlength=len(parent))
    return Objects(counts, {name: column[order] for name, column in both.items()})


def missing_momentum(rows: Interactions, parent: Array, seed: int) -> tuple[Array, Array]:
    """Return magnitude (GeV) and φ in (−π, π] of reconstructed missing momentum, float64[n]."""
    return detector.missing_vector(rows.scalars, *normal_pair(seed, parent, _MET_RADIUS, _MET_ANGLE))


def normal_pair(seed: int, parent: Array, radius_stream: int, angle_stream: int) -> tuple[Array, Array]:
    """Return two normal numbers per event, float64[n] each (Box and Muller), from two uniform streams."""
    # 1 − u keeps the logarithm finite.
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(seed, parent, radius_stream)))
    angle = 2.0 * np.pi * uniform(seed, parent, angle_stream)
    return radius * np.cos(angle), radius * np.sin(angle)


def uniform(seed: int, parent: Array, stream: Array | int) -> Array:
    """Return uniform numbers in [0, 1), float64, a pure function of seed, parent (uint64) and stream."""
    start = np.asarray(parent, np.uint64) ^ splitmix64(np.array([seed], np.uint64))
    state = splitmix64(splitmix64(start) + np.asarray(stream, np.uint64))
    return (state >> np.uint64(11)) * 2.0**-53


def round_mantissa(values: Array, kept: int = MANTISSA_BITS) -> Array:
    """Round to float32 with a number of mantissa bits, to compress well without loss of resolution."""
    drop = 23 - kept
    bits = np.asarray(values, np.float32).view(np.uint32)
    half = np.uint32(1 << (drop - 1))
    return ((bits + half) & np.uint32(2**32 - (1 << drop))).view(np.float32)


def centred(values: Array, kept: int = MANTISSA_BITS) -> Array:
    """Round to float32 in the middle of steps, which begin at numbers with `kept` bits of mantissa.

    Thresholds are such numbers. If values were rounded to them, the rate of a whole step would lie exactly on
    the threshold, though half of it is truly below; with values in the middle of steps, a threshold decides
    as if they were not rounded. The bit that is always set takes no space in a compressed file."""
    half = np.uint32(1 << (22 - kept))
    bits = np.asarray(values, np.float32).view(np.uint32)
    middle = (bits & ~(2 * half - np.uint32(1))) | half
    return np.where(bits == 0, bits, middle).view(np.float32)


def round_angle(values: Array, step: float = ANGLE_STEP) -> Array:
    """Round to multiples of a step, float32; an angle stays within (−π, π)."""
    last = np.floor(np.pi / step)
    steps = np.rint(np.asarray(values, np.float64) / step)
    return (np.clip(steps, -last, last) * step).astype(np.float32)


def rounded(objects: Objects, bits: int = MANTISSA_BITS, step: float = ANGLE_STEP) -> Objects:
    """Round pT to the middle of steps of some bits of mantissa, η and φ to multiples of a step."""
    eta = np.rint(objects.columns["eta"].astype(np.float64) / step) * step
    columns = {
        **objects.columns,
        "pt": centred(objects.columns["pt"], bits),
        "eta": eta.astype(np.float32),
        "phi": round_angle(objects.columns["phi"], step),
    }
    return Objects(objects.counts, columns)


def final(kind: str, objects: Objects) -> Objects:
    """Return objects above the final threshold, without the column `hadronic`; charges as int32."""
    chosen = objects.where(objects.columns["pt"] > detector.FINAL_PT[kind])
    columns = {k: c for k, c in chosen.columns.items() if k != "hadronic"}
    if "charge" in columns:
        columns["charge"] = columns["charge"].astype(np.int32)
    return Objects(chosen.counts, columns)
