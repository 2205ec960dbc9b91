"""Stage two: bunch crossings as columns, made from pools of interactions.

Every random number is a function of the seed and the number of the crossing: results do not depend on order
or chunks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from . import overlay
from .config import Config
from .events import (
    ANGLE_STEPS,
    EVENT_BITS,
    PT_BITS,
    centred,
    round_angle,
    round_mantissa,
    uniform,
)
from .interactions import Array, Columns, Objects, ranges
from .observed import observe
from .overlay import Crossing, Drawn
from .pools import Pool, class_rates, means, poisson
from .targets import lowest_target, target
from .write import Normalisation

# Numbers of the streams of random numbers, to which the position of a draw within the crossing and MAX_DRAWS
# times the number of its slice are added.
_COUNT, _DRAW = 16 << 32, 17 << 32
MAX_DRAWS = 1 << 20


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe for the crossings of one class or of a signal.

    pool: its interactions. lower: pools of the lower classes and their µ. mu: µ of the pool, None for a
    signal, of which a crossing has exactly one interaction. rate_hz: the rate of the class. n: the number of
    crossings. deck: for the lowest class, the interactions in the order in which they are dealt; dealt: where
    those of each crossing begin.
    """

    config: Config
    pool: Pool
    lower: list[tuple[Pool, float]]
    mu: float | None
    rate_hz: float
    n: int
    deck: Array | None = None
    dealt: Array | None = None

    @property
    def hz(self) -> float:
        """The rate of the class over the number of crossings."""
        return self.rate_hz / self.n

    @property
    def background(self) -> bool:
        """Whether this is a class of background crossings."""
        return self.mu is not None

    def keys(self, start: int, stop: int) -> Array:
        """Return the keys of the random numbers of crossings start to stop, uint64."""
        return np.uint64(self.pool.number << EVENT_BITS) | np.arange(start, stop, dtype=np.uint64)


def recipe(config: Config, pools: list[Pool], pool: Pool) -> Recipe:
    """Return the recipe of a class or a signal; pools: of all classes, lowest first."""
    mu = [float(m) for m in means(pools, config)]
    all_pools = list(zip(pools, mu, strict=True))
    size = pool.part.uses * len(pool)
    if pool.part.role == "signal":
        return Recipe(config, pool, all_pools, None, float(len(pool)), size)
    position = pools.index(pool)
    rate = float(class_rates(np.array(mu), config.crossing_rate_hz)[position])
    if position > 0:
        return Recipe(config, pool, all_pools[:position], mu[position], rate, size)
    # The expected number of interactions is six standard deviations below the size of the deck.
    n = max(int((size - 6.0 * math.sqrt(size)) / max(mu[0], 1e-3)), 1)
    keys = np.uint64(pool.number << EVENT_BITS) | np.arange(n, dtype=np.uint64)
    counts = poisson(mu[0], uniform(config.seed, keys, _COUNT + pool.number))
    dealt = np.concatenate([[0], np.cumsum(counts)])
    deck = pool.deck(pool.part.uses, config.seed)
    return Recipe(config, pool, [], mu[0], rate, n, deck, dealt)


def contents(recipe: Recipe, start: int, stop: int) -> tuple[list[Drawn], Array]:
    """Return the interactions of crossings start to stop, and their weights (mean 1), float64[n]."""
    seed, keys = recipe.config.seed, recipe.keys(start, stop)
    if recipe.deck is not None and recipe.dealt is not None:
        counts = np.diff(recipe.dealt[start : stop + 1])
        rows = recipe.deck[np.arange(recipe.dealt[start], recipe.dealt[stop]) % len(recipe.deck)]
        return [Drawn(recipe.pool, np.repeat(np.arange(stop - start), counts), rows, True)], np.ones(
            len(keys)
        )
    first = np.arange(start, stop) % len(recipe.pool)
    drawn = [Drawn(recipe.pool, np.arange(stop - start), first, True)]
    weight = recipe.pool.weight[first]
    if recipe.mu is not None:
        u = uniform(seed, keys, _COUNT + recipe.pool.number)
        more = poisson(recipe.mu, u, at_least_one=True) - 1
        drawn.append(_draw(recipe.pool, more, keys, seed, True))
        # Any of the class's interactions could have been the one the crossing is built on: the weight is the
        # harmonic mean of theirs (the balance heuristic of Veach and Guibas, doi:10.1145/218380.218498).
        inverse = 1.0 / np.maximum(recipe.pool.weight, 1e-300)
        further = np.bincount(drawn[1].crossing, inverse[drawn[1].rows], len(keys))
        weight = (1 + more) / (inverse[first] + further)
    for pool, mu in recipe.lower:
        drawn.append(_draw(pool, poisson(mu, uniform(seed, keys, _COUNT + pool.number)), keys, seed, False))
    return drawn, weight


