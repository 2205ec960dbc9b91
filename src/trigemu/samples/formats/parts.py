"""Baskets, clusters and row groups with more entries than a chunk, each decoded once.

Files are compressed in parts that can only be decoded as a whole. A large part that a range of entries cuts
through stays decoded until all its entries were read, in any order and by any thread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
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


class _Window:
    """Entries that are decoded or being decoded."""

    def __init__(self, entries: int, decode: object) -> None:
        self.left = entries  # The number of entries that were not read yet
        self.decode = decode  # Refers to the file, whose number no other gets meanwhile
        self.size = 0
        self.result: Future[ReadEvents] = Future()


#: The windows of this process by their file, columns and range, the oldest first.
_windows: dict[Hashable, _Window] = {}
_lock = Lock()


def decoded_once(
    columns: Hashable, first: int, last: int, rows: slice, decode: Callable[[int, int], ReadEvents]
) -> ReadEvents:
    """Return some rows of the entries from first to last − 1, which stay in memory until all were read.
    Threads that request them at once share the work. `columns` identify the file and the columns."""
    key = columns, first, last
    with _lock:
        existing = _windows.get(key)
        window = existing or _windows.setdefault(key, _Window(last - first, decode))
    if existing is None:
        try:
            decoded = decode(first, last)
        except BaseException as error:
            with _lock:
                _windows.pop(key, None)
            window.result.set_exception(error)
            raise
        with _lock:
            window.size = decoded.nbytes
            excess = cached_bytes() - CACHED_BYTES
            for old in [old for old in _windows if old != key]:
                if excess > 0:
                    excess -= _windows.pop(old).size
        window.result.set_result(decoded)
    read = window.result.result()[rows]
    with _lock:
        window.left -= len(read.weight)
        if window.left <= 0 and _windows.get(key) is window:
            del _windows[key]
    return read


def cached_bytes() -> int:
    """Return the size of the cache of this process."""
    return sum(window.size for window in [*_windows.values()])
