"""What is written is read back as it was."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from trigemu.base import toml_text

LEAVES = (
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_is_written_is_read(entries: dict[str, Any]) -> None:
    read = tomllib.loads(toml_text.table("[part]", entries))["part"]
    assert repr(read) == repr(entries)


def test_a_long_list_has_a_line_for_each_part() -> None:
    legs = [{"object": "muon", "pt": {"min": 3.0}, "quality": {"any_of": [12, 13, 14, 15]}}] * 2
    assert toml_text.table("[[trigger]]", {"legs": legs, "none": None}).splitlines() == [
        "[[trigger]]",
        "legs = [",
        '    { object = "muon", pt = { min = 3.0 }, quality = { any_of = [12, 13, 14, 15] } },',
        '    { object = "muon", pt = { min = 3.0 }, quality = { any_of = [12, 13, 14, 15] } },',
        "]",
    ]


def test_a_short_list_has_one() -> None:
    assert toml_text.entry("legs", [{"object": "muon"}]) == 'legs = [{ object = "muon" }]'


def test_a_text_of_several_lines_keeps_them() -> None:
    assert toml_text.entry("expression", "a or\n(b and c)") == 'expression = """\na or\n(b and c)"""'


@pytest.mark.parametrize("text", ["one", "two\nlines\x00", "long " * 60, "nobreak" * 40, ""])
def test_every_line_of_a_comment_is_one(text: str) -> None:
    lines = toml_text.comment(text).splitlines()
    assert all(line.startswith("#") for line in lines)
    assert all(len(line) <= toml_text.WIDTH or " " not in line[2:].strip() for line in lines)
    assert " ".join(lines).replace("#", " ").split() == text.replace("\x00", " ").split()
