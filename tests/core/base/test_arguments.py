from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from trigemu import Catalogue, TrigemuError
from trigemu.base.errors import WrongTypeError, described, names_of, number_of, numbers_of, wrong_type


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("text", "'text'"),
        ([], "a list"),
        ([1, "a", {}, 2.0, b""], "a list of int"),
        (np.ones(3), "a numpy.ndarray"),
        (ak.Array([{"x": 1}])[0], "an awkward.Record"),
        (Catalogue, "the class Catalogue"),
        (Path("x"), "a pathlib.PosixPath"),
    ],
)
def test_values_are_described(value: Any, words: str) -> None:
    assert described(value).replace("pathlib._local.", "pathlib.") == words


def test_the_error_is_of_both_kinds_and_short() -> None:
    error = wrong_type("the menu", 5, "a path", "write it to a file")
    assert isinstance(error, TrigemuError)
    assert isinstance(error, TypeError)
    for part in ("the menu", "5", "a path", "write it to a file"):
        assert part in str(error)
    for long in ("x" * 10**6, [type(f"T{i}", (), {})() for i in range(99)]):
        assert len(str(wrong_type("the menu", long, "a path"))) < 300


def test_numbers() -> None:
    for given in ([1, 2.5], (1, 2.5), np.array([1, 2.5]), ak.Array([1, 2.5])):
        assert numbers_of("the edges", given) == (1, 2.5)
        assert all(type(number) in (int, float) for number in numbers_of("the edges", given))
    for one in (3, 3.0, np.float32(3), np.int64(3)):
        assert number_of("the rate", one) == 3


def test_what_is_no_number() -> None:
    for given in (5, "0:10", None, [[1, 2]], [[1], [1, 2]], ["a"], {"a": 1}, [None, 1], [True]):
        with pytest.raises(WrongTypeError, match=r"the edges: got .*; expected a list of numbers"):
            numbers_of("the edges", given)
    for one in (None, "3", True, [3], np.ones(1), 3j):
        with pytest.raises(WrongTypeError, match="expected a number"):
            number_of("the rate", one)


def test_names() -> None:
    assert names_of("the samples", "yy") == ("yy",)
    assert names_of("the samples", ["yy", "zz"]) == names_of("the samples", ("yy", "zz")) == ("yy", "zz")
    for given in (5, None, [5], {"a": 1}, {"a"}):
        with pytest.raises(WrongTypeError, match="expected a name, or a list of names"):
            names_of("the samples", given)
