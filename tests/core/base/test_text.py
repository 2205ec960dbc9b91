"""Text of others in messages: bounded, and without characters that act on a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from trigemu.base.errors import LONGEST, file_stem, printable, quoted


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
    shown.encode()


def test_characters_to_be_kept_stay() -> None:
    assert printable("a\nb\x07", keep="\n") == "a\nb\\x07"


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


@pytest.mark.parametrize("value", ["a'b", 10**30, 1.5, [1, "a"], {"a": True}])
def test_short_values_are_quoted_as_python_writes_them(value: object) -> None:
    assert quoted(value) == repr(value)


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
