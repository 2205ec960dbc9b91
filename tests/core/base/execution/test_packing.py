"""Results as bytes: what goes in comes out, and nothing else does."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from trigemu.base.errors import TrigemuError
from trigemu.base.fingerprint import pack, unpack


@dataclass
class Inner:
    value: Any


@dataclass(frozen=True)
class Outer:
    one: Any
    other: Any = None


CLASSES = (Inner, Outer)
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
def test_values_come_back_as_they_were(value: Any) -> None:
    assert same(unpack(pack(value), CLASSES), value)


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


@dataclass
class Worded:
    _: KW_ONLY
    value: int = 1


@dataclass
class Derived:
    value: int = field(init=False, default=3)


@pytest.mark.parametrize(
    "value",
    [
        1j,
        b"bytes",
        {1, 2},
        object(),
        np.array([object()]),
        np.array(["text"]),
        np.array([(1, 2)], "i4,i4"),
        np.datetime64("2026-01-01"),
        Pair(1, 2),
        Worded(),
        Derived(),
        Outer,
        [Outer(1, [print])],
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_is_refused_at_once(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        pack(value)


WHOLE = pack(Outer({"a": np.arange(5.0), 2: (True, None)}, [Inner(np.zeros((2, 2), bool)), "text"]))


def only_refused(content: bytes) -> bool:
    """Whether bytes are refused. If they have a value, as where a digit was changed, that is no error."""
    try:
        unpack(content, CLASSES)
        return False
    except TrigemuError as error:
        return str(error) == "is not what trigemu writes"


def test_what_is_cut_short_or_longer_than_it_says_is_refused() -> None:
    assert all(only_refused(WHOLE[:length]) for length in range(len(WHOLE)))
    assert only_refused(WHOLE + b"\0")


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_changed_byte_gives_a_value_or_is_refused(at: int, change: int) -> None:
    only_refused(WHOLE[:at] + bytes([WHOLE[at] ^ change]) + WHOLE[at + 1 :])


def head(form: object, data: bytes = b"", size: int | None = None) -> bytes:
    text = form.encode() if isinstance(form, str) else json.dumps(form).encode()
    return (len(text) if size is None else size).to_bytes(8, "little") + text + data


ADVERSARIAL = {
    "a pickle": pickle.dumps([1]),
    "a head that is longer than all": head([1], size=2**63),
    "no JSON": head("[1"),
    "nested too deeply": head("[" * 100_000 + "]" * 100_000),
    "a huge array": head({"array": "<f8", "shape": [10**12]}),
    "a huge product": head({"array": "<f8", "shape": [2**32, 2**32]}),
    "a negative length": head({"array": "<f8", "shape": [-1]}, bytes(8)),
    "objects": head({"array": "|O8", "shape": [1]}, bytes(8)),
    "a dtype that is code": head({"array": "(1,,)f8", "shape": [1]}, bytes(8)),
    "no array for the data": head([], bytes(8)),
    "an unknown class": head({"of": "Popen", "with": ["id"]}),
    "a class with too little": head({"of": "Outer", "with": []}),
    "no kind": head({}),
}


@pytest.mark.parametrize("content", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_adversarial_bytes_are_refused_without_memory(content: bytes) -> None:
    tracemalloc.start()
    try:
        assert only_refused(content)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
