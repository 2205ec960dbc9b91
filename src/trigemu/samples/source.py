"""What a format is: a class with a path that gives columns of ranges of entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trigemu.events import Array, Collection
from trigemu.observables import Need


@dataclass(frozen=True)
class Schema:
    """What a file offers: the columns of each collection, and the names of the scalars."""

    collections: Mapping[str, frozenset[str]]
    scalars: frozenset[str]


@dataclass(frozen=True)
class Columns:
    """What was read: weight in the generator's unit, and as in `Events`."""

    weight: Array
    id: Array
    parent: Array
    collections: Mapping[str, Collection]
    scalars: Mapping[str, Array]


class Source(Protocol):
    """One file of events. Opened when first used, so that it can travel to a worker.

    entries: how many events. boundaries: entries at which reading can begin at no extra cost, from 0
    to `entries`, ascending. sum_of_weights: over all generated events, kept or not. read: may be called by
    several threads at once. A SampleError (or any error of the library that reads) is completed with
    sample and file by the caller.
    """

    path: str

    @property
    def entries(self) -> int: ...

    @property
    def boundaries(self) -> tuple[int, ...]: ...

    @property
    def sum_of_weights(self) -> float: ...

    @property
    def schema(self) -> Schema: ...

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> Columns: ...
