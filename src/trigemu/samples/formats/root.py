"""Base class of the formats in ROOT files."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import awkward as ak
import numpy as np
import uproot

from trigemu.samples.errors import UnreadableError
from trigemu.samples.events import Need
from trigemu.samples.formats.decoded import WINDOW_BYTES, Decoded, Part, pieces
from trigemu.samples.formats.ragged import collection_of, flat, schema_of
from trigemu.samples.formats.source import ReadEvents, Schema, Source
from trigemu.samples.formats.trees import tree_with_events
from trigemu.samples.formats.uproot_file import Branches, field_until, open_root
from trigemu.samples.locations import located
from trigemu.support import CHUNK_EVENTS, Array, IntArray

#: The type of numbers in the name of a type, such as float in std::vector<float>.
_NUMBER = re.compile(r"\b(float|double|bool|char|u?int(\d+)?)(?=\b|_t)")


@dataclass
class RootFile(Source):
    """Base class of formats in ROOT files: one file, opened when first used.

    Its events are in the tree `tree`, else in the first of `trees`, else, if the format reads `any_tree`, in
    the only tree with numbers.

    A format defines `_branches`, `_own`, `trees`, and further members of `Source`. Override `_single` and
    `_converted` if units or types differ from those of `Events`.
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
    def _found(self) -> tuple[str, Any]:
        return tree_with_events(self._file, self.tree, self.trees, self.any_tree)

    @cached_property
    def _events(self) -> Any:
        return self._found[1]

    @property
    def tree_name(self) -> str:
        return self._found[0]

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
        of = {need: _NUMBER.search(str(self._events[name].typename)) for need, name in self._branches.items()}
        return {need: found[0] for need, found in of.items() if found}

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
        """Read the needed columns of some entries, and always weight, id and parent."""
        columns = set(needs)
        columns |= {(name, "pt") for name, _ in columns if name}
        names = {need: self._branches[need] for need in columns if need in self._branches}
        arrays = self._arrays([*names.values(), *self._own.values()], start, stop)
        collections: dict[str, dict[str, tuple[IntArray, Array]]] = {}
        scalars: dict[str, Array] = {}
        for (collection, column), name in names.items():
            if collection:
                offsets, values = flat(arrays[name])
                values = _in_own_memory(self._converted(column, values))
                collections.setdefault(collection, {})[column] = offsets, values
            else:
                values = self._converted(column, self._single(name, arrays[name]))
                scalars[column] = _in_own_memory(values)
        own = {what: _in_own_memory(self._single(name, arrays[name])) for what, name in self._own.items()}
        id = own.get("id", np.arange(start, stop))
        return ReadEvents(
            weight=own.get("weight", np.ones(stop - start)),
            id=id,
            parent=own.get("parent", id),
            collections={name: collection_of(columns) for name, columns in collections.items()},
            scalars=scalars,
        )

    def _arrays(self, names: Iterable[str], start: int, stop: int) -> dict[str, ak.Array]:
        all_names = tuple(sorted(set(names)))
        divided = {
            name: pieces(self._edges(name), start, stop, lambda: self._window(all_names))
            for name in all_names
        }
        ranges: dict[tuple[int, int], list[str]] = {}
        for name, of_name in divided.items():
            for first, last, cached in of_name:
                if not cached:
                    ranges.setdefault((first, last), []).append(name)
        arrays = {
            Part(name, first, last): array
            for (first, last), of_range in ranges.items()
            for name, array in self._decode(of_range, first, last).items()
        }
        cached_parts = [
            Part(name, *piece[:2]) for name, of_name in divided.items() for piece in of_name if piece.cached
        ]
        for part, array in self._decoded.read(cached_parts, start, stop, self._decode_part).items():
            arrays[part] = array[max(start - part.first, 0) : stop - part.first]
        return {
            name: _joined([arrays[Part(name, *piece[:2])] for piece in of_name])
            for name, of_name in divided.items()
        }

    def _decode(self, names: list[str], start: int, stop: int) -> dict[str, ak.Array]:
        window = {"entry_start": start, "entry_stop": stop, "library": "ak"}
        if self._is_tree:
            arrays: dict[str, ak.Array] = self._events.arrays(names, how=dict, language=Branches(), **window)
            return arrays
        return {name: field_until(self._events[name], stop).array(**window) for name in names}

    def _decode_part(self, part: Part) -> ak.Array:
        """Decode a part for the cache, without the data around it."""
        (array,) = self._decode([str(part.column)], part.first, part.last).values()
        return ak.to_packed(array)

    @cached_property
    def _decoded(self) -> Decoded[ak.Array]:
        return Decoded()

    def _edges(self, name: str) -> Sequence[int]:
        """Return the entries at which the baskets of a branch, or clusters, begin and end."""
        if not self._is_tree:
            return self.boundaries
        if name not in self._baskets:
            branch = self._events.get(name)  # None: reading will raise an error
            self._baskets[name] = (0, self.entries) if branch is None else branch.entry_offsets
        return self._baskets[name]

    @cached_property
    def _baskets(self) -> dict[str, Sequence[int]]:
        return {}

    def _window(self, names: tuple[str, ...]) -> int:
        """Return the number of entries of some branches that may be cached."""
        if self.entries <= CHUNK_EVENTS:  # with thousands of fields, uproot's estimate takes seconds
            return CHUNK_EVENTS
        if names not in self._windows:
            self._windows[names] = max(
                CHUNK_EVENTS, self._events.num_entries_for(WINDOW_BYTES, filter_name=list(names))
            )
        return self._windows[names]

    @cached_property
    def _windows(self) -> dict[tuple[str, ...], int]:
        return {}


def _joined(arrays: list[ak.Array]) -> ak.Array:
    return arrays[0] if len(arrays) == 1 else ak.concatenate(arrays)


def _in_own_memory(values: Array) -> Array:
    """Return a copy of values that would keep a much larger basket in memory; other values unchanged."""
    base = values.base
    shared = isinstance(base, np.ndarray) and base.nbytes > 2 * values.nbytes
    return values.copy() if shared else values
