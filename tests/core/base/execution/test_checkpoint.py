"""Checkpoints: what goes in comes out, nothing that is damaged does, and no code runs."""

from __future__ import annotations

import errno
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from trigemu.base.checkpoint import Checkpoint, keep_result, load_result, pack, unpack
from trigemu.base.errors import TrigemuError


@dataclass
class Inner:
    value: Any


@dataclass(frozen=True)
class Outer:
    one: Any
    other: Any = None

    def __post_init__(self) -> None:
        made.append(self)


made: list[Outer] = []
DTYPES = (
    arrays.boolean_dtypes()
    | arrays.integer_dtypes(endianness="?")
    | arrays.unsigned_integer_dtypes(endianness="?")
    | arrays.floating_dtypes(endianness="?")
)
ARRAYS = arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, min_side=0, max_side=3))
KEYS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
VALUES = st.recursive(
    KEYS | ARRAYS | arrays.from_dtype(np.dtype("f4")) | arrays.from_dtype(np.dtype("u8")),
    lambda values: st.one_of(
        st.lists(values, max_size=4),
        st.lists(values, max_size=4).map(tuple),
        st.dictionaries(KEYS, values, max_size=3),
        values.map(Inner),
        st.tuples(values, values).map(lambda pair: Outer(*pair)),
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Whether two values are of the same types and the same bits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | np.generic):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, Inner | Outer):
        return same([*vars(one).items()], [*vars(other).items()])
    if isinstance(one, dict):
        return same([*one.items()], [*other.items()])
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)  # also of nan, and -0.0


@given(VALUES)
def test_values_come_back_as_they_were_and_no_code_of_theirs_runs(value: Any) -> None:
    content = pack(value)
    made.clear()
    assert same(unpack(content), value)
    assert not made


def test_what_lies_scattered_in_memory_comes_back() -> None:
    grid = np.arange(12).reshape(3, 4)
    for array in (grid.T, grid[::2, ::-1], np.asfortranarray(grid), np.broadcast_to(grid, (2, 3, 4))):
        back = unpack(pack(array))
        assert np.array_equal(back, array)
        back[0] = 7  # it can be written to
        assert not np.shares_memory(back, array)


class Pair(NamedTuple):
    one: int
    other: int


@pytest.mark.parametrize(
    "value",
    [1j, b"bytes", {1, 2}, object(), np.array([object()]), Pair(1, 2), Outer, [Outer(1, [print])]],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_is_refused_at_once(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        pack(value)


VALUE = (Inner(np.arange(5)), {"a": Outer(2.5, "text")})


def stored(folder: Path) -> Path:
    """The file of a result."""
    path = Checkpoint(folder).file("0123")
    keep_result(path, VALUE)
    assert [*folder.iterdir()] == [path]
    return path


def test_any_damage_is_told_and_replaced(tmp_path: Path) -> None:
    """A flipped bit anywhere, a file that is cut short, or one that is foreign."""
    path = stored(tmp_path)
    content = path.read_bytes()
    damaged = [
        content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :] for at in range(len(content))
    ]
    damaged += [content[:length] for length in (*range(0, len(content), 7), len(content) - 1)]
    for foreign in (*damaged, content + b"\0", b"\x80\x04" + bytes(300), b"\n" * 500):
        path.write_bytes(foreign)
        told: list[str] = []
        assert load_result(path, told.append) is None
        assert told == [f"{path} is damaged or of another program: its part is done again"]
    keep_result(path, VALUE)
    assert same(load_result(path, pytest.fail), VALUE)


class Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, ("exploded",)


def test_whole_files_of_others_run_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a good digest."""
    monkeypatch.chdir(tmp_path)
    path = stored(tmp_path / "kept")
    bomb = tmp_path / "bomb.npz"
    np.savez(bomb, np.array([Bomb()], object))
    pickled = pickle.dumps(Bomb())
    tree = b'{"of": ["os", "mkdir"], "with": {"path": "exploded"}}'
    np.savez(tmp_path / "tree.npz", np.frombuffer(tree, np.uint8))
    for body in (bomb.read_bytes(), pickled, (tmp_path / "tree.npz").read_bytes(), pack(0)[:-1]):
        with monkeypatch.context() as patched:
            patched.setattr("trigemu.base.checkpoint.pack", lambda value, body=body: body)
            keep_result(path, None)
        told: list[str] = []
        assert load_result(path, told.append) is None
        assert told == [f"{path} is not of this program: its part is done again"]
    assert not (tmp_path / "exploded").exists()


def test_a_folder_that_cannot_be_made_or_written_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is done."""
    (tmp_path / "file").touch()
    for name, reason in (("file", "File exists"), ("file/below", "Not a directory"), ("a\0b", "null byte")):
        with pytest.raises(TrigemuError, match=f"cannot make the checkpoint folder .*{reason}"):
            Checkpoint(tmp_path / name)
    assert Checkpoint(tmp_path / "new" / "below").folder.is_dir()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
    with pytest.raises(TrigemuError, match="its folder is not writable"):
        Checkpoint(tmp_path)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TrigemuError, match=r"cannot write .*\.task: No space left on device"):
        stored(tmp_path)
    assert [*tmp_path.iterdir()] == []
