"""NanoAOD-like ROOT files (TTree or RNTuple Events), the native format, and CMS NanoAOD itself.

Events   nJet, Jet_pt, Jet_eta, …   → collection `jet` with pt, eta, …   (any nX with X_…)
         MET_pt, MET_phi             → met, met_phi; without it PuppiMET_…, then PFMET_…
         nInteraction                → n_interaction
         genWeight                   → the weight; 1 if there is none (recorded data)
         event, parent               → id, parent (parent: the event itself if there is none)
         HLT_…, L1_…                 → stored decisions, in recorded data those after prescales
         any number per event        → a scalar of that name
Runs     genEventSumw                → the sum over all generated events (genEventSumw_ in some years)

A tree of another name is used if it is the only one with numbers; of several, --tree NAME chooses one, or
tree = "NAME" in a catalogue: "ntuple/events" is the tree `events` in the folder `ntuple` of the file.

The Level-1 objects (L1Mu, L1EG, L1Tau, L1Jet → l1mu, …) include those of neighbouring crossings:
bx = { min = 0, max = 0 } selects those of the event itself.
"""

# Files are opened without running code from them. Formats in ROOT files are classes derived from `RootFile`,
# which finds the tree with the events and reads its branches.

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

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, UnreadableError, excerpt, few_of
from trigemu.samples.events import Need, ReadEvents
from trigemu.samples.locations import located, regular, timeouts
from trigemu.samples.source import Schema, Source, events_of, schema_of

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


@cache
def keep_memory() -> None:
    """Let this process use freed memory again. By default glibc returns the arrays of each basket to the
    system, which clears pages for the next ones: this takes a third of the time of reading, and only one
    thread of a process can do it at a time."""
    if sys.platform == "linux" and (set_option := getattr(ctypes.CDLL(None), "mallopt", None)):
        set_option(-3, 2**25)  # M_MMAP_THRESHOLD
        set_option(-1, 2**28)  # M_TRIM_THRESHOLD


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
        if getattr(tree := file.get(candidate), "classname", None) in _TREES:
            return candidate, tree
    names = tree_names(file)
    if name:
        near = sorted(names, key=lambda other: -SequenceMatcher(None, name, excerpt(other)).ratio())
        raise SampleError(f"has no tree {excerpt(name)!r}; its trees, nearest first: {_listed(near)}")
    opened = ((other, file.get(other)) for other in names if any_tree)
    usable = {n: tree for n, tree in opened if tree.num_entries and shapes(tree)}
    if len(usable) == 1:
        return usable.popitem()
    if not usable:
        expected = " or ".join(map(repr, usual)) + ", nor another one with events and numbers" * any_tree
        inside = sorted(set(names or file.keys(recursive=False, cycle=False)))
        raise SampleError(f"no tree {expected} (it has: {_listed(inside)})")
    described = [f"{n} ({t.num_entries} events, {len(shapes(t))} columns)" for n, t in usable.items()]
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

    @property
    @abstractmethod
    def _branches(self) -> Mapping[Need, str]:
        """The branch, or field, of each column that can be read."""

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
        where, file = located(self.path), open_root(self.path)
        size = where.stat().st_size if isinstance(where, Path) else file.file.fEND
        if size < file.file.fEND:
            raise UnreadableError(f"has {size} of its {file.file.fEND} bytes: it was cut short")
        return file

    @cached_property
    def _events(self) -> Any:
        self.tree, tree = tree_with_events(self._file, self.tree, self.trees, self.any_tree)
        return tree

    @property
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
            return tuple(map(int, self._events.common_entry_offsets()))
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
        names = [(need, self._branches[need], False) for need in wanted & self._branches.keys()]
        columns: dict[Need, tuple[IntArray | None, Array]] = {}
        event: dict[str, Array] = {}
        for need, name, is_own in [*names, *((("", what), name, True) for what, name in self._own.items())]:
            array = self._array(name, start, stop)
            offsets, values = flat(array) if need[0] else (None, self._single(name, array))
            values = values if is_own else self._converted(need[1], values)
            if isinstance(values.base, np.ndarray) and values.base.nbytes > 2 * values.nbytes:
                values = values.copy()  # it would keep a much larger basket in memory
            if is_own:
                event[need[1]] = values
            else:
                columns[need] = offsets, values
        return events_of(columns, event, start, stop)

    def _array(self, name: str, start: int, stop: int) -> ak.Array:
        """Read a branch or field."""
        field = self._events.get(name)
        if field is None:
            raise SampleError(f"has no branch {excerpt(name)!r}")
        if not self._is_tree:
            # Without the clusters after the range: uproot would also decode the one that begins at its end.
            ntuple, field = copy(field.ntuple), copy(field)
            clusters = ntuple.cluster_summaries
            last = bisect_left(clusters, stop, key=lambda cluster: cluster.num_first_entry)
            ntuple._cluster_summaries, field._ntuple = clusters[:last], ntuple
        return field.array(entry_start=start, entry_stop=stop, library="ak")


def flat(array: ak.Array) -> tuple[IntArray, Array]:
    """Convert lists to a flat array. Returns offsets int64[n + 1]."""
    layout = array.layout.to_ListOffsetArray64(True)
    offsets = np.asarray(layout.offsets)
    return offsets, ak.to_numpy(layout.content)[: offsets[-1]]


#: Scalar → the branches it may be in; the first that exists is used.
SCALARS = {
    "met": ("MET_pt", "PuppiMET_pt", "PFMET_pt"),
    "met_phi": ("MET_phi", "PuppiMET_phi", "PFMET_phi"),
    "n_interaction": ("nInteraction",),
}
EVENT = {"weight": "genWeight", "id": "event", "parent": "parent"}
SUMS = ("genEventSumw", "genEventSumw_")
#: Prefixes of branches with recorded decisions.
DECISIONS = ("HLT_", "L1_")


@dataclass
class NanoAOD(RootFile):
    """A NanoAOD file of CMS, or another ROOT file with collections and plain columns."""

    trees: ClassVar[tuple[str, ...]] = ("Events",)
    any_tree: ClassVar[bool] = True

    @cached_property
    def sum_of_weights(self) -> float:
        if "weight" not in self._own:
            return float(self.entries)
        runs = self._file.get("Runs")
        sums = [name for name in SUMS if runs is not None and name in runs]
        if not sums:
            raise SampleError(
                "Runs/genEventSumw, the sum of all generated weights, is missing: "
                "the file may be a skim and cannot be normalised; give sum_of_weights in its catalogue entry"
            )
        return float(ak.to_numpy(runs[sums[0]].array()).sum())

    @cached_property
    def _own(self) -> dict[str, str]:
        return {what: name for what, name in EVENT.items() if name in self._events}

    @cached_property
    def _branches(self) -> dict[Need, str]:
        branches: dict[Need, str] = {}
        for name, has_lists in shapes(self._events).items():
            object_, _, column = name.partition("_")
            if not has_lists:
                branches["", name] = name
            elif object_ and column:
                branches[object_.lower(), column] = name
        for scalar, names in SCALARS.items():
            if present := [name for name in names if ("", name) in branches]:
                branches["", scalar] = present[0]
        return branches

    @cached_property
    def stored(self) -> tuple[str, ...]:
        return tuple(sorted(name for name in self.schema.scalars if name.startswith(DECISIONS)))

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        return {name: ak.to_numpy(self._array(name, start, stop)) != 0 for name in names}
