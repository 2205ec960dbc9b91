"""The contract of a file format: a class with a path that reads columns of ranges of entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from trigemu.base.arrays import BoolArray
from trigemu.base.checkpoint import fingerprint
from trigemu.samples.events import Need, ReadEvents
from trigemu.samples.locations import opened


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

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers per event that do not count the objects of a branch, as nJet and njet_pt do; menus
        write n_jet."""
        counters = {f"n{name}" for name in self.collections}
        counters |= {f"n{name}_{column}" for name, columns in self.collections.items() for column in columns}
        return frozenset(name for name in self.scalars if name.casefold() not in counters)


@dataclass(frozen=True)
class Beginning:
    """The information with which a format recognises its own files.

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

    A format implements `entries`, `schema` and `read`, and recognises its own files; the other members have
    defaults. The caller adds sample and file to a SampleError, and to any error of the library that reads.
    Raise `UnreadableError` for a damaged file: another attempt may succeed, or the file may be left out.

    Attributes
    ----------
    path : str
        A path or URL.
    tree : str
        The name of the tree with the events in a ROOT file; empty: the format finds it.
    """

    path: str
    tree: str = field(default="", kw_only=True)

    #: Names that the TTree or RNTuple with the events usually has in a ROOT file; empty for other files.
    trees: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that is sent to workers, which open the file themselves."""
        return {"path": self.path, "tree": self.tree}

    def _stream(self, part: str | None = None, compression: str | None = None) -> AbstractContextManager[Any]:
        """Open the file, or one file of a folder, for reading bytes."""
        stream: AbstractContextManager[Any] = opened(part or self.path, compression)
        return stream

    #: Its digest in a catalogue, which was verified.
    sha256: ClassVar[str | None] = None

    #: Whether a pT ≤ 0, |η| > 20 and |φ| > 2π of a reconstructed object are errors.
    physical: ClassVar[bool] = True

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Return whether a file with this `beginning` has this format; by default, whether it has one of
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
        """The columns that can be read. A menu that needs others is an error before any event is read."""

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
    def tree_name(self) -> str:
        """The name of the tree with the events in a ROOT file; empty for other files."""
        return self.tree

    @property
    def types(self) -> Mapping[Need, str]:
        """The types of columns in the file, such as "float", as far as they are known; for users to read."""
        return {}

    @property
    def weight_column(self) -> str:
        """The name that the weight has in the file; empty if all events have the weight 1."""
        return ""

    def columns(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Return a range of entries as `read` does, with a column of the objects in place of a number of
        objects, such as n_jet, that is no column of the file.

        Parameters
        ----------
        start, stop, needs
            As in `read`.

        Returns
        -------
        ReadEvents
        """
        schema = self.schema
        counts = {
            ("", f"n_{name}"): (name, "pt" if "pt" in columns else min(columns, default="pt"))
            for name, columns in schema.collections.items()
            if f"n_{name}" not in schema.scalars
        }
        return self.read(start, stop, frozenset(counts.get(need, need) for need in needs))

    @property
    def identity(self) -> str:
        """A text that changes when the content does, as far as possible; by default a digest of the path.

        Override it if more is known of the file, such as its size: stored results are looked up by this text.
        """
        return fingerprint(self.path)

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Entries at which reading can begin at no extra cost, from 0 to `entries`, ascending.

        Override it for files in compressed blocks: work is divided at these entries.
        """
        return (0, self.entries)

    @property
    def sum_of_weights(self) -> float:
        """The sum over all generated events, including those that a skim dropped.

        Override it if there are weights, or if the file records the number of dropped events. By default the
        file contains all events, with weight 1.
        """
        return float(self.entries)

    @property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        """Whether the entries are consecutive crossings ("line"), consecutive crossings of complete orbits,
        in which the first follows the last ("orbit"), or unrelated ("none").

        Override it for recorded crossings, so that triggers can read the crossings before and after.
        """
        return "none"

    @property
    def has_parents(self) -> bool:
        """Whether the file identifies events made from the same interaction; by default no events share one.

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
