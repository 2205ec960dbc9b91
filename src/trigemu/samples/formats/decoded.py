"""Cache baskets, clusters and row groups that are larger than one range of entries, to decode each once.

Files are compressed in parts that can only be decoded completely. A part that a range of entries cuts through
stays decoded until all its entries were read, in any order and by any thread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

#: The largest cache of a process, for all files together. Parts that do not fit are decoded for each range.
CACHED_BYTES = 2**30
#: Larger parts are cached in windows of about this size, all columns of a file together, and decoded again
#: for
#: the next window. Two fit: the next begins while the last ranges of one are read.
WINDOW_BYTES = CACHED_BYTES // 2
#: A part is cached if it has more than this share of the entries of a range that cuts through it: smaller
#: ones
#: are cheap to decode again.
_SHARE = 1 / 8


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


A = TypeVar("A", bound=Sized)


class Piece(NamedTuple):
    """Entries of a column that are decoded together. cached: whether the range cuts through them; otherwise
    it contains them."""

    first: int
    last: int
    cached: bool


class Part(NamedTuple):
    """A part of a column that is decoded together."""

    column: Hashable  # The column
    first: int  # first, last: The entries from first to last − 1
    last: int


def pieces(edges: Sequence[int], start: int, stop: int, most: Callable[[], int]) -> list[Piece]:
    """Divide the reading of a range of entries."""
    if start >= stop:
        return [Piece(start, stop, False)]
    least = (stop - start) * _SHARE
    ends = [_window(edges, entry, most) for entry in (start, stop - 1)]
    cut = [
        Piece(first, last, True)
        for first, last in dict.fromkeys(ends)
        if (first < start or last > stop) and last - first > least
    ]
    low = cut[0].last if cut and cut[0].first <= start else start
    high = cut[-1].first if cut and cut[-1].last >= stop else stop
    between = [Piece(low, high, False)] if low < high else []
    return sorted([*cut, *between])


def _window(edges: Sequence[int], entry: int, most: Callable[[], int]) -> tuple[int, int]:
    """Return the part that contains an entry, or the window within it if it is too large."""
    number = bisect_right(edges, entry)
    first, last = edges[number - 1], edges[number]
    if last - first > most():
        first += (entry - first) // most() * most()
        last = min(first + most(), last)
    return first, last


class _Decoding(Generic[A]):
    """A part that is decoded or being decoded. left: the number of entries that were not read yet."""

    def __init__(self, part: Part) -> None:
        self.left = part.last - part.first
        self.size = 0
        self.result: Future[A] = Future()


class Decoded(Generic[A]):
    """The cached parts of one file. They are dropped with it, or when others need the memory."""

    def __init__(self) -> None:
        self._parts: dict[Part, _Decoding[A]] = {}
        with _lock:
            _files.add(self)

    def read(
        self, parts: Iterable[Part], start: int, stop: int, decode: Callable[[Part], A]
    ) -> dict[Part, A]:
        """Return decoded parts of columns. Threads that request the same parts at once share the work."""
        decodings: dict[Part, _Decoding[A]] = {}
        for part in parts:
            with _lock:
                existing = self._parts.get(part)
                decodings[part] = decoding = existing or self._parts.setdefault(part, _Decoding(part))
            if existing is None:
                self._decode(part, decoding, decode, (start, stop))
        arrays = {part: decoding.result.result() for part, decoding in decodings.items()}
        with _lock:
            for part, decoding in decodings.items():
                decoding.left -= min(stop, part.last) - max(start, part.first)
                if decoding.left <= 0 and self._parts.get(part) is decoding:
                    del self._parts[part]
        return arrays

    def _decode(
        self, part: Part, decoding: _Decoding[A], decode: Callable[[Part], A], read: tuple[int, int]
    ) -> None:
        try:
            array = decode(part)
        except BaseException as error:
            with _lock:
                self._parts.pop(part, None)
            decoding.result.set_exception(error)
            raise
        with _lock:
            decoding.size = array.nbytes
            if not self._has_room(read):
                self._parts.pop(part, None)
        decoding.result.set_result(array)

    def _has_room(self, read: tuple[int, int]) -> bool:
        """Drop parts of other files, then parts of this file outside the range, until the cache is small
        enough; return whether it is."""
        excess = sum(file.bytes for file in _files) - CACHED_BYTES
        for file in sorted(_files, key=lambda file: file is self):
            for part in list(file._parts):
                if excess <= 0:
                    return True
                elsewhere = part.last <= read[0] or part.first >= read[1]
                if (file is not self or elsewhere) and (size := file._parts[part].size):
                    del file._parts[part]
                    excess -= size
        return excess <= 0

    @property
    def bytes(self) -> int:
        """The size of the cached parts."""
        return sum(decoding.size for decoding in self._parts.values())


_lock = Lock()
_files: WeakSet[Decoded] = WeakSet()  # type: ignore[type-arg]  # of any arrays


def cached_bytes() -> int:
    """Return the size of the cache of this process."""
    with _lock:
        return sum(file.bytes for file in _files)
