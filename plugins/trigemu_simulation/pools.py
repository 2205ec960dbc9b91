"""Pools of interactions that crossings are made from, and the number of interactions in a crossing.

The classes of crossings, lowest first, are the background slices in the order of the configuration. A
crossing belongs to the highest class of which it has an interaction; µ = σ L / f is the mean number of
interactions of a class in one crossing, f the crossing rate. Draws are functions of uniform numbers, which
are arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import blocks
from .config import Config, Slice
from .events import EVENT_BITS, rounded, uniform
from .interactions import Array, Interactions, Summary

CM2_PER_PB = 1e-36

EXCESS_SLOPE = 3.0  # interactions whose leading jet is above this multiple of p̂T may be left out

# Streams of random numbers for shuffling, and for interactions that are left out.
_DECK, _THINNING = 5 << 32, 6 << 32


@dataclass(frozen=True, slots=True)
class Pool:
    """All interactions of a class. number: of its slice within the configuration; source: the number of the
    slice that its interactions come from.

    weight: float64[n], the generator weights with a mean of 1. cross_section_pb: with filter efficiency and
    k-factor. offsets: by kind, where the objects of each interaction begin.
    """

    part: Slice
    number: int
    rows: Interactions
    weight: Array
    cross_section_pb: float
    cumulative: Array
    offsets: dict[str, Array]
    source: int

    def __len__(self) -> int:
        return len(self.rows)

    def draw(self, u: Array) -> Array:
        """Draw rows in proportion to their weights, from uniform numbers."""
        row = np.searchsorted(self.cumulative, u * self.cumulative[-1], side="right")
        return np.asarray(np.minimum(row, len(self) - 1))

    def deck(self, turns: int, seed: int) -> Array:
        """Return rows in random order, each once per turn: int64[turns · len(self)]."""
        ids = (self.number << EVENT_BITS) + np.arange(len(self), dtype=np.uint64)
        keys = [uniform(seed, ids, _DECK + turn) for turn in range(turns)]
        return np.concatenate([np.argsort(key, kind="stable") for key in keys])

    def ids(self, rows: Array) -> Array:
        """Return the numbers of the collisions, uint64, unique over all slices."""
        return np.uint64(self.source << EVENT_BITS) | self.rows.scalars["origin"][rows].astype(np.uint64)


def make_pool(
    part: Slice, number: int, rows: Interactions, cross_section_pb: float, source: int | None = None
) -> Pool:
    """Make a pool of rounded interactions; cross_section_pb includes efficiency and k-factor."""
    if part.jet_excess_max is not None:
        keep = _excess(rows) <= part.jet_excess_max
        cross_section_pb *= rows.scalars["weight"][keep].sum() / rows.scalars["weight"].sum()
        rows = rows.of(keep)
    objects = {kind: rounded(kind, o) for kind, o in rows.objects.items()}
    if not part.photons:
        photons = objects["photon"]
        objects["photon"] = photons.where(np.zeros(len(photons.columns["pt"]), bool))
    weight = rows.scalars["weight"] / np.mean(rows.scalars["weight"])
    offsets = {kind: np.concatenate([[0], np.cumsum(o.counts)]) for kind, o in objects.items()}
    return Pool(
        part,
        number,
        Interactions(rows.scalars, objects),
        weight,
        cross_section_pb,
        np.cumsum(weight),
        offsets,
        number if source is None else source,
    )


def load(config: Config, number: int, folder: Path) -> Pool:
    """Read the pool of a slice from the blocks of stage one.

    Interactions of the lowest class are dealt to crossings and have no weight there: each is retained with a
    probability proportional to its weight."""
    part = config.slices[number]
    from_part = config.source(part)
    rows, summaries = read_rows(from_part, folder, config)
    generated = sum(s.generated_sumw for s in summaries)
    split = any(slice_.muons_of == part.name for slice_ in config.slices)
    if split or part.muons_of is not None:
        rows = rows.of(blocks.secondary_muons(rows) == (part.muons_of is not None))
    if part.muons_of is not None:
        rows = rows.of(~_muons_by_themselves(rows))
        rows = rows.of(rows.scalars["pt_hat"] < (part.pt_hat_max or np.inf))
    accepted = float(np.sum(rows.scalars["weight"]))
    if split:
        weight = rows.scalars["weight"]
        keys = np.uint64(number << EVENT_BITS) + np.arange(len(rows), dtype=np.uint64)
        thinned = rows.of(uniform(config.seed, keys, _THINNING) * np.max(weight) < weight)
        rows = Interactions({**thinned.scalars, "weight": np.ones(len(thinned))}, thinned.objects)
    cross_section = np.average(
        [s.cross_section_pb for s in summaries], weights=[s.generated for s in summaries]
    )
    sigma = float(cross_section) * accepted / generated * from_part.k_factor
    return make_pool(part, number, rows, sigma, config.slices.index(from_part))


def read_rows(part: Slice, folder: Path, config: Config) -> tuple[Interactions, list[Summary]]:
    """Read all interactions of a slice, with the numbers of their collisions within the slice."""
    parts = list(blocks.read_all(config, part, folder))
    for i, block in enumerate(parts):
        block.interactions.scalars["origin"] += np.uint32(i * part.block_size)
    return Interactions.joined([b.interactions for b in parts]), [b.summary for b in parts]


def means(pools: list[Pool], config: Config) -> Array:
    """Return µ of each class, the mean number of its interactions in a crossing, float64[c]."""
    scale = CM2_PER_PB * config.luminosity_cm2s / config.crossing_rate_hz
    return np.array([pool.cross_section_pb * scale for pool in pools])


def class_rates(mu: Array, crossing_rate: float) -> Array:
    """Return the rates of the classes, float64[c]: crossing_rate · (1 − e^−µ) Π over higher ones of e^−µ.

    They add up to crossing_rate: crossings without any interaction belong to the lowest class."""
    higher = np.concatenate([np.cumsum(mu[::-1])[::-1][1:], [0.0]])
    probability = -np.expm1(-mu)
    probability[0] = 1.0
    return np.asarray(crossing_rate * probability * np.exp(-higher))


def poisson(mu: float, u: Array, *, at_least_one: bool = False) -> Array:
    """Return Poisson numbers, int64, by inversion of uniform ones; at_least_one: conditional on not 0."""
    last = int(mu + 12.0 * math.sqrt(mu) + 40.0)
    k = np.arange(last + 1)
    log_factorial = np.array([math.lgamma(i + 1.0) for i in k])
    below = np.cumsum(np.exp(k * math.log(mu) - mu - log_factorial)) if mu > 0 else np.ones(1)
    if at_least_one:
        u = math.exp(-mu) - u * math.expm1(-mu)
    number = np.searchsorted(below, u, side="right")
    return np.clip(number, int(at_least_one), last).astype(np.int64)


def _muons_by_themselves(rows: Interactions) -> Array:
    """Return whether an interaction has two muons for any decay of its hadrons, bool[n]: from a directly
    produced J/ψ or Υ, which has a separate slice."""
    muons = rows.objects["muon"]
    of_hadrons = muons.where(muons.columns["origin"] == 1).counts
    return np.asarray((of_hadrons > 1) & (rows.scalars["weight"] >= 1.0))


def _excess(rows: Interactions) -> Array:
    """Return the excess of the leading jet of each interaction over EXCESS_SLOPE · p̂T in GeV, float64[n]."""
    jets, lead = rows.objects["jet"], np.zeros(len(rows))
    np.maximum.at(lead, jets.event, jets.columns["pt"])
    return np.asarray(lead - EXCESS_SLOPE * rows.scalars["pt_hat"])
