"""Formats in ROOT files: files are opened without running code from them, the tree with the events is found,
and a base class reads its branches."""

from __future__ import annotations

import ctypes
import re
import sys
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import Any, ClassVar

import awkward as ak
import numpy as np
import uproot
from uproot.source.chunk import Chunk
from uproot.source.futures import TrivialFuture

from trigemu.base.arrays import Array, IntArray
from trigemu.base.errors import SampleError, UnreadableError, excerpt, few_of
from trigemu.samples.events import Need, ReadEvents
from trigemu.samples.formats.source import Schema, Source, events_of, flat, schema_of
from trigemu.samples.locations import located, regular, timeouts

#: A name or type in C++: without quotes, call brackets, backslashes and line ends, it ends no text in code.
_PLAIN = re.compile(r"[\w :<>,*&\[\].~-]*", re.ASCII)
_NAMES = ("fName", "fTypeName", "fCountName", "fCountClass", "fClassName")


class _File(uproot.ReadOnlyFile):  # type: ignore[misc]
    """A file whose descriptions of classes are compiled only if all names in them are plain."""

    @property
    def streamers(self) -> Any:
        checked = self._streamers is not None
        streamers = super().streamers
        described = [] if checked else [s for versions in streamers.values() for s in versions.values()]
        for part in (part for streamer in described for part in (streamer, *streamer.elements)):
            for name in (part.member(key, none_if_missing=True) for key in _NAMES):
                if isinstance(name, str) and not _PLAIN.fullmatch(name):
                    wrong = f"describes a class with the name {name[:100]!r}"
                    raise SampleError(f"{wrong}, which no class or member in C++ has")
        return streamers


class _Classes(dict[str, Any]):
    """The classes of one file: those that uproot knows, with versions that the file may add for itself."""

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self and (known := uproot.classes.get(name)):
            versions = getattr(known, "known_versions", None)
            if versions is not None:
                known = type(known)(known.__name__, (known,), {"known_versions": dict(versions)})
            self[name] = known
        return super().get(name, default)


