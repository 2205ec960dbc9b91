"""Baskets, clusters and row groups that are larger than a range of entries, each decoded once.

Files are compressed in parts that can only be decoded completely. A large part that a range of entries cuts
through stays decoded until all its entries were read, in any order and by any thread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import Any
from weakref import WeakSet

#: The largest cache of a process, for all files together. Parts that do not fit are decoded for each range.
CACHED_BYTES = 2**30
#: Larger parts are cached in windows of about this size, all columns of a file together, and decoded again
#: for the next window. Two fit: the next begins while the last ranges of one are read.
WINDOW_BYTES = CACHED_BYTES // 2
#: A part is cached if it has more than this share of the entries of a range that cuts through it: smaller
#: ones are cheap to decode again.
_SHARE = 1 / 8


def pieces(
    edges: Sequence[int], start: int, stop: int, most: Callable[[], int]
) -> Iterator[tuple[int, int, bool]]:
    """Yield the consecutive ranges that are decoded for the entries from start to stop − 1, and whether they
    are cached: large parts that the range cuts through, or windows of `most` entries in them."""
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


def _window(edges: Sequence[int], entry: int, most: Callable[[], int]) -> tuple[int, int]:
    """Return the part that contains an entry, or the window within it if it is too large."""
    number = bisect_right(edges, entry)
    first, last = edges[number - 1], edges[number]
    if last - first > most():
        first += (entry - first) // most() * most()
        last = min(first + most(), last)
    return first, last


class _Part:
    """A part that is decoded or being decoded."""

    def __init__(self, entries: int) -> None:
        self.left = entries  # The number of entries that were not read yet
        self.size = 0
        self.result: Future[Any] = Future()


class Decoded:
    """The cached parts of one file, arrays of any library. They are dropped with it, or when others need the
    memory."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, _Part] = {}
        with _lock:
            _files.add(self)

    def read(
        self,
        column: Hashable,
        edges: Sequence[int],
        rows: tuple[int, int],
        most: Callable[[], int],
        decode: Callable[[int, int], Any],
    ) -> list[Any]:
        """Return consecutive slices that together are some rows of a column. `edges` are the first entries of
        parts that can only be decoded as a whole, and the end; `most` returns how many entries of a part may
        be cached; `decode` returns the entries from a first one to one before a last one."""
        start, stop = rows
        slices = []
        for first, last, cached in pieces(edges, start, stop, most):
            if cached:
                row, end = max(start, first), min(stop, last)
                array = self._kept((column, first, last), end - row, partial(decode, first, last))
                slices.append(array[row - first : end - first])
            else:
                slices.append(decode(first, last))
        return slices

    def _kept(self, key: tuple[Hashable, int, int], read: int, decode: Callable[[], Any]) -> Any:
        """Return a part, of which some entries are `read` now. Threads that request it at once share the
        work."""
        with _lock:
            existing = self._parts.get(key)
            part = existing or self._parts.setdefault(key, _Part(key[2] - key[1]))
        if existing is None:
            try:
                array = decode()
            except BaseException as error:
                with _lock:
                    self._parts.pop(key, None)
                part.result.set_exception(error)
                raise
            with _lock:
                part.size = array.nbytes
                self._make_room()
            part.result.set_result(array)
        array = part.result.result()
        with _lock:
            part.left -= read
            if part.left <= 0 and self._parts.get(key) is part:
                del self._parts[key]
        return array

    def _make_room(self) -> None:
        """Drop parts of other files, then the oldest of this one, until the cache is small enough."""
        excess = sum(file.bytes for file in _files) - CACHED_BYTES
        for file in sorted(_files, key=lambda file: file is self):
            for key in list(file._parts) if excess > 0 else ():
                if excess > 0 and file._parts[key].size:
                    excess -= file._parts.pop(key).size

    @property
    def bytes(self) -> int:
        """The size of the cached parts."""
        return sum(part.size for part in self._parts.values())


_lock = Lock()
_files: WeakSet[Decoded] = WeakSet()


def cached_bytes() -> int:
    """Return the size of the cache of this process."""
    with _lock:
        return sum(file.bytes for file in _files)
