"""The numbers of the events of a file: run, section (luminosity block) and number, where a file has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trigemu.samples.events import Need
from trigemu.samples.formats.source import Source
from trigemu.support import CHUNK_EVENTS, Array, splitmix64

#: Hashes that are kept of all files together, and at least of each.
MOST_HASHES, LEAST_HASHES = 2**23, 2**10
#: The columns of run, section and number of an event.
_COLUMNS = (
    ("run", "luminosityBlock", "event"),
    ("run", "luminosityBlock", "id"),
    ("runNumber", "lumiBlock", "eventNumber"),
)
#: The largest hash.
ALL = 2**64 - 1

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Numbering:
    """The numbers of the events of a file.

    Attributes
    ----------
    hashes : uint64[k]
        Hashes of run, section and number of its events, up to `limit`.
    limit : int
        The largest hash that is kept.
    simulated : bool
        Whether other events may have the same numbers.
    """

    hashes: Hashes
    limit: int
    simulated: bool


def numbering_of(source: Source, most: int) -> Numbering | None:
    """Return the numbers of the events of a file; None if it has none. most: how many hashes are kept."""
    if not (columns := numbers_of(source)):
        return None
    kept, limit, simulated = [np.empty(0, np.uint64)], ALL, bool(source.weight_column)
    for _, (run, _, _), hashes in hashed(source, columns):
        simulated |= bool(np.less_equal(run, 1).any())
        kept.append(hashes[hashes <= np.uint64(limit)])
        if sum(map(len, kept)) > 2 * most:
            kept, limit = _smallest(kept, most)
    if sum(map(len, kept)) > most:
        kept, limit = _smallest(kept, most)
    return Numbering(np.concatenate(kept), limit, simulated)


def _smallest(hashes: list[Hashes], most: int) -> tuple[list[Hashes], int]:
    kept = np.partition(np.concatenate(hashes), most - 1)[:most]
    return [kept], int(kept.max())


def numbers_of(source: Source) -> list[Need]:
    """Return the columns of run, section and number of the events; none if the file lacks one of them."""
    names = next((names for names in _COLUMNS if {*names} <= source.schema.scalars), ())
    return [("", name) for name in names]


def hashed(source: Source, columns: Sequence[Need]) -> Iterator[tuple[int, list[Array], Hashes]]:
    """Yield ranges of a file: the first entry; runs, sections and numbers of its events; and their hashes."""
    for start in range(0, source.entries, CHUNK_EVENTS):
        stop = min(start + CHUNK_EVENTS, source.entries)
        scalars = source.read(start, stop, columns).scalars
        hashes = np.zeros(stop - start, np.uint64)
        for _, name in columns:
            hashes = splitmix64(hashes ^ scalars[name].astype(np.uint64))
        yield start, [scalars[name] for _, name in columns], hashes
