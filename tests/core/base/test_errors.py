"""Messages stay readable, bounded and quick to make, whatever they are about; arguments of wrong types."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from trigemu import Catalogue, TrigemuError
from trigemu.base.errors import (
    LONGEST,
    MAX_EXCERPT,
    WrongTypeError,
    excerpt,
    file_stem,
    listed,
    names_of,
    nearest,
    number_of,
    numbers_of,
    own_cause,
    printable,
    quoted,
    without_unit,
    wrong_type,
)


def test_the_nearest_name_and_the_known_ones() -> None:
    assert nearest("Jte", ["jet", "muon"]) == "; did you mean 'jet'? (known: jet, muon)"
    assert nearest("x", []) == " (known: none)"
    assert nearest("ET", ["eta", "phi", "pt"]) == "; did you mean 'pt'? (known: eta, phi, pt)"
    assert nearest("et", ["eta", "phi"]).startswith("; did you mean 'eta'?")


def test_of_many_names_some_are_listed() -> None:
    hint = nearest("n00a", (f"n{i:03}" for i in range(60)))
    assert re.fullmatch(r"; did you mean 'n\d+'\? \(nearest of 60: n\d+, n\d+, n\d+\)", hint)


def test_a_long_text_keeps_its_ends() -> None:
    assert excerpt("abcdefgh", 4) == "ab … gh"
    assert len(nearest("x" * 10**6, ["y" * 10**6])) < 3 * MAX_EXCERPT


def test_many_problems_are_counted() -> None:
    assert listed(["a", "b"]) == "a\nb"
    assert listed([1, 2, 3, 4], 2) == "1\n2\n… and 2 more"


def test_lack_of_memory_or_space_is_nobodys_fault() -> None:
    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 55)
    assert "not enough memory (Unable to allocate" in str(own_cause(caught.value))
    assert "No space left" in str(own_cause(OSError(errno.ENOSPC, "No space left on device")))
    assert own_cause(FileNotFoundError(errno.ENOENT, "no")) is None
    assert own_cause(ValueError("x")) is None


@pytest.mark.parametrize(
    ("written", "hz"),
    [
        ("100kHz", "100000"),
        ("1.5 MHz", "1.5e6"),
        ("40 Hz", "40"),
        ("1e3khz", "1e6"),
        ("2GHz", "2e9"),
        ("5 mHz", "0.005"),
        *(
            (other, "")
            for other in (3.0, "100", "kHz", "100 kb", "1 kHz and more", "x100kHz", "\u0661Hz\u00b2")
        ),
    ],
)
def test_a_rate_has_no_unit(written: object, hz: str) -> None:
    assert without_unit(written) == (f"; rates are numbers in Hz, without the unit: {hz}" if hz else "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("J100 η → φ é 漢", "J100 η → φ é 漢"),
        ("no\u00a0break", "no\u00a0break"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\nb\tc\0", r"a\nb\tc\x00"),
        ("\u202eabc", r"\u202eabc"),
        ("a\u2028b", r"a\u2028b"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_acts_on_a_terminal_becomes_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(f"\n{text}", keep="\n").startswith("\n")
    shown.encode()


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_any_value_can_be_quoted() -> None:
    huge = 10**5000
    texts = ["x" * 10**6, {"k" * 10**5: "v" * 10**5}]
    for value in (huge, -huge, nested(100_000), [[huge] * 100] * 100, *texts):
        assert 0 < len(quoted(value)) < 5 * LONGEST
    for short in ("a'b", 10**30, 1.5, [1, "a"], {"a": True}):
        assert quoted(short) == repr(short)


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("jet[0].pt", "jet_0_pt"),
        ("n_jet >= 2", "n_jet_ge_2"),
        ("../../etc/passwd", "etc_passwd"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("x" * 1000, "x" * 100),
        ("é" * 1000, "é" * 50),
        ("a\0b\nc", "a_b_c"),
    ],
)
def test_stems_of_files_are_safe(text: str, stem: str) -> None:
    assert file_stem(text) == stem


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
    message = str(wrong_type("the menu", value, "a path")).replace("pathlib._local.", "pathlib.")
    assert message == f"the menu: got {words}; expected a path"


def test_the_error_is_of_both_kinds_and_short() -> None:
    error = wrong_type("the menu", 5, "a path", "write it to a file")
    assert isinstance(error, TrigemuError)
    assert isinstance(error, TypeError)
    for part in ("the menu", "5", "a path", "write it to a file"):
        assert part in str(error)
    for long in ("x" * 10**6, [type(f"T{i}", (), {})() for i in range(99)]):
        assert len(str(wrong_type("the menu", long, "a path"))) < 300


def test_numbers_and_names() -> None:
    for given in ([1, 2.5], (1, 2.5), np.array([1, 2.5]), ak.Array([1, 2.5])):
        assert numbers_of("the edges", given) == (1, 2.5)
        assert all(type(number) in (int, float) for number in numbers_of("the edges", given))
    for one in (3, 3.0, np.float32(3), np.int64(3)):
        assert number_of("the rate", one) == 3
    assert names_of("the samples", "yy") == ("yy",)
    assert names_of("the samples", ["yy", "zz"]) == names_of("the samples", ("yy", "zz")) == ("yy", "zz")


@pytest.mark.parametrize(
    ("take", "others", "message"),
    [
        (
            numbers_of,
            [5, "0:10", None, [[1, 2]], [[1], [1, 2]], ["a"], {"a": 1}, [None, 1], [True]],
            "expected a list of numbers",
        ),
        (number_of, [None, "3", True, [3], np.ones(1), 3j], "expected a number"),
        (names_of, [5, None, [5], {"a": 1}, {"a"}], "expected a name, or a list of names"),
    ],
)
def test_what_is_none(take: Callable[[str, object], object], others: list[object], message: str) -> None:
    for given in others:
        with pytest.raises(WrongTypeError, match=f"the thing: got .*; {message}"):
            take("the thing", given)
