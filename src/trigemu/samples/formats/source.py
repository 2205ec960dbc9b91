"""What a file format is: a class with a path that gives columns of ranges of entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from trigemu.samples.events import Collection, Need
from trigemu.support import Array, BoolArray


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


@dataclass(frozen=True)
class Beginning:
    """What a format may recognise its own files by.

    folder: whether it is a folder of files. start: its first 512 bytes, decompressed. trees: what a ROOT file
    has at its top.
    """

    folder: bool
    start: bytes
    trees: tuple[str, ...]


@dataclass
class Source(ABC):
    """One file of events, opened when first used, so that it can travel to a worker.

    A format gives `entries`, `schema` and `read`, and says which files are its own; the rest has defaults. A
    SampleError, or any error of the library that reads, is completed with sample and file by the caller.
    """

    path: str

    #: Names that the TTree or RNTuple with the events may have in a ROOT file.
    trees: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Tell whether a file is in this format; by default, where it has one of its trees."""
        return any(tree in beginning.trees for tree in cls.trees)

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many events there are."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What can be read."""

    @abstractmethod
    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read the needed columns, and always weight, id and parent, of entries `start` to `stop`. Several
        threads may call it at once."""

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Entries at which reading can begin at no extra cost, from 0 to `entries`, ascending."""
        return (0, self.entries)

    @property
    def sum_of_weights(self) -> float:
        """Over all generated events, kept or not. By default every event is there and weighs 1."""
        return float(self.entries)

    @property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        """Whether the entries are consecutive crossings ("line"), after the last of which the first comes
        again ("orbit"), or have nothing to do with each other ("none")."""
        return "none"

    @property
    def has_parents(self) -> bool:
        """Whether the file says which events were made from one interaction; if not, no two were."""
        return False

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of recorded decisions."""
        return ()

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        """Read some recorded decisions, bool[stop − start] each."""
        return {}
