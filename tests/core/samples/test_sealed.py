"""Sealed samples: what is read of them is compared with digests in the catalogue."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Thread

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toys import CATALOGUE, toy_events, write_root

from trigemu import TrigemuError, open_catalogue
from trigemu.api import SampleError
from trigemu.samples import seal_catalogue, sealed, sealing
from trigemu.samples.sealed import SealedFile, is_seal, read_chunks, seal_of
from trigemu_formats.challenge import PARTICLES

CONTENT = bytes(range(256)) * 10


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks in small files."""
    monkeypatch.setattr(sealed, "CHUNK", 1000)
    monkeypatch.setattr(sealing, "CHUNK", 1000)
    monkeypatch.setattr(sealed, "KEPT", 2)


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
    with pytest.raises(SampleError, match=r"were sealed|differ from what was sealed"):
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


def root(folder: Path) -> str:
    write_root(folder / "a.root", toy_events(1, 200))
    return "nanoaod"


def parquet(folder: Path) -> str:
    (folder / "a.root").mkdir()
    for name in ("met", "met_phi"):
        pq.write_table(pa.table({name: np.linspace(0, 3, 1000)}), folder / "a.root" / f"{name}.parquet")
    return "parquet"


def challenge(folder: Path) -> str:
    with h5py.File(folder / "a.root", "w") as file:
        file[PARTICLES] = np.ones((20, 19, 4), np.float32)
    return "challenge"


def vector(folder: Path) -> str:
    words = ["0" * 16] * 8 + ["00000000"] * 36 + ["0" * 64, "0" * 128, "0"]
    lines = "\n".join(" ".join([str(number), *words]) for number in range(20))
    (folder / "a.root").write_bytes(gzip.compress(lines.encode(), 0))
    (folder / "a.root").rename(folder / "a.gz")
    return "cms-l1-vector"


WRITERS = [root, parquet, challenge, vector]


def made(folder: Path, write: Callable[[Path], str]) -> Path:
    """A catalogue of one sample."""
    kind = write(folder)
    text = CATALOGUE.replace("all.root", "a.gz" if write is vector else "a.root")
    path = folder / "catalogue.toml"
    path.write_text(f'# a comment\n{text}format = "{kind}"  # and one more\n')
    return path


def read_all(path: Path) -> int:
    sample = open_catalogue(path).samples[0]
    needs = [(name, c) for name, columns in sample.schema.collections.items() for c in columns]
    needs += [("", name) for name in sample.schema.scalars]
    return len(sample.read(0, 0, sample.entries, needs))


def failure(path: Path) -> SampleError | None:
    try:
        read_all(path)
    except SampleError as error:
        return error
    return None


@pytest.mark.parametrize("write", WRITERS)
def test_a_change_in_any_chunk_of_any_format_is_noticed(tmp_path: Path, write: Callable[[Path], str]) -> None:
    catalogue = made(tmp_path, write)
    before = read_all(catalogue)
    assert seal_catalogue(catalogue) == ("all",)
    assert read_all(catalogue) == before
    file = next(path for path in sorted(tmp_path.rglob("*")) if path.is_file() and path.suffix != ".toml")
    good = file.read_bytes()
    assert len(good) > 3000
    noticed = 0
    for at in range(500, len(good), 1000):
        bad = bytearray(good)
        bad[at] ^= 16
        file.write_bytes(bad)
        with pytest.raises(TrigemuError, match=rf"^sample 'all': .*bytes {at - at % 1000} to .* chunk "):
            seal_catalogue(catalogue)
        said = "" if (error := failure(catalogue)) is None else str(error)
        noticed += bool(said)
        assert not said or (f"sample 'all': {tmp_path}" in said and f"bytes {at - at % 1000} to " in said)
    assert noticed > len(good) / 1000 / 2
    file.write_bytes(good)
    assert read_all(catalogue) == before


def test_a_sealed_file_is_not_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = made(tmp_path, root)
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
