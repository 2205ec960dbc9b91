"""Sealed files: every chunk is compared with its digest before any of its bytes are used.

A seal is a text in the catalogue: the sha256 of all chunks of the file in sequence, in base64. The seal of a
folder consists of the seals of its files, separated by commas. The reading libraries get the same bytes that
were compared, so changes while a file is read are noticed too.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import IO, Any

from fsspec.compression import compr
from fsspec.utils import infer_compression

from trigemu.samples.errors import UnreadableError
from trigemu.samples.locations import located, opened

#: Bytes that are compared together: large enough for fast digests, small enough to read few columns.
CHUNK = 2**20
#: Largest number of compared chunks in memory, for all open files together.
MAX_CACHED = 32
_DIGEST = 32

_cached: OrderedDict[tuple[int, int], bytes] = OrderedDict()
_lock = Lock()
_numbers = count()


def is_seal(text: str) -> bool:
    """Whether a text can be the seal of one file."""
    try:
        return len(base64.b64decode(text, validate=True)) % _DIGEST == 0
    except ValueError:
        return False


def digests_of(seal: str) -> list[bytes]:
    """Return the digests in the seal of one file."""
    joined = base64.b64decode(seal)
    return [joined[at : at + _DIGEST] for at in range(0, len(joined), _DIGEST)]


def seal_of(digests: Sequence[bytes]) -> str:
    """Return the seal of one file with these digests of chunks."""
    return base64.b64encode(b"".join(digests)).decode()


def read_chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a file; all but the last have `CHUNK` bytes."""
    while chunk := _full_read(stream, CHUNK):
        yield chunk


def _full_read(stream: IO[bytes], size: int) -> bytes:
    """Read `size` bytes, or up to the end, from a stream that may return fewer at a time."""
    parts = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def sealed_file(location: Path | str, seal: str) -> SealedFile:
    """Open a sealed file for reading bytes. A file on this machine is opened again for each chunk, because a
    sample may have more files than can be open at once."""
    if isinstance(located(location), Path):
        return SealedFile(partial(opened, location), seal)
    stream: IO[bytes] = opened(location).open()
    return SealedFile(lambda: nullcontext(stream), seal)


@contextmanager
def opened_sealed(location: Path | str, seal: str, compression: str | None = None) -> Iterator[Any]:
    """Open a sealed file as a context manager. compression: "infer" uses the file's suffix."""
    with sealed_file(location, seal) as file:
        kind = infer_compression(str(location)) if compression == "infer" else None
        yield compr[kind](file, mode="rb") if kind else file


class SealedFile(io.RawIOBase):
    """A file for reading whose chunks are compared with a seal as they are read. Several threads may use
    it.

    Parameters
    ----------
    open_file : function
        Returns a context manager of the file, which can be read from any position.
    seal : str
        Its seal.

    Raises
    ------
    UnreadableError
        On construction or while reading, if the file differs from the sealed one.
    """

    def __init__(self, open_file: Callable[[], AbstractContextManager[IO[bytes]]], seal: str) -> None:
        self._open, self._digests = open_file, digests_of(seal)
        self._lock = Lock()
        self._at, self._number = 0, next(_numbers)
        with open_file() as stream:
            self._size = stream.seek(0, io.SEEK_END)
        chunks = -(-self._size // CHUNK)
        if chunks != len(self._digests):
            raise UnreadableError(
                f"has {self._size} bytes, which are {chunks} chunks, but {len(self._digests)} were sealed: "
                f"the file was changed or cut short"
            )
        if chunks:
            self._chunk(chunks - 1)  # to compare the size too

    def _chunk(self, number: int) -> bytes:
        key = self._number, number
        with _lock:
            if key in _cached:
                _cached.move_to_end(key)
                return _cached[key]
        start = number * CHUNK
        with self._lock, self._open() as stream:
            stream.seek(start)
            chunk = _full_read(stream, min(CHUNK, self._size - start))
        if hashlib.sha256(chunk).digest() != self._digests[number]:
            raise changed(number, len(self._digests), start, start + len(chunk))
        with _lock:
            _cached[key] = chunk
            while len(_cached) > MAX_CACHED:
                _cached.popitem(last=False)
        return chunk

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer).cast("B")
        data = self.read(len(target))
        target[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        left = max(self._size - self._at, 0)
        size = left if size is None or size < 0 else min(size, left)
        start, stop = self._at, self._at + size
        parts = []
        for number in range(start // CHUNK, -(-stop // CHUNK)):
            first = number * CHUNK
            chunk = self._chunk(number)
            parts.append(chunk[max(start - first, 0) : stop - first])
        self._at = stop
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def changed(number: int, chunks: int, start: int, stop: int) -> UnreadableError:
    """Return the error for a chunk that differs from its seal."""
    return UnreadableError(
        f"bytes {start} to {stop - 1}, chunk {number + 1} of {chunks}, differ from the sealed file: "
        f"the file is damaged or was changed"
    )