def _draw(pool: Pool, counts: Array, keys: Array, seed: int, is_own: bool) -> Drawn:
    crossing = np.repeat(np.arange(len(counts)), counts)
    position = ranges(np.zeros_like(counts), counts)
    u = uniform(seed, keys[crossing], _DRAW + pool.number * MAX_DRAWS + position)
    return Drawn(pool, crossing, pool.draw(u), is_own)


CHUNK = 20_000  # crossings at a time, for memory; no result depends on it
WEIGHT_BITS = 7
MIN_CROSSINGS = 2000  # no target weight is above 1 / MIN_CROSSINGS of the rate of a class


#: Whether a crossing has fakes, and a badly measured jet; None: at random.
Rare = tuple[bool | None, bool | None]
#: A background crossing has three copies, whose weights add up to its own weight.
COPIES: tuple[Rare, ...] = ((False, False), (True, False), (None, True))

# Numbers of the streams of random numbers.
_KEEP, _ORDER = 23 << 32, 44 << 32


def make(recipe: Recipe, threads: int = 1) -> tuple[Columns, Normalisation]:
    """Make the stored crossings of a class, and their normalisation; for background it has the rate."""
    starts = range(0, recipe.n, CHUNK)
    copies = COPIES if recipe.background else ((None, None),)
    with ThreadPoolExecutor(threads) as pool:
        chunks = pool.map(lambda start: _chunk(recipe, start, min(start + CHUNK, recipe.n), copies), starts)
        parts = [part for same_copy in zip(*chunks, strict=True) for part in same_copy]
    events = Columns.joined([part.columns for part in parts])
    weight = events.scalars["genWeight"]
    if recipe.background:
        quiet = np.concatenate([part.quiet for part in parts])
        weight = _normalised(weight, quiet, recipe.rate_hz)
    stored = round_mantissa(weight, WEIGHT_BITS)
    events.scalars["genWeight"] = stored
    events = _shuffled(events, recipe)
    events.scalars["event"] = np.arange(len(weight), dtype=np.uint64)
    stored_sum = math.fsum(stored.astype(np.float64))
    sumw = stored_sum if recipe.background else math.fsum(part.total for part in parts)
    norm = Normalisation(
        cross_section_pb=recipe.pool.cross_section_pb,
        count=recipe.n,
        sumw=sumw,
        sumw2=math.fsum(stored.astype(np.float64) ** 2),
        rate_hz=recipe.rate_hz if recipe.background else None,
        mean_interactions=recipe.mu,
    )
    return events, norm


@dataclass(frozen=True, slots=True)
class _Part:
    """Stored crossings of a range, whether each has no object, and the sum of all weights."""

    columns: Columns
    quiet: Array
    total: float


def _chunk(recipe: Recipe, start: int, stop: int, copies: Sequence[Rare]) -> list[_Part]:
    drawn, weight = contents(recipe, start, stop)
    crossing = overlay.overlay(drawn, stop - start)
    keys = recipe.keys(start, stop)
    return [_part(recipe, keys, drawn, crossing, weight, *copy) for copy in enumerate(copies)]


