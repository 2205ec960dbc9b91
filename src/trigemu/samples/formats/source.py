"""The contract of a file format: a class with a path that reads columns of ranges of entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from trigemu.samples.errors import UnreadableError
from trigemu.samples.events import Collection, Need
from trigemu.samples.locations import opened, parts
from trigemu.samples.sealed import opened_sealed
from trigemu.support import Array, BoolArray, fingerprint


@dataclass(frozen=True)
class Schema:
    """The columns of a file.

    Attributes
    ----------
    collections : mapping of str to frozenset of str
        The columns of each collection, by its name.
    scalars : frozenset of str
        The numbers per event.
    """

    collections: Mapping[str, frozenset[str]]
    scalars: frozenset[str]


@dataclass(frozen=True)
class ReadEvents:
    """Columns as read from a file, as in `Events`, but with weights in the generator's unit.

    Attributes
    ----------
    weight : array[n]
        Generator weights; 1 where the file has none.
    id : array[n]
        Event numbers, integers.
    parent : array[n]
        Numbers of the generated interactions; those of the events where the file has none.
    collections : mapping of str to Collection
        Objects, by singular name; pT in descending order within an event.
    scalars : mapping of str to array[n]
        Numbers per event.
    """

    weight: Array
    id: Array
    parent: Array
    collections: Mapping[str, Collection]
    scalars: Mapping[str, Array]


@dataclass(frozen=True)
class Beginning:
    """The information by which a format may recognise its own files.

    Attributes
    ----------
    folder : bool
        Whether it is a folder of files.
    start : bytes
        Its first 512 bytes, decompressed.
    trees : tuple of str
        Names of the top-level objects of a ROOT file.
    """

    folder: bool
    start: bytes
    trees: tuple[str, ...]


@dataclass
class Source(ABC):
    """One file of events, opened when first used, so that it can be sent to workers.

    A format implements `entries`, `schema` and `read`, and recognises its own files; the rest has defaults.
    The caller adds sample and file to a SampleError, and to any error of the library that reads. Raise
    `UnreadableError` for a file that is damaged: another attempt may succeed, or the file be left out.

    Attributes
    ----------
    path : str
        A path or URL.
    seal : str
        Its seal (see `samples/sealed.py`), with which all that is read is compared; empty: nothing is.
    """

    path: str
    seal: str = ""

    #: Names that the TTree or RNTuple with the events may have in a ROOT file.
    trees: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to workers; they open the file themselves."""
        return {"path": self.path, "seal": self.seal}

    def _stream(self, part: str | None = None, compression: str | None = None) -> AbstractContextManager[Any]:
        """Open the file, or one of those of a folder, for reading its bytes."""
        path, seals = part or self.path, self.seal.split(",")
        if not self.seal:
            plain: AbstractContextManager[Any] = opened(path, compression)
            return plain
        if len(every := parts(self.path)) != len(seals):
            raise UnreadableError(f"has {len(every)} files *.parquet, but {len(seals)} were sealed")
        return opened_sealed(path, seals[every.index(part) if part else 0], compression)

    #: Whether a pT ≤ 0, |η| > 20 and |φ| > 2π of a reconstructed object are errors.
    physical: ClassVar[bool] = True

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Return whether a file with this `beginning` is in this format; by default, whether it has one of
        `trees`.

        Override it for files that are not ROOT files.
        """
        return any(tree in beginning.trees for tree in cls.trees)

    @property
    @abstractmethod
    def entries(self) -> int:
        """The number of events. It opens the file."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns that can be read. A menu that needs others is refused before any event is read."""

    @abstractmethod
    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read a range of entries. Several threads may call this at once.

        Parameters
        ----------
        start, stop : int
            Range of entries.
        needs : iterable of Need
            Columns to read.

        Returns
        -------
        ReadEvents
            The needed columns, and always weight, id and parent.
        """

    @property
    def identity(self) -> str:
        """A text that changes when the content does, as far as that is known; by default a digest of the
        path.

        Override it where the file tells more, such as its size: results are kept and found again by this
        text.
        """
        return fingerprint(self.path)

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Entries at which reading can begin at no extra cost, from 0 to `entries`, ascending.

        Override it for files in compressed blocks: work is divided there.
        """
        return (0, self.entries)

    @property
    def sum_of_weights(self) -> float:
        """The sum over all generated events, including those that a skim dropped.

        Override it if there are weights, or if the file knows of events that are not in it. By default every
        event is in the file and has weight 1.
        """
        return float(self.entries)

    @property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        """Whether the entries are consecutive crossings ("line"), consecutive crossings of whole orbits, the
        last of which is followed by the first ("orbit"), or unrelated ("none").

        Override it for recorded crossings, so that triggers can look at the ones before and after.
        """
        return "none"

    @property
    def has_parents(self) -> bool:
        """Whether the file identifies events made from the same interaction; by default no two events were.

        Override it together with `ReadEvents.parent`.
        """
        return False

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of the recorded decisions; by default there are none.

        Override it together with `read_stored`, so that menus can use them and be compared with them.
        """
        return ()

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        """Read the recorded decisions `names` of entries `start` to `stop`, bool[stop − start] each."""
        return {}
