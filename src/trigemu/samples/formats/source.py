"""What a format is: a class with a path that gives columns of ranges of entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from trigemu.samples.events import Collection, Need
from trigemu.support.arrays import Array, BoolArray


@dataclass(frozen=True)
class Schema:
    """What a file offers: the columns of each collection, and the names of the scalars."""

    collections: Mapping[str, frozenset[str]]
    scalars: frozenset[str]


@dataclass(frozen=True)
class ReadEvents:
    """What was read: weight in the generator's unit, and as in `Events`."""

    weight: Array
    id: Array
    parent: Array
    collections: Mapping[str, Collection]
    scalars: Mapping[str, Array]


class Source(Protocol):
    """One file of events. Opened when first used, so that it can travel to a worker.

    entries: how many events. boundaries: entries at which reading can begin at no extra cost, from 0
    to `entries`, ascending. sum_of_weights: over all generated events, kept or not. neighbours: whether the
    entries are consecutive crossings ("line"), after the last of which the first comes again ("orbit"), or
    have nothing to do with each other ("none"). stored: the names of recorded decisions, of which
    `read_stored` gives some, bool[n] each. has_parents: whether it says which events were made from one
    interaction; if not, no two were. read: may be called by several threads at once. A SampleError (or
    any error of the library that reads) is completed with sample and file by the caller.
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

    @property
    def neighbours(self) -> Literal["none", "line", "orbit"]: ...

    @property
    def has_parents(self) -> bool: ...

    @property
    def stored(self) -> tuple[str, ...]: ...

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]: ...

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents: ...