def _part(
    recipe: Recipe,
    keys: Array,
    drawn: list[Drawn],
    crossing: Crossing,
    weight: Array,
    number: int,
    rare: Rare,
) -> _Part:
    """Return the stored part of a copy of the crossings with these keys, by its number; weight: of each, with
    a mean of 1."""
    fake, badly = rare
    seed = recipe.config.seed
    observed = observe(crossing, keys, recipe.config, fake=fake, badly=badly)
    objects = observed.objects
    weight = weight * recipe.hz * observed.weight
    total = math.fsum(weight)
    if recipe.background:
        targets = np.minimum(
            lowest_target(objects, observed.met, recipe.config.crossings), recipe.rate_hz / MIN_CROSSINGS
        )
        keep = uniform(seed, keys, _KEEP + number) * targets < weight
        weight = np.maximum(weight, targets)
    else:
        keep = objects["photon"].counts >= recipe.pool.part.photons_min
    quiet = np.sum([o.counts for o in objects.values()], axis=0) == 0
    scalars = {
        "parent": _parents(crossing, objects, drawn, keys, recipe),
        "genWeight": weight,
        "MET_pt": centred(observed.met, PT_BITS["met"]),
        "MET_phi": round_angle(observed.met_phi, ANGLE_STEPS["met"]),
        "nInteraction": crossing.interactions.astype(np.int32),
    }
    columns = Columns(scalars, {kind: _stored(o) for kind, o in objects.items()})
    return _Part(columns.of(keep), quiet[keep], total)


def _parents(
    crossing: Crossing, objects: dict[str, Objects], drawn: list[Drawn], keys: Array, recipe: Recipe
) -> Array:
    """Return the parent of each crossing, uint64[n], one of its interactions.

    In background the parent is the interaction with the leading muon: few interactions have muons, and
    crossings of all higher classes share them. Without a muon it is an interaction of the crossing's class:
    the one with the final object of the lowest target weight, else with the leading stored jet, else the
    first. A crossing without any interaction is its own parent.
    """
    slices = len(recipe.config.slices)
    parent = np.uint64(slices << EVENT_BITS) | (keys & np.uint64((1 << EVENT_BITS) - 1))
    first = drawn[0]  # of the class itself; in reverse, which leaves the first of several
    parent[first.crossing[::-1]] = first.pool.ids(first.rows)[::-1]
    best = np.zeros(len(keys))
    for kind, group in (("stored", crossing.objects["jet"]), *objects.items()):
        own_jets = group.where(group.columns["own"])
        crossings, lead = np.unique(own_jets.event, return_index=True)
        pt = own_jets.columns["pt"][lead].astype(np.float64)
        rarity = pt * 1e-12 if kind == "stored" else 1.0 / target(kind, pt, recipe.config.crossings)
        better = rarity > best[crossings]
        best[crossings[better]] = rarity[better]
        parent[crossings[better]] = own_jets.columns["source"][lead[better]]
    if recipe.background:
        crossings, lead = np.unique(objects["muon"].event, return_index=True)
        parent[crossings] = objects["muon"].columns["source"][lead]
    return parent


def _shuffled(events: Columns, recipe: Recipe) -> Columns:
    """Return events in random order: the first ones are then representative."""
    keys = recipe.keys(0, len(events.scalars["genWeight"]))
    order = np.argsort(uniform(recipe.config.seed, keys, _ORDER), kind="stable")
    return Columns(
        {name: column[order] for name, column in events.scalars.items()},
        {kind: o.taken(order) for kind, o in events.objects.items()},
    )


def _stored(objects: Objects) -> Objects:
    hidden = ("source", "own", "flavour", "origin", "cone")
    columns = {k: c for k, c in objects.columns.items() if k not in hidden}
    stored = {k: c.astype(np.int32) if c.dtype == np.int8 else c for k, c in columns.items()}
    return Objects(objects.counts, stored)


def _normalised(weight: Array, quiet: Array, rate_hz: float) -> Array:
    """Return weights that add up to the rate. Only crossings without objects are scaled, which no trigger on
    objects accepts; if these are too few, all are scaled."""
    empty, others = math.fsum(weight[quiet]), math.fsum(weight[~quiet])
    missing = rate_hz - others
    if empty > 0 and 0.5 < missing / empty < 2.0:
        return np.where(quiet, weight * (missing / empty), weight)
    return weight * (rate_hz / (empty + others))
