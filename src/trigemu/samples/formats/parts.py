"""Baskets, clusters and row groups with more entries than a chunk, each decoded once.

Files are compressed in parts that can only be decoded as a whole. A large part that a range of entries cuts
through stays decoded until all its entries were read, in any order and by any thread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from threading import Lock

from trigemu.samples.events import ReadEvents

#: The largest cache of a process. Parts that do not fit are decoded again.
CACHED_BYTES = 2**30
#: Larger parts are decoded in windows of about this size. Two fit: the next begins while the last ranges of
#: one are read.
WINDOW_BYTES = CACHED_BYTES // 2
#: A part is cached if it has more than this share of the entries of a range that cuts through it: smaller
#: ones are cheap to decode again.
_SHARE = 1 / 8


def pieces(edges: Sequence[int], start: int, stop: int, most: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the consecutive ranges that are decoded for the entries from start to stop − 1, and whether they
    are cached: large parts that the range cuts through, or windows of `most` entries in them. `edges` are the
    first entries of parts, and the end."""
    least = (stop - start) * _SHARE
    if start >= stop:
        yield start, stop, False
    while start < stop:
        first, last = _window(edges, start, most)
        cached = (first < start or last > stop) and last - first > least
        if not cached:
            low, high = _window(edges, stop - 1, most)
            first, last = start, low if high > stop and high - low > least else stop
        yield first, last, cached
        start = last


def _window(edges: Sequence[int], entry: int, most: int) -> tuple[int, int]:
    """Return the part that contains an entry, or the window within it if it is too large."""
    number = bisect_right(edges, entry)
    first, last = edges[number - 1], edges[number]
    if last - first > most:
        first += (entry - first) // most * most
        last = min(first + most, last)
    return first, last


class _Part:
    """Entries that are decoded by the first thread that needs them, for all that do."""

    def __init__(self, entries: int, decode: object) -> None:
        self.lock, self.left = Lock(), entries  # The number of entries that were not read yet
        self.decode = decode  # Refers to the file, whose number no other gets meanwhile
        self.events: ReadEvents | None = None

    @property
    def size(self) -> int:
        return self.events.nbytes if self.events else 0


#: The parts of this process by their file, columns and range, the oldest first.
_parts: dict[Hashable, _Part] = {}
_lock = Lock()


def decoded_once(
    columns: Hashable, first: int, last: int, rows: slice, decode: Callable[[int, int], ReadEvents]
) -> ReadEvents:
    """Return some rows of the entries from first to last − 1, which stay in memory until all were read.
    `columns` identify the file and the columns."""
    key = columns, first, last
    with _lock:
        part = _parts.setdefault(key, _Part(last - first, decode))
    with part.lock:
        part.events = part.events or decode(first, last)
        read = part.events[rows]
        part.left -= len(read.weight)
    with _lock:
        others = [other for other in _parts if other != key]
        if part.left <= 0:
            _parts.pop(key, None)
        while others and cached_bytes() > CACHED_BYTES:
            _parts.pop(others.pop(0), None)
    return read


def cached_bytes() -> int:
    """Return the size of the cache of this process."""
    return sum(part.size for part in [*_parts.values()])
