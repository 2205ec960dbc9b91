"""Crossings before and after a range of entries of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from trigemu.samples.events import Collection, Events
from trigemu.support import Array


def around(
    neighbours: Literal["none", "line", "orbit"], entries: int, start: int, stop: int, margin: int
) -> tuple[list[tuple[int, int]], slice]:
    """Return the ranges of entries to read in sequence, and the slice of their rows that are `start` to
    `stop`. In an orbit, the first crossing follows the last."""
    if neighbours == "none" or not margin:
        return [(start, stop)], slice(None)
    if neighbours == "line":
        first = max(0, start - margin)
        return [(first, min(entries, stop + margin))], slice(start - first, stop - first)
    ranges = []
    at, end = start - margin, stop + margin
    while at < end:
        row = at % entries
        length = min(end - at, entries - row)
        ranges.append((row, row + length))
        at += length
    return ranges, slice(margin, margin + stop - start)


def entries_with_neighbours(
    neighbours: Literal["none", "line", "orbit"], entries: int, margin: int
) -> tuple[int, int]:
    """Return the range of entries of a file that have all neighbouring crossings.

    Parameters
    ----------
    neighbours : {"none", "line", "orbit"}
        How entries are related (`Source.neighbours`).
    entries : int
        The number of entries.
    margin : int
        The number of crossings before and after.

    Returns
    -------
    tuple of int
        First and last + 1; all entries if the entries are unrelated.
    """
    if neighbours != "line":
        return 0, entries
    first = min(margin, entries)
    return first, max(first, entries - margin)


def join_events(parts: Sequence[Events], core: slice = slice(None)) -> Events:
    """Concatenate events with the same columns.

    Parameters
    ----------
    parts : sequence of Events
        One or more; the result has the columns of the first.
    core : slice
        The rows of the result that count.

    Returns
    -------
    Events
        The events, in their order.
    """
    first = parts[0]
    if len(parts) == 1:
        return replace(first, core=core)
    return replace(
        first,
        sample=" + ".join(dict.fromkeys(part.sample for part in parts)),
        weight=np.concatenate([part.weight for part in parts]),
        id=np.concatenate([part.id for part in parts]),
        parent=np.concatenate([part.parent for part in parts]),
        collections={name: _joined([part.collections[name] for part in parts]) for name in first.collections},
        scalars={name: np.concatenate([part.scalars[name] for part in parts]) for name in first.scalars},
        core=core,
    )


def _joined(parts: Sequence[Collection]) -> Collection:
    ends = np.cumsum([0, *(part.offsets[-1] - part.offsets[0] for part in parts)])
    begins = [part.offsets[:-1] - part.offsets[0] + end for part, end in zip(parts, ends, strict=False)]

    def column(name: str) -> Array:
        return np.concatenate([p.columns[name][p.offsets[0] : p.offsets[-1]] for p in parts])

    return Collection(np.concatenate([*begins, ends[-1:]]), {name: column(name) for name in parts[0].columns})
