"""Sealed samples: what is read of them is compared with digests in the catalogue."""

from __future__ import annotations

import hashlib
import io
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from sealing_checks import check_any_change_is_noticed, sealable, small_chunks as small_chunks
from toys import toy_events, write_root

from trigemu import open_catalogue
from trigemu.api import SampleError
from trigemu.samples import seal_catalogue
from trigemu.samples.sealed import SealedFile, is_seal, read_chunks, seal_of

CONTENT = bytes(range(256)) * 10


pytestmark = pytest.mark.usefixtures("small_chunks")


def seal(content: bytes) -> str:
    return seal_of([hashlib.sha256(chunk).digest() for chunk in read_chunks(io.BytesIO(content))])


def test_a_sealed_file_reads_as_the_file() -> None:
    file, plain = SealedFile(partial(nullcontext, io.BytesIO(CONTENT)), seal(CONTENT)), io.BytesIO(CONTENT)
    for start, size in ((0, 5), (990, 20), (500, 2000), (2559, 10), (0, -1), (7, 0)):
        assert file.seek(start) == plain.seek(start)
        assert (file.read(size), file.tell()) == (plain.read(size), plain.tell())
    assert file.seek(-3, io.SEEK_END) == 2557
    buffer = bytearray(10)
    assert (file.readinto(buffer), bytes(buffer[:3])) == (3, CONTENT[-3:])
    assert SealedFile(partial(nullcontext, io.BytesIO(b"")), seal(b"")).read() == b""


@pytest.mark.parametrize("at", [0, 999, 1000, 1500])
def test_a_changed_byte_is_named_by_its_chunk(at: int) -> None:
    bad = bytearray(CONTENT)
    bad[at] ^= 1
    file = SealedFile(partial(nullcontext, io.BytesIO(bad)), seal(CONTENT))
    file.seek(2000)
    assert file.read() == CONTENT[2000:]  # of another chunk
    file.seek(at)
    first = at // 1000 * 1000
    with pytest.raises(
        SampleError, match=rf"^bytes {first} to {first + 999}, chunk {at // 1000 + 1} of 3, differ"
    ):
        file.read(1)


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"\0", CONTENT[:1999], b"", CONTENT * 2])
def test_another_size_is_noticed_on_opening(content: bytes) -> None:
    with pytest.raises(SampleError, match=r"were sealed|differ from the sealed file"):
        SealedFile(partial(nullcontext, io.BytesIO(content)), seal(CONTENT))


def test_the_bytes_that_were_compared_are_those_that_are_read() -> None:
    """A file that changes after its comparison."""
    stream = io.BytesIO(CONTENT)
    file = SealedFile(partial(nullcontext, stream), seal(CONTENT))
    assert file.read(10) == CONTENT[:10]
    stream.getbuffer()[20] ^= 1
    assert file.read(20) == CONTENT[10:30]  # still in memory
    file.read()
    file.seek(10)
    with pytest.raises(SampleError, match="chunk 1 of 3"):
        file.read(20)


def test_threads_share_a_sealed_file() -> None:
    content = CONTENT * 20
    file = SealedFile(partial(nullcontext, io.BytesIO(content)), seal(content))
    wrong: list[int] = []

    def compare(number: int) -> None:
        for at in range(number, 51):
            if file._chunk(at) != content[at * 1000 : (at + 1) * 1000]:
                wrong.append(at)

    threads = [Thread(target=compare, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(("text", "expected"), [("", True), ("A", False), ("AAAA", False), ("é", False)])
def test_what_can_be_a_seal(text: str, expected: bool) -> None:
    assert is_seal(text) == expected


# ------------------------------------------------------------------------------------ formats


def test_a_change_in_any_chunk_is_noticed(tmp_path: Path) -> None:
    write_root(tmp_path / "a.root", toy_events(1, 200))
    check_any_change_is_noticed(sealable(tmp_path / "a.root", "nanoaod"))


def test_a_sealed_file_is_not_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_root(tmp_path / "a.root", toy_events(1, 200))
    catalogue = sealable(tmp_path / "a.root", "nanoaod")
    seal_catalogue(catalogue)
    read: list[int] = []
    plain = SealedFile._chunk

    def chunk(self: SealedFile, number: int) -> bytes:
        read.append(number)
        return plain(self, number)

    monkeypatch.setattr(SealedFile, "_chunk", chunk)
    opened = open_catalogue(catalogue)
    opened.samples[0].read(0, 0, 10, [("", "met")])
    size = (tmp_path / "a.root").stat().st_size
    assert 0 < len(set(read)) < size // 1000
