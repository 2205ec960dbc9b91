"""NanoAOD-like ROOT files, the native format.

Events   nJet, Jet_pt, Jet_eta, …   → collection `jet` with pt, eta, …   (any nX with X_…)
         MET_pt, MET_phi             → met, met_phi
         nInteraction                → n_interaction
         genWeight                   → the weight; 1 where there is none (recorded data)
         event, parent               → id, parent (parent: the event itself where there is none)
         any other number            → a scalar of that name
Runs     genEventSumw, genEventCount → sums over all generated events
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

from trigemu.errors import SampleError
from trigemu.events import Array, Collection, IntArray, first_unordered
from trigemu.observables import Need
from trigemu.samples.source import Columns, Schema

SCALARS = {"MET_pt": "met", "MET_phi": "met_phi", "nInteraction": "n_interaction"}
WEIGHT, ID, PARENT = "genWeight", "event", "parent"


@dataclass
class NanoAOD:
    """One file, opened when first used; what travels to a worker is its path."""

    path: str
    _branches: dict[Need, str] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_branches": self._branches}

    @cached_property
    def _file(self) -> Any:
        file = uproot.open(self.path, array_cache=None)  # chunks are read once
        size = Path(self.path).stat().st_size if Path(self.path).is_file() else file.file.fEND
        if size < file.file.fEND:
            raise SampleError(f"has {size} of its {file.file.fEND} bytes: it was cut short")
        return file

    @cached_property
    def _events(self) -> Any:
        tree = self._file.get("Events")
        if tree is None:
            raise SampleError(f"no tree 'Events' (there is: {', '.join(self._file.keys()) or 'nothing'})")
        return tree

    @cached_property
    def entries(self) -> int:
        return int(self._events.num_entries)

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        """Where all branches begin a new basket: reading between them decompresses nothing twice."""
        return tuple(int(offset) for offset in self._events.common_entry_offsets())

    @cached_property
    def sum_of_weights(self) -> float:
        if WEIGHT not in self._events:
            return float(self.entries)
        runs = self._file.get("Runs")
        if runs is None or "genEventSumw" not in runs:
            raise SampleError(
                "Runs/genEventSumw, the sum of all generated weights, is missing: what is left in "
                "Events may be a skim and cannot be normalised"
            )
        return float(runs["genEventSumw"].array(library="np").sum())

    @cached_property
    def schema(self) -> Schema:
        collections: dict[str, set[str]] = {}
        scalars: set[str] = set()
        for name, branch in self._events.items():
            object_, _, column = name.partition("_")
            interpretation = branch.interpretation
            if isinstance(interpretation, uproot.AsJagged) and column and f"n{object_}" in self._events:
                collections.setdefault(object_.lower(), set()).add(column)
                self._branches[object_.lower(), column] = name
            elif isinstance(interpretation, uproot.AsDtype) and not interpretation.inner_shape:
                scalars.add(SCALARS.get(name, name))
                self._branches["", SCALARS.get(name, name)] = name
        frozen = {name: frozenset(columns) for name, columns in collections.items()}
        return Schema(frozen, frozenset(scalars))

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> Columns:
        """The needed columns, and always weight, id and parent, of some entries."""
        wanted = set(needs) | {(name, "pt") for name, _ in needs if name}
        names = {need: self._branches[need] for need in wanted if self.schema and need in self._branches}
        own = [name for name in (WEIGHT, ID, PARENT) if name in self._events]
        every = sorted({*names.values(), *own})
        arrays = self._events.arrays(every, entry_start=start, entry_stop=stop, library="ak", how=dict)
        collections: dict[str, dict[str, ak.Array]] = {}
        scalars: dict[str, Array] = {}
        for (collection, column), name in names.items():
            if collection:
                collections.setdefault(collection, {})[column] = arrays[name]
            else:
                scalars[column] = ak.to_numpy(arrays[name])
        flat = {name: ak.to_numpy(arrays[name]) for name in own}
        return Columns(
            weight=flat.get(WEIGHT, np.ones(stop - start)),
            id=flat.get(ID, np.arange(start, stop)),
            parent=flat.get(PARENT, flat.get(ID, np.arange(start, stop))),
            collections={name: _collection(columns) for name, columns in collections.items()},
            scalars=scalars,
        )


def _collection(jagged: dict[str, ak.Array]) -> Collection:
    """Flat columns, the objects of each event in falling pT."""
    columns: dict[str, Array] = {}
    offsets: IntArray | None = None
    for name, array in jagged.items():
        own = np.asarray(array.layout.offsets)
        if offsets is None:
            offsets = own
        elif not np.array_equal(offsets, own):
            raise SampleError(f"the column {name!r} has other numbers of objects than its neighbours")
        columns[name] = ak.to_numpy(array.layout.content)
    assert offsets is not None
    pt = columns["pt"]
    if first_unordered(offsets, pt) >= 0:
        order = np.lexsort((np.negative(pt), np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
        columns = {name: column[order] for name, column in columns.items()}
    return Collection(offsets, columns)
