"""The interactions of each crossing of a class, and the weight of the crossing.

A crossing is built on one interaction of its class and has the weight of that interaction, which is used for
`uses` crossings. The other interactions, of the same class and of lower ones, are drawn from the pools in
proportion to their weights, and need no weight. In the lowest class, which has most of the rate, interactions
are dealt instead: none is in more than `uses` crossings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .config import Config, Crossings
from .events import EVENT_BITS, uniform
from .interactions import ranges
from .overlay import Drawn
from .pools import Pool, class_rates, means, poisson

Array = NDArray[Any]

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
    model: Crossings
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
    assert config.crossings is not None
    mu = [float(m) for m in means(pools, config)]
    all_pools = list(zip(pools, mu, strict=True))
    size = pool.part.uses * len(pool)
    if pool.part.role == "signal":
        return Recipe(config, config.crossings, pool, all_pools, None, float(len(pool)), size)
    position = pools.index(pool)
    rate = float(class_rates(np.array(mu), config.crossing_rate_hz)[position])
    if position > 0:
        return Recipe(config, config.crossings, pool, all_pools[:position], mu[position], rate, size)
    # The expected number of interactions is six standard deviations below the size of the deck.
    n = max(int((size - 6.0 * math.sqrt(size)) / max(mu[0], 1e-3)), 1)
    keys = np.uint64(pool.number << EVENT_BITS) | np.arange(n, dtype=np.uint64)
    counts = poisson(mu[0], uniform(config.seed, keys, _COUNT + pool.number))
    dealt = np.concatenate([[0], np.cumsum(counts)])
    deck = pool.deck(pool.part.uses, config.seed)
    return Recipe(config, config.crossings, pool, [], mu[0], rate, n, deck, dealt)


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


def _draw(pool: Pool, counts: Array, keys: Array, seed: int, own: bool) -> Drawn:
    crossing = np.repeat(np.arange(len(counts)), counts)
    position = ranges(np.zeros_like(counts), counts)
    u = uniform(seed, keys[crossing], _DRAW + pool.number * MAX_DRAWS + position)
    return Drawn(pool, crossing, pool.draw(u), own)
