"""Formats of files: the contract of a format, which reads columns of ranges of entries; the known formats by
name; and a file with its properties, which is opened where it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import PluginError, SampleError, UnreadableError, nearest
from trigemu.base.kernels import kernel
from trigemu.base.plugins import CORE, find, providers, search_path
from trigemu.samples.events import Collection, Need, ReadEvents, first_falling, first_unordered
from trigemu.samples.locations import opened


@dataclass(frozen=True)
class Schema:
    """The columns of a file."""

    collections: Mapping[str, frozenset[str]]  #: The columns of each collection, by its name
    scalars: frozenset[str]  #: The numbers per event

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers per event that do not count the objects of a branch, as nJet and njet_pt do; menus
        write n_jet."""
        counters = {f"n{name}" for name in self.collections}
        counters |= {f"n{name}_{column}" for name, columns in self.collections.items() for column in columns}
        return frozenset(name for name in self.scalars if name.casefold() not in counters)


@dataclass(frozen=True)
class Beginning:
    """The information with which a format recognises its own files."""

    folder: bool  #: Whether it is a folder of files
    start: bytes  #: Its first 512 bytes, decompressed
    trees: tuple[str, ...]  #: Names of the top-level objects of a ROOT file


@dataclass
class Source(ABC):
    """One file of events, opened when first used.

    A format implements `entries`, `schema` and `read`, and recognises its own files; the other members have
    defaults. The caller adds sample and file to a SampleError, and to any error of the library that reads.
    Raise `UnreadableError` for a damaged file: another attempt may succeed, or it is left out.
    """

    path: str  #: A path or URL
    #: The name of the tree with the events in a ROOT file; empty: the format finds it when it opens the file
    tree: str = field(default="", kw_only=True)

    #: Names that the TTree or RNTuple with the events usually has in a ROOT file; empty for other files.
    trees: ClassVar[tuple[str, ...]] = ()
    #: Whether a pT ≤ 0, |η| > 20 and |φ| > 2π of a reconstructed object are errors.
    physical: ClassVar[bool] = True
    #: Its digest in a catalogue, which was verified.
    sha256: ClassVar[str | None] = None

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Return whether a file with this `beginning` has this format; by default, whether it has one of
        `trees`. Override it for files that are not ROOT files."""
        return any(tree in beginning.trees for tree in cls.trees)

    @classmethod
    def completed(cls, entry: dict[str, Any]) -> dict[str, Any]:
        """Complete an `entry` of a catalogue that names a dataset; by default it is complete."""
        return entry

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
        """Read the columns `needs`, and always weight, id and parent, of the entries from `start` to
        `stop` − 1. Several threads may call this at once."""

    @property
    def types(self) -> Mapping[Need, str]:
        """The types of columns in the file, such as "float", as far as they are known; for users to read."""
        return {}

    @property
    def weight_column(self) -> str:
        """The name that the weight has in the file; empty if all events have the weight 1."""
        return ""

    @property
    def identity(self) -> str:
        """A text that changes when the content does: stored results are looked up by it."""
        return fingerprint(self.path)

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Entries at which reading can begin at no extra cost, from 0 to `entries`, ascending: work is
        divided there. Override it for files in compressed blocks."""
        return (0, self.entries)

    @property
    def sum_of_weights(self) -> float:
        """The sum over all generated events, including those that a skim dropped; by default the file has
        all of them, with weight 1."""
        return float(self.entries)

    @property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        """Whether the entries are consecutive crossings ("line"), those of complete orbits, in which the
        first follows the last ("orbit"), or unrelated ("none")."""
        return "none"

    @property
    def has_parents(self) -> bool:
        """Whether the file identifies events made from the same interaction, in `ReadEvents.parent`."""
        return False

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of the recorded decisions, which `read_stored` reads."""
        return ()

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        """Read the recorded decisions `names` of entries `start` to `stop` − 1, bool[stop − start] each."""
        return {}

    def _stream(self, part: str | None = None, compression: str | None = None) -> AbstractContextManager[Any]:
        """Open the file, or one file of a folder, for reading bytes."""
        stream: AbstractContextManager[Any] = opened(part or self.path, compression)
        return stream


def collection_of(
    columns: Mapping[str, tuple[IntArray, Array]], name: str = "", first: int = 0
) -> Collection:
    """Make a collection from flat columns, with objects in descending pT, if there is a pT.

    Parameters
    ----------
    columns : mapping of str to (int64[n + 1], array)
        Offsets and numbers of each column.
    name, first : str, int
        The name of the collection and the number of the first event, for messages.

    Returns
    -------
    Collection
        The objects. Columns with different numbers of objects are a SampleError.
    """
    (leading, (offsets, _)), *others = columns.items()
    prefix = name and f"{name}."
    for column, (ends, _) in others:
        if not np.array_equal(offsets, ends):
            event = int(np.argmax(np.diff(ends) != np.diff(offsets)))
            one, other = np.diff(offsets)[event], np.diff(ends)[event]
            raise SampleError(
                f"event {first + event}: {prefix}{leading} has {one} objects, {prefix}{column} {other}"
            )
    if first_falling(offsets) >= 0 or any(len(values) < offsets[-1] for _, values in columns.values()):
        raise SampleError(f"the numbers of objects of {prefix}{leading} are damaged")
    offsets = np.asarray(offsets, np.int64)
    values = {column: numbers for column, (_, numbers) in columns.items()}
    if "pt" in values and first_unordered(offsets, values["pt"]) >= 0:
        order = _falling(offsets, np.require(values["pt"], requirements="W"))
        values = {column: numbers[order] for column, numbers in values.items()}
    return Collection(offsets, values)


@kernel
def _falling(offsets: IntArray, pt: Array) -> IntArray:
    """Return the order int64[m] of each event's objects in descending pT, stable for equal pT. Insertion sort
    is fastest: events have few objects, mostly in order."""
    order = np.arange(offsets[-1])
    for event in range(len(offsets) - 1):
        for i in range(offsets[event] + 1, offsets[event + 1]):
            j = i
            while j > offsets[event] and pt[order[j - 1]] < pt[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
    return order


def schema_of(needs: Iterable[Need]) -> Schema:
    """Return the schema of a file with some columns."""
    collections: dict[str, set[str]] = {}
    for collection, column in needs:
        collections.setdefault(collection, set()).add(column)
    scalars = frozenset(collections.pop("", ()))
    return Schema({name: frozenset(columns) for name, columns in collections.items()}, scalars)


def events_of(
    columns: Mapping[Need, tuple[IntArray | None, Array]], event: Mapping[str, Array], start: int, stop: int
) -> ReadEvents:
    """Return the entries from start to stop − 1 with columns that were read. The offsets of a column are None
    if it has one number in each event. event: "weight", "id" and "parent", as far as the file has them."""
    collections: dict[str, dict[str, tuple[IntArray, Array]]] = {}
    for (collection, column), (offsets, values) in columns.items():
        if collection:
            ends = np.arange(len(values) + 1) if offsets is None else offsets
            collections.setdefault(collection, {})[column] = ends, values
    id = event.get("id", np.arange(start, stop))
    return ReadEvents(
        weight=event.get("weight", np.ones(stop - start)),
        id=id,
        parent=event.get("parent", id),
        collections={n: collection_of(of_objects, n, start) for n, of_objects in collections.items()},
        scalars={column: values for (name, column), (_, values) in columns.items() if not name},
    )


def format_named(name: str) -> type[Source]:
    """Return a format; raise SampleError if there is none of this name, PluginError if it cannot be
    loaded."""
    return _format(name, search_path())


@lru_cache
def _format(name: str, folders: tuple[Path, ...]) -> type[Source]:
    plugin = CORE
    if name not in CORE.declared().formats:
        if name not in (known := providers("formats", folders)):
            raise SampleError(f"unknown format {name!r}{nearest(name, known)}")
        plugin = find(known[name].name, folders)
    source = plugin.part("formats", name)
    if not isinstance(source, type) or not issubclass(source, Source):
        raise PluginError(f"{plugin.where}: its format {name!r} is not a Source")
    return source


def each_format() -> Iterator[tuple[str, type[Source]]]:
    """Yield the formats by name, in the order in which they are tried on a file: those of the core first.
    Each is loaded when the iteration reaches it."""
    core = CORE.declared().formats
    yield from ((name, format_named(name)) for name in core)
    others = (name for name in providers("formats", search_path()) if name not in core)
    yield from ((name, format_named(name)) for name in others)


@dataclass(frozen=True)
class File:
    """A file of events with its properties, which are explained in `Source`. It is opened again where it is
    read."""

    path: str
    format: str
    tree: str
    sha256: str | None  # In the catalogue; it was verified
    identity: str
    tree_name: str
    entries: int
    boundaries: tuple[int, ...]
    schema: Schema
    neighbours: Literal["none", "line", "orbit"]
    has_parents: bool
    stored: tuple[str, ...]
    sum_of_weights: float | None  # None: it was not requested, or there is none
    no_sum: str  # Why a signal has no sum of weights

    @property
    def sent(self) -> File:
        """The file with the properties that are needed to read it."""
        return replace(self, boundaries=(), schema=Schema({}, frozenset()), stored=())

    @property
    def opened(self) -> Source:
        """The source that reads it. Raises UnreadableError if it is another file now."""
        source = opened_source(self.format, self.path, self.identity, self.tree)
        if source.entries != self.entries:
            before = f"had {self.entries} when its catalogue was opened"
            raise UnreadableError(f"has {source.entries} events, and {before}")
        return source

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        return self.opened.read_stored(start, stop, names)


#: Files that a process keeps open, and opens without workers.
OPEN_FILES = 32


@lru_cache(maxsize=OPEN_FILES)
def opened_source(format: str, path: str, identity: str, tree: str) -> Source:
    """Return a file, which is opened when it is first used, and again when its identity changed."""
    return format_named(format)(path, tree=tree)