class _Local(uproot.source.chunk.Source):  # type: ignore[misc]
    """The bytes of a file on this machine. uproot would request them from another thread, through an event
    loop, which takes longer than reading them."""

    def __init__(self, path: str, **_: Any) -> None:
        super().__init__()
        self._file_path, self._num_bytes = path, Path(path).stat().st_size

    def __enter__(self) -> _Local:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no file stays open between reads."""

    closed = False

    def chunk(self, start: int, stop: int) -> Chunk:
        with Path(self._file_path).open("rb") as file:
            file.seek(start)
            return Chunk(self, start, stop, TrivialFuture(file.read(stop - start)))

    def chunks(self, ranges: Iterable[tuple[int, int]], notifications: Queue[Chunk]) -> list[Chunk]:
        chunks = [self.chunk(*bounds) for bounds in ranges]
        for chunk in chunks:
            notifications.put(chunk)
        return chunks


#: Settings of malloc in `keep_memory`, by their numbers in malloc.h (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD).
_KEPT = {-3: 2**25, -1: 2**28}


@cache
def keep_memory() -> None:
    """Let this process use freed memory again. By default glibc returns the arrays of each basket to the
    system, which clears pages for the next ones: this takes a third of the time of reading, and only one
    thread of a process can do it at a time."""
    if sys.platform == "linux" and (set_option := getattr(ctypes.CDLL(None), "mallopt", None)):
        for option, size in _KEPT.items():
            set_option(option, size)


def open_root(path: str) -> Any:
    """Return the top directory of a ROOT file."""
    keep_memory()
    where = located(path)
    options = timeouts(where)
    if isinstance(where, Path):
        regular(where)
        options = {"handler": _Local}
    # Chunks are read once: no cache of arrays.
    return _File(str(where), array_cache=None, custom_classes=_Classes(), **options).root_directory


def field_until(field: Any, entries: int) -> Any:
    """Return a field of an RNTuple without the clusters after its first `entries` entries: uproot would also
    decode the cluster that begins at the end of a range."""
    ntuple, result = copy(field.ntuple), copy(field)
    clusters = ntuple.cluster_summaries
    ntuple._cluster_summaries = clusters[: bisect_left(clusters, entries, key=lambda c: c.num_first_entry)]
    result._ntuple = ntuple
    return result


#: Entries of a file that are searched for trees: a damaged folder may contain itself.
MOST_KEYS = 1000
_TREES = ("TTree", "TNtuple", "TNtupleD", "ROOT::RNTuple", "ROOT::Experimental::RNTuple")
#: Leaves of a TTree that are numbers.
_LEAVES = {f"TLeaf{letter}" for letter in "BSILGFDO"}
#: Types of the fields of an RNTuple.
_NUMBERS = {
    *("bool", "char", "float", "double"),
    *(f"std::{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
_LIST = re.compile(r"(std::vector|ROOT::VecOps::RVec|ROOT::RVec)<(?P<of>.+)>")


def tree_with_events(file: Any, name: str, usual: Sequence[str], any_tree: bool) -> tuple[str, Any]:
    """Return the tree with the events of a ROOT file, and its name."""
    for candidate in (name,) if name else usual:
        if _is_tree(tree := file.get(candidate)):
            return candidate, tree
    names = tree_names(file)
    if name:
        near = sorted(names, key=lambda other: -SequenceMatcher(None, name, excerpt(other)).ratio())
        raise SampleError(f"has no tree {excerpt(name)!r}; its trees, nearest first: {_listed(near)}")
    opened = ((other, file.get(other)) for other in names if any_tree)
    usable = {n: tree for n, tree in opened if _is_tree(tree) and tree.num_entries and shapes(tree)}
    if len(usable) == 1:
        return usable.popitem()
    if not usable:
        expected = " or ".join(map(repr, usual)) + ", nor another one with events and numbers" * any_tree
        inside = sorted(set(names or file.keys(recursive=False, cycle=False)))
        raise SampleError(f"no tree {expected} (it has: {_listed(inside)})")
    described = [
        f"{n} ({tree.num_entries} events, {len(shapes(tree))} columns)" for n, tree in usable.items()
    ]
    advice = 'choose one with --tree NAME, or with tree = "NAME" in a catalogue'
    raise SampleError(f"has several trees; {advice}: {_listed(described)}")


def tree_names(file: Any) -> list[str]:
    """Return the names of all trees of a ROOT file, with the folders that they are in: `ntuple/events`."""
    contents = islice(file.iterclassnames(recursive=True, cycle=False), MOST_KEYS)
    return list(dict.fromkeys(name for name, kind in contents if kind in _TREES))


def shapes(tree: Any) -> dict[str, bool]:
    """Return the branches of a TTree, or fields of an RNTuple, with numbers, and whether they are lists."""
    is_list = {}
    for field in () if isinstance(tree, uproot.TTree) else tree.fields:
        kind = str(field.typename)
        listed = _LIST.fullmatch(kind)
        if (listed["of"] if listed else kind) in _NUMBERS or kind.startswith("ROOT::RNTupleCardinality<"):
            is_list[field.name] = listed is not None
    for name, branch in tree.items() if isinstance(tree, uproot.TTree) else ():
        leaves = branch.member("fLeaves")
        if branch.classname == "TBranch" and not branch.branches and len(leaves) == 1:
            # Thousands of branches: uproot's interpretations take 20 times as long.
            if leaves[0].classname in _LEAVES and leaves[0].member("fLen") == 1:
                is_list[name] = leaves[0].member("fLeafCount") is not None
            continue
        interpretation = branch.interpretation
        content = interpretation.content if isinstance(interpretation, uproot.AsJagged) else interpretation
        if type(content) is uproot.AsDtype and not content.inner_shape:  # not an array or an object
            is_list[name] = content is not interpretation
    return is_list


def _is_tree(content: Any) -> bool:
    return getattr(content, "classname", None) in _TREES


def _listed(names: Sequence[str]) -> str:
    return few_of([*map(excerpt, names)], 20) or "nothing"


@dataclass
class RootFile(Source):
    """Base class of formats in ROOT files: one file, opened when first used.

    Its events are in the tree `tree`, else in the first of `trees`, else, if the format reads `any_tree`, in
    the only tree with numbers.

    A format defines `_branches`, `_own`, `trees`, and further members of `Source`; `_single` and `_converted`
    if units or types differ from those of `Events`.
    """

    #: Whether a tree of another name than those in `trees` is read if it is the only one with numbers.
    any_tree: ClassVar[bool] = False

    @cached_property
    @abstractmethod
    def _branches(self) -> Mapping[Need, str]:
        """The branch of each column of the file."""

    @property
    @abstractmethod
    def _own(self) -> Mapping[str, str]:
        """The branches of "weight", "id" and "parent", if present."""

    def _single(self, name: str, array: ak.Array) -> Array:
        """Convert a branch with one number per event."""
        values: Array = ak.to_numpy(array)
        return values

    def _converted(self, column: str, values: Array) -> Array:
        """Convert a column to the units and types of `Events`."""
        return values

    @cached_property
    def _file(self) -> Any:
        where = located(self.path)
        file = open_root(self.path)
        size = where.stat().st_size if isinstance(where, Path) else file.file.fEND
        if size < file.file.fEND:
            raise UnreadableError(f"has {size} of its {file.file.fEND} bytes: it was cut short")
        return file

    @cached_property
    def _named_tree(self) -> tuple[str, Any]:
        return tree_with_events(self._file, self.tree, self.trees, self.any_tree)

    @cached_property
    def _events(self) -> Any:
        return self._named_tree[1]

    @property
    def tree_name(self) -> str:
        return self._named_tree[0]

    @cached_property
    def _is_tree(self) -> bool:
        """Whether the events are in a TTree, not an RNTuple."""
        return isinstance(self._events, uproot.TTree)

    @cached_property
    def entries(self) -> int:
        return int(self._events.num_entries)

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        """Entries at which all branches begin a new basket, or a cluster begins: ranges between them never
        decompress data twice."""
        if self._is_tree:
            return tuple(int(offset) for offset in self._events.common_entry_offsets())
        return (*(int(c.num_first_entry) for c in self._events.cluster_summaries), self.entries)

    @property
    def types(self) -> Mapping[Need, str]:
        number = re.compile(r"\b(float|double|bool|char|u?int(\d+)?)(?=\b|_t)")  # in std::vector<float>, …
        kinds = {need: str(self._events[name].typename) for need, name in self._branches.items()}
        return {need: found[0] for need, kind in kinds.items() if (found := number.search(kind))}

    @property
    def weight_column(self) -> str:
        return self._own.get("weight", "")

    @property
    def has_parents(self) -> bool:
        return "parent" in self._own

    @cached_property
    def schema(self) -> Schema:
        return schema_of(self._branches)

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        wanted = set(needs)
        wanted |= {(name, "pt") for name, _ in wanted if name}
        columns: dict[Need, tuple[IntArray | None, Array]] = {}
        for need in wanted & self._branches.keys():
            array = self._array(self._branches[need], start, stop)
            offsets, values = flat(array) if need[0] else (None, self._single(self._branches[need], array))
            columns[need] = offsets, _in_own_memory(self._converted(need[1], values))
        event = {
            what: _in_own_memory(self._single(name, self._array(name, start, stop)))
            for what, name in self._own.items()
        }
        return events_of(columns, event, start, stop)

    def _array(self, name: str, start: int, stop: int) -> ak.Array:
        """Read a branch or field."""
        field = self._events.get(name)
        if field is None:
            raise SampleError(f"has no branch {excerpt(name)!r}")
        field = field if self._is_tree else field_until(field, stop)
        return field.array(entry_start=start, entry_stop=stop, library="ak")


def _in_own_memory(values: Array) -> Array:
    """Return a copy of values that would keep a much larger basket in memory; other values unchanged."""
    base = values.base
    shared = isinstance(base, np.ndarray) and base.nbytes > 2 * values.nbytes
    return values.copy() if shared else values
