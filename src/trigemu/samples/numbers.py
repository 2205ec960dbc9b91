"""The numbers of the events of a file: hashes of run, section and number, to find events that are there
twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import IntArray, splitmix64
from trigemu.samples.events import Need
from trigemu.samples.formats.source import Schema, Source

#: Hashes that are kept of all files together, and at least of each.
MOST_HASHES, LEAST_HASHES = 2**23, 2**10
#: The columns of run, section and number of an event.
_COLUMNS = (
    ("run", "luminosityBlock", "event"),
    ("run", "luminosityBlock", "id"),
    ("runNumber", "lumiBlock", "eventNumber"),
)
#: Events whose numbers are read at a time.
STEP = 2**21
#: The largest hash.
ALL = 2**64 - 1

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Numbers:
    """The numbers of the events of a file."""

    hashes: Hashes  # uint64[k]: Hashes of run, section and number of its events, up to `limit`
    entries: IntArray  # int64[k]: These events
    limit: int  # The largest hash that is kept
    simulated: bool  # Whether other events may have the same numbers


def numbering(schema: Schema) -> list[Need]:
    """Return the columns of run, section and number of the events; none if a file lacks one of them."""
    return [("", n) for n in next((names for names in _COLUMNS if {*names} <= schema.scalars), ())]


def numbers_of(source: Source, most: int) -> Numbers | None:
    """Return the numbers of the events of a file; None if it has none. most: how many are kept, about."""
    if not (columns := numbering(source.schema)):
        return None
    limit = min(ALL, ALL * most // max(source.entries, 1))
    kept, entries, simulated = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], bool(source.weight_column)
    for start in range(0, source.entries, STEP):
        scalars = source.columns(start, min(start + STEP, source.entries), columns).scalars
        simulated |= bool(np.less_equal(scalars[columns[0][1]], 1).any())
        run, section, number = (scalars[name].astype(np.uint64) for _, name in columns)
        hashes = splitmix64(splitmix64(splitmix64(run) ^ section) ^ number)
        rows = np.flatnonzero(hashes <= np.uint64(limit))
        kept.append(hashes[rows])
        entries.append(start + rows)
    return Numbers(np.concatenate(kept), np.concatenate(entries), limit, simulated)
