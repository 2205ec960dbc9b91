"""Orbit NanoAOD of Level-1 scouting at CMS: every crossing of every orbit is an event.

Events            run, luminosityBlock, orbitNumber, bunchCrossing (1 to 3564); nL1Mu, L1Mu_pt, …, as in
                  NanoAOD: an entry for each crossing with objects, those of an orbit one after the other
LuminosityBlocks  nOrbits                  → the number of orbits, with those that have no entry

CMS leaves out crossings without objects; here they are events without objects, whose other numbers are 0, so
that rates are shares of all crossings: event k of a file is crossing k mod 3564 of its orbit k // 3564. One
orbit follows another as in the file, with the empty crossings of the abort gap between them.

The layout is that of OrbitNanoAODOutputModule of CMSSW.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError
from trigemu.samples.events import Collection, Need, ReadEvents
from trigemu.samples.root import NanoAOD
from trigemu.samples.sample import BUNCHES

#: The numbers that an orbit has as a whole.
_OF_ORBIT = ("run", "luminosityBlock", "orbitNumber")


@dataclass
class Orbits(NanoAOD):
    """An orbit NanoAOD file; `entries` are all crossings of its orbits."""

    any_tree: ClassVar[bool] = False

    @cached_property
    def _orbits(self) -> dict[str, IntArray]:
        """The numbers of each orbit; "crossing": that of each entry in the file, counted from its first."""
        stored = int(self._events.num_entries)
        names = (*_OF_ORBIT, "bunchCrossing")
        columns = {name: self._single(name, self._array(name, 0, stored)).astype(np.int64) for name in names}
        bunch = columns.pop("bunchCrossing")
        begins = np.ones(stored, np.bool_)
        begins[1:] = np.any([np.diff(column) != 0 for column in columns.values()], axis=0)
        crossing = (np.cumsum(begins) - 1) * BUNCHES + bunch - 1
        outside = (bunch < 1) | (bunch > BUNCHES)
        if (wrong := np.flatnonzero(outside | (np.diff(crossing, prepend=-1) <= 0))).size:
            entry = int(wrong[0])
            expected = f"1 to {BUNCHES}" if outside[entry] else "the crossings of an orbit in ascending order"
            raise SampleError(f"entry {entry}: bunchCrossing = {bunch[entry]}: expected {expected}")
        orbits = {name: column[begins] for name, column in columns.items()}
        _, times = np.unique(np.stack([orbits["run"], orbits["orbitNumber"]]), axis=1, return_counts=True)
        if (times > 1).any():
            raise SampleError(f"{(times > 1).sum()} of its orbits come back after others: sort its entries")
        return {**orbits, "crossing": crossing}

    @cached_property
    def entries(self) -> int:
        return len(self._orbits["run"]) * BUNCHES

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        inner = (b for b in super().boundaries if 0 < b < len(self._orbits["crossing"]))
        return (0, *(int(self._orbits["crossing"][b]) for b in inner), self.entries)

    @property
    def sum_of_weights(self) -> float:
        sections = self._file.get("LuminosityBlocks")
        if sections is None or "nOrbits" not in sections:
            return float(self.entries)
        return float(max(int(sections["nOrbits"].array(library="np").sum()) * BUNCHES, self.entries))

    @property
    def neighbours(self) -> Literal["line", "orbit"]:
        return "orbit" if self.entries == BUNCHES else "line"

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        first, last, row = self._within(start, stop)
        read = super().read(first, last, needs)
        before = np.searchsorted(row, np.arange(stop - start + 1))  # the entries before each crossing
        orbit, bunch = np.divmod(np.arange(start, stop), BUNCHES)
        known = {name: self._orbits[name][orbit] for name in _OF_ORBIT} | {"bunchCrossing": bunch + 1}
        id = (known["run"] << 44 | known["orbitNumber"] << 12 | bunch + 1).astype(np.uint64)
        return ReadEvents(
            weight=np.ones(stop - start),
            id=id,
            parent=id,
            collections={
                name: Collection(objects.offsets[before], objects.columns)
                for name, objects in read.collections.items()
            },
            scalars={
                name: known[name] if name in known else _spread(values, row, stop - start)
                for name, values in read.scalars.items()
            },
        )

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        first, last, row = self._within(start, stop)
        fired = super().read_stored(first, last, names)
        return {name: _spread(values, row, stop - start) for name, values in fired.items()}

    def _within(self, start: int, stop: int) -> tuple[int, int, IntArray]:
        """Return the range of entries with crossings from start to stop − 1, and the row of each."""
        crossing = self._orbits["crossing"]
        first, last = np.searchsorted(crossing, [start, stop])
        return int(first), int(last), crossing[first:last] - start


def _spread(values: Array, row: IntArray, n: int) -> Any:
    """Return n values of which some rows are given; the others are 0."""
    all_rows = np.zeros(n, values.dtype)
    all_rows[row] = values
    return all_rows
