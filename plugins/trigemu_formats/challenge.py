"""The files of the anomaly-detection challenge at 40 MHz (HDF5; Govorkova et al., arXiv:2107.02157).

Particles [n, 19, 4]   19 slots of (pT in GeV, η, φ, class)
   slot 0              → met, met_phi
   slots 1 to 4        → collection `electron` with pt, eta, phi
   slots 5 to 8        → `muon`
   slots 9 to 18       → `jet`
EvtId [n]              → id and parent, if present

Slots filled with zeros are empty. All events have the same weight. The events were selected to have an
electron or a muon above 23 GeV: the `rate_hz` in a catalogue is the rate of such events, not of all
crossings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from trigemu.base.arrays import Array, IntArray
from trigemu.base.errors import SampleError, excerpt, module_of_extra
from trigemu.samples.events import Need, ReadEvents
from trigemu.samples.source import Beginning, Schema, Source, collection_of

PARTICLES, ID = "Particles", "EvtId"
SLOTS = {"electron": slice(1, 5), "muon": slice(5, 9), "jet": slice(9, 19)}
COLUMNS = {"pt": 0, "eta": 1, "phi": 2}
MET = {"met": 0, "met_phi": 2}
#: Filters that come with h5py: deflate, shuffle, fletcher32, szip, nbit, scale-offset, lzf.
FILTERS = frozenset({1, 2, 3, 4, 5, 6, 32000})


@dataclass
class Challenge(Source):
    """One file, opened for each read."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        return beginning.start.startswith(b"\x89HDF\r\n\x1a\n")

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        h5py = module_of_extra("h5py", "reading HDF5", "formats", "h5py")
        with self._stream() as stream, h5py.File(stream, "r") as file:
            particles = _dataset(file, PARTICLES)
            if particles is None:
                names = ", ".join(map(excerpt, islice(file, 20)))
                raise SampleError(f"no dataset {PARTICLES!r} (there is: {names or 'nothing'})")
            if particles.shape[1:] != (19, 4):
                raise SampleError(f"{PARTICLES} has the shape {particles.shape}, expected (events, 19, 4)")
            yield particles, _dataset(file, ID)

    @cached_property
    def _layout(self) -> tuple[int, int]:
        """The number of events, and the number of events compressed together."""
        with self._opened() as (particles, _):
            return len(particles), particles.chunks[0] if particles.chunks else len(particles)

    @property
    def entries(self) -> int:
        return self._layout[0]

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        entries, step = self._layout
        return (*range(0, entries, max(step, 1)), entries)

    @property
    def schema(self) -> Schema:
        return Schema(dict.fromkeys(SLOTS, frozenset(COLUMNS)), frozenset(MET))

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read the needed collections and scalars of some entries."""
        with self._opened() as (stored, numbers):
            particles = stored[start:stop]
            id = np.arange(start, stop) if numbers is None else numbers[start:stop]
        needed = set(needs)
        return ReadEvents(
            weight=np.ones(stop - start),
            id=id,
            parent=id,
            collections={
                name: collection_of(_objects(particles[:, SLOTS[name]]))
                for name in {name for name, _ in needed if name}
            },
            scalars={name: particles[:, 0, MET[name]] for _, name in needed if name in MET},
        )


def _dataset(file: Any, name: str) -> Any:
    """Return a dataset; None if there is none. Raises SampleError for anything but numbers in the file
    itself: HDF5 can refer to other files, and load libraries to decompress."""
    from h5py import Dataset, HardLink, h5d

    link = file.get(name, getlink=True)
    if link is None:
        return None
    if not isinstance(link, HardLink):
        raise SampleError(f"{name} is a link, which may lead out of the file: store the numbers in its place")
    dataset = file[name]
    if not isinstance(dataset, Dataset) or dataset.dtype.kind not in "fiu" or not dataset.shape:
        raise SampleError(f"{name} is not a dataset of numbers")
    storage = dataset.id.get_create_plist()
    if storage.get_layout() == h5d.VIRTUAL or storage.get_external_count():
        raise SampleError(f"{name} is stored in other files, which are not opened: copy the numbers into it")
    filters = {storage.get_filter(i)[0] for i in range(storage.get_nfilters())}
    if unknown := filters - FILTERS:
        raise SampleError(
            f"{name} is compressed with the HDF5 filters {sorted(unknown)}, for which libraries would be "
            f"loaded: compress it with gzip, lzf or szip"
        )
    return dataset


def _objects(slots: Array) -> dict[str, tuple[IntArray, Array]]:
    """Return offsets and columns of the objects in [n, k, 4]."""
    filled = slots[:, :, COLUMNS["pt"]] != 0
    offsets = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    return {name: (offsets, slots[:, :, index][filled]) for name, index in COLUMNS.items()}
