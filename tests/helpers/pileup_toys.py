"""Toy crossings with a number of interactions."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from toys import COLLECTIONS, Memory, memory_catalogue, toy_events

from trigemu.api import ReadEvents, Schema
from trigemu.samples.catalogue import Catalogue


@dataclass
class Crossings(Memory):
    """A source that has n_interaction, as a column of some type."""

    dtype: str = "i4"

    def __post_init__(self) -> None:
        super().__post_init__()
        scalars = self.schema.scalars | {"n_interaction"}
        self.schema = Schema(self.schema.collections, scalars)

    def read(self, start: int, stop: int, needs: Iterable[tuple[str, str]]) -> ReadEvents:
        read = super().read(start, stop, needs)
        n = np.array([event["n_interaction"] for event in self.events[start:stop]], self.dtype)
        return replace(read, scalars={**read.scalars, "n_interaction": n})


def crossings(seed: int, n: int, most: int = 5) -> list[dict[str, Any]]:
    """Toy events of 0 to `most` interactions in turn, whose weights do not differ too much."""
    rng = random.Random(seed)
    return [
        event | {"n_interaction": number % (most + 1), "weight": rng.uniform(0.5, 2.0)}
        for number, event in enumerate(toy_events(seed, n))
    ]


def alike(n: int, count: int, weight: float) -> list[dict[str, Any]]:
    """Crossings of n interactions, without objects, that share a weight."""
    one = {"met": 0.0, "met_phi": 0.0, "n_interaction": n, "weight": weight / count}
    return [one | {name: [] for name in COLLECTIONS} for _ in range(count)]


def crossing_catalogue(
    samples: dict[str, Sequence[dict[str, Any]]], dtype: str = "i4", **how: Any
) -> Catalogue:
    made = memory_catalogue(samples, **how)
    sources = [replace(s, sources=(Crossings(s.sources[0].events, dtype=dtype),)) for s in made.samples]
    return replace(made, samples=tuple(sources))
