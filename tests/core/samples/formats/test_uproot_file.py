"""ROOT files with names that are code."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from toys import toy_events, write_root

from trigemu.api import SampleError
from trigemu.samples.root import NanoAOD, open_root

CODE = "1/().__class__.__base__.__subclasses__().append"


def test_a_name_that_is_no_branch_is_not_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As uproot does with what it does not find: a path whose last part has a / in its name."""
    with uproot.recreate(tmp_path / "a.root") as file:
        file.mktree("Events", {"b": np.arange(3.0)})
    (evaluated,) = uproot.open(tmp_path / "a.root")["Events"].arrays(["b * [3, 4][1]"], how=tuple)
    assert evaluated.tolist() == [0, 4, 8]  # the library alone
    source = NanoAOD(str(tmp_path / "a.root"))
    assert source.read(0, 3, [("", "b")]).scalars["b"].tolist() == [0, 1, 2]
    for name in ("b * [3, 4][1]", CODE, "b/c"):
        monkeypatch.setitem(source._branches, ("", "x"), name)  # type: ignore[arg-type]
        with pytest.raises(SampleError, match="has no branch"):
            source.read(0, 3, [("", "x")])


@pytest.mark.parametrize("name", [CODE, "sin(b)", "Jet_pt if b else c", "b + 1", "__import__('os')"])
def test_a_branch_may_have_any_name(tmp_path: Path, name: str) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        file.mktree("Events", {name: np.arange(3.0), "b": np.ones(3)})
    source = NanoAOD(str(tmp_path / "a.root"))
    assert ("", name) in source._branches
    assert source.read(0, 3, [("", name)]).scalars[name].tolist() == [0, 1, 2]


def renamed(content: bytes, old: bytes, new: bytes) -> bytes:
    """A file with another name of the same length in the uncompressed description of a class."""
    assert len(old) == len(new)
    assert old in content
    return content.replace(old, new)


@pytest.mark.parametrize("new", [b"fN'bytes", b"fNbyte\n)", b"f(Bytes)", b"fN\\ytes;"])
def test_descriptions_of_classes_have_plain_names(tmp_path: Path, new: bytes) -> None:
    with uproot.recreate(tmp_path / "a.root", compression=None) as file:
        file.mktree("Events", {"b": np.arange(3.0)})
    content = (tmp_path / "a.root").read_bytes()
    start, length = _streamers(content)
    plain = content[start : start + length]
    assert plain.count(b"fEntries") >= 1
    crafted = content[:start] + renamed(plain, b"fEntries", new) + content[start + length :]
    (tmp_path / "a.root").write_bytes(crafted)
    file = open_root(str(tmp_path / "a.root"))
    with pytest.raises(SampleError, match="describes a class with the name "):
        assert file.file.streamers


def _streamers(content: bytes) -> tuple[int, int]:
    """Where a file describes its classes: in the header, the end of two numbers before its UUID."""
    head: Any = struct.unpack_from(">4siiiiiiiBiii", content)
    return int(head[10]), int(head[11])


def test_a_file_with_plain_names_describes_its_classes(tmp_path: Path) -> None:
    write_root(tmp_path / "a.root", toy_events(1, 5))
    assert "TTree" in open_root(str(tmp_path / "a.root")).file.streamers


def _flipped(folder: Path) -> Iterator[Path]:
    """A file with one bit of the version of each object in its tree flipped, in turn."""
    with uproot.recreate(folder / "a.root", compression=None) as file:
        file.mktree("Events", {"b": np.arange(3.0)})
    content = (folder / "a.root").read_bytes()
    with uproot.open(folder / "a.root") as file:
        key = file.key("Events")
    for at in range(key.fSeekKey, key.fSeekKey + key.fNbytes - 6):
        count, version = struct.unpack_from(">IH", content, at)
        if 0x40000000 <= count < 0x40001000 and 0 < version < 30:  # how ROOT begins an object
            for bit in range(4):
                changed = content[: at + 5] + bytes([content[at + 5] ^ 1 << bit]) + content[at + 6 :]
                (folder / "b.root").write_bytes(changed)
                yield folder / "b.root"


def _known() -> dict[str, dict[int, object]]:
    return {name: dict(getattr(of, "known_versions", {})) for name, of in uproot.classes.items()}


def test_classes_of_a_damaged_file_are_its_own(tmp_path: Path) -> None:
    """uproot would add the class of a version that it does not know to those of all files."""
    before, number = _known(), 0
    for number, path in enumerate(_flipped(tmp_path), start=1):  # noqa: B007
        with suppress(Exception):
            NanoAOD(str(path)).read(0, 3, [("", "b")])
    assert number > 20
    assert _known() == before
