"""Sealed samples of any format: a change of a byte is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import CATALOGUE

from trigemu import TrigemuError, open_catalogue
from trigemu.samples import SampleError, seal_catalogue, sealed, sealing


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks in small files."""
    monkeypatch.setattr(sealed, "CHUNK", 1000)
    monkeypatch.setattr(sealing, "CHUNK", 1000)
    monkeypatch.setattr(sealed, "MAX_CACHED", 2)


def sealable(file: Path, format: str) -> Path:
    """A catalogue of one sample, of a file or folder beside it."""
    text = CATALOGUE.replace("all.root", file.name)
    path = file.with_name("catalogue.toml")
    path.write_text(f'# a comment\n{text}format = "{format}"  # and one more\n')
    return path


def read_all(path: Path) -> int:
    sample = open_catalogue(path).samples[0]
    needs = [(name, c) for name, columns in sample.schema.collections.items() for c in columns]
    needs += [("", name) for name in sample.schema.scalars]
    return len(sample.read(0, 0, sample.entries, needs))


def check_any_change_is_noticed(catalogue: Path) -> None:
    """In any chunk. Bytes that are not read are only noticed when the sample is sealed again."""
    before = read_all(catalogue)
    assert seal_catalogue(catalogue) == ("all",)
    assert read_all(catalogue) == before
    files = (path for path in sorted(catalogue.parent.rglob("*")) if path.is_file() and path != catalogue)
    file = next(files)
    good = file.read_bytes()
    assert len(good) > 3000
    noticed = 0
    for at in range(500, len(good), 1000):
        bad = bytearray(good)
        bad[at] ^= 16
        file.write_bytes(bad)
        with pytest.raises(TrigemuError, match=rf"^sample 'all': .*bytes {at - at % 1000} to .* chunk "):
            seal_catalogue(catalogue)
        said = _failure(catalogue)
        noticed += bool(said)
        assert not said or (
            f"sample 'all': {catalogue.parent}" in said and f"bytes {at - at % 1000} to " in said
        )
    assert noticed > len(good) / 1000 / 2
    file.write_bytes(good)
    assert read_all(catalogue) == before


def _failure(path: Path) -> str:
    try:
        read_all(path)
    except SampleError as error:
        return str(error)
    return ""
