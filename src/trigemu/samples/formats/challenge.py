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
from typing import Any

import numpy as np

from trigemu.samples.events import Need
from trigemu.samples.formats.ragged import collection_of
from trigemu.samples.formats.source import Beginning, ReadEvents, Schema, Source
from trigemu.support import Array, IntArray, MissingExtraError, SampleError

PARTICLES, ID = "Particles", "EvtId"
PLACES = {"electron": slice(1, 5), "muon": slice(5, 9), "jet": slice(9, 19)}
COLUMNS = {"pt": 0, "eta": 1, "phi": 2}
MET = {"met": 0, "met_phi": 2}


@dataclass
class Challenge(Source):
    """One file, opened for each read; only its path is sent to workers."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        return beginning.start.startswith(b"\x89HDF\r\n\x1a\n")

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            import h5py
        except ImportError:
            raise MissingExtraError("reading HDF5", "formats", "h5py") from None
        with self._stream() as stream, h5py.File(stream, "r") as file:
            particles = file.get(PARTICLES)
            if particles is None:
                raise SampleError(f"no dataset {PARTICLES!r} (there is: {', '.join(file) or 'nothing'})")
            if particles.shape[1:] != (19, 4):
                raise SampleError(f"{PARTICLES} has the shape {particles.shape}, expected (events, 19, 4)")
            yield file

    @cached_property
    def _layout(self) -> tuple[int, int]:
        """The number of events, and how many are compressed together."""
        with self._opened() as file:
            particles = file[PARTICLES]
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
        return Schema(dict.fromkeys(PLACES, frozenset(COLUMNS)), frozenset(MET))

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read the needed collections and scalars of some entries."""
        with self._opened() as file:
            particles = file[PARTICLES][start:stop]
            id = file[ID][start:stop] if ID in file else np.arange(start, stop)
        wanted = set(needs)
        return ReadEvents(
            weight=np.ones(stop - start),
            id=id,
            parent=id,
            collections={
                name: collection_of(_objects(particles[:, PLACES[name]]))
                for name in {name for name, _ in wanted if name}
            },
            scalars={name: particles[:, 0, MET[name]] for _, name in wanted if name in MET},
        )


def _objects(places: Array) -> dict[str, tuple[IntArray, Array]]:
    """Return offsets and columns of the objects in [n, k, 4]."""
    there = places[:, :, COLUMNS["pt"]] != 0
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return {name: (offsets, places[:, :, at][there]) for name, at in COLUMNS.items()}
