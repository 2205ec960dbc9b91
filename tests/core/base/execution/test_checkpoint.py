"""Checkpoints: what goes in comes out, nothing damaged does, and no code runs. Fingerprints: equal for
equal values in every process, and different for all others."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from trigemu.base.checkpoint import (
    Checkpoint,
    digest_of_code,
    fingerprint,
    keep_result,
    load_result,
    pack,
    unpack,
)
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


@pytest.mark.parametrize(
    "value",
    [1j, b"bytes", {1, 2}, object(), np.array([object()]), Outer, [Outer(1, [print])]],
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
    monkeypatch.chdir(tmp_path)
    path, tree = stored(tmp_path / "kept"), tmp_path / "tree.npz"
    np.savez(tree, np.frombuffer(b'{"of": ["os", "mkdir"], "with": {"path": "exploded"}}', np.uint8))
    for body in (pickle.dumps(Bomb()), tree.read_bytes()):
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


PROGRAM = """
import enum, sys
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from trigemu.base.checkpoint import fingerprint
from trigemu.observables import workspace

@dataclass(frozen=True)
class Cut:
    name: str
    above: float

Colour = enum.Enum("Colour", ["RED", "BLUE"], module="shades")
names = ["name%d" % k for k in range(50)]
names = names[::int(sys.argv[1])]
print(fingerprint(
    frozenset(names), {name: (1, 2.5) for name in names}, Cut("a", 1e300), Colour.RED, np.arange(3) / 7,
    Path("a/b"), workspace.delta_phi.py_func, b"bytes", None, "\\ud800", {frozenset([1, "a"]): {2}},
))
"""


def test_it_is_the_same_in_another_process_and_in_any_order() -> None:
    found = set()
    for seed, step in (("1", "1"), ("2", "-1")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, step], env=environment, capture_output=True, text=True, check=True
        )
        found.add(done.stdout.strip())
    (one,) = found
    assert len(one) == 64


@dataclass(frozen=True)
class Cut:
    name: str
    above: float = 1.0


@dataclass(frozen=True)
class Window:
    name: str
    above: float = 1.0


class Row(msgspec.Struct, frozen=True):
    name: str
    above: float = 1.0


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


def a_function() -> None: ...


class WithMethod:
    @classmethod
    def of_class(cls) -> None: ...

    def of_object(self) -> None: ...


ALL_DIFFERENT: list[Any] = [
    *(1, 1.0, True, "1", b"1", np.int64(1), np.int32(1), np.float32(1), np.float64(1), Level.LOW, Path("1")),
    *(0, 0.0, -0.0, False, None, "", b"", (), {}, set(), math.nan, math.inf, -math.inf, 1e-320),
    *(("a", "b"), ("ab",), ("b", "a"), (("a",), "b"), ("a", ("b",)), {"a": "b"}, {"b": "a"}, {"a", "b"}),
    *(Cut("a"), Cut("b"), Cut("a", 2.0), Cut("a", 1), Window("a"), Row("a"), Row("b"), Row("a", 2.0)),
    *(Colour.RED, Colour.BLUE, Cut, Window, Colour, a_function, fingerprint, math.sqrt, np.sum, len),
    *(WithMethod.of_class, WithMethod.of_object, np.array([0.0, 0.0, -0.0, 0.0])),
    *(np.zeros(shape) for shape in (4, (2, 2), (4, 1), 0, (0, 3))),
    *(np.zeros(4, kind) for kind in ("f4", "i8", ">i8", "i4,i4", [("f0", "i4"), ("other", "i4")])),
]


def test_different_values_have_different_fingerprints() -> None:
    """And several are not one."""
    pairs = [("a", "b"), ("ab",), ("", "ab"), (("a", "b"),), ("a", "b", "")]
    assert len({fingerprint(*pair) for pair in pairs}) == len(pairs)
    found = [fingerprint(value) for value in ALL_DIFFERENT]
    for (one, its), (other, others) in itertools.combinations(zip(ALL_DIFFERENT, found, strict=True), 2):
        assert its != others, (one, other)


def test_a_partial_function_is_told_by_what_it_holds() -> None:
    made = [functools.partial(a_function, *args) for args in ((), (1,), (2,), (1,))]
    assert len({a_function, *map(fingerprint, made)}) == 4
    assert fingerprint(made[1]) == fingerprint(made[3])


def test_layout_and_fields_that_are_left_out_make_no_difference() -> None:
    grid = np.arange(6).reshape(2, 3)
    assert fingerprint(np.asfortranarray(grid)) == fingerprint(grid) == fingerprint(grid[::-1][::-1])
    assert fingerprint(grid.T) != fingerprint(grid)
    for kind in (Cut, Row):
        names = [fingerprint([{"x": kind(*of)}], without=["name"]) for of in (("a",), ("b",), ("a", 2.0))]
        assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    "value",
    [
        *(lambda: 1, functools.partial(lambda: 1), WithMethod().of_object, [].append, object(), 1j, range(3)),
        *(np.array([object()], object), bytearray(1), range(3), (name for name in "ab")),
        dataclasses.make_dataclass("Holder", ["value"])(object()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_content_tells_has_none(value: object) -> None:
    with pytest.raises(TypeError, match="has no fingerprint"):
        fingerprint(["in", {"a": value}])


def test_the_digest_of_code_changes_with_any_file_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest() -> str:
        digest_of_code.cache_clear()
        return digest_of_code()

    before = digest()
    monkeypatch.setattr("trigemu.base.checkpoint._ROOT", tmp_path)
    (tmp_path / "__init__.py").touch()
    (tmp_path / "below").mkdir()
    file = tmp_path / "below" / "code.py"
    found = [before, digest()]
    for text in ("x = 1", "x = 2", ""):
        file.write_text(text)
        found.append(digest())
    file.rename(file.with_name("other.py"))
    found.append(digest())
    assert len(set(found)) == 6
    (tmp_path / "notes.txt").write_text("no code")
    assert digest() == found[-1]
    digest_of_code.cache_clear()
