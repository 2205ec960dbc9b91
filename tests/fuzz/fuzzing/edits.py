"""Edits that spoil a file: of its bytes, of its words, or of the values in its tables."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from fuzzing.tables import any_digits

NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 127, 255, 1000, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1),
    *(2**63, -(2**63), 2**64, 10**30, 10**310, 10**4400),
    *(0.0, -0.0, 0.5, 1e-9, 1e-320, 1e-200, 1e9, 1e19, 3.5e38, 1e160, 1e308, -1e308),
    *(math.inf, -math.inf, math.nan),
)
TEXTS = (
    *(
        "",
        " ",
        "x",
        "jet",
        "muon",
        "pt",
        "photon[0].pt",
        "nan",
        "inf",
        "1e999",
        "-1",
        "true",
        "null",
        "a" * 300,
    ),
    *("\x00", "\x1b[31mred", "\r\n", "\u202e", "$\\frac{$", "$a^b^c$", "$$", "{0}", "%s", "%(name)s", "=1+1"),
    *(
        "<script>alert(1)</script>",
        "<!--",
        "]]>",
        "&amp;",
        "../../etc/passwd",
        "/etc/passwd",
        "/dev/zero",
        ".",
    ),
    *("file:///dev/zero", "data:,x", "reference://x", "zip://a::b", "~", "$HOME", "*", "**/*", "\u0130", "é"),
    *("__import__('os')", "(" * 60 + ")" * 60, "1+" * 60 + "1", "not " * 60 + "True", "ap_fixed<8,4>"),
)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    *TEXTS,
    *(True, False, [], {}, [[]], [{}], {"": ""}, {"x": {"y": {}}}, [0] * 20),
    *(datetime.date(2024, 2, 29), datetime.time(1, 2, 3), datetime.datetime(2024, 2, 29, 1, 2, 3)),
)
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

#: Where an edit is made: a fraction of the length, or of the number of places.
places = st.floats(0, 1, exclude_max=True)


def byte_edits(content: bytes, most: int = 4) -> st.SearchStrategy[bytes]:
    """Draw a spoilt copy of some bytes."""
    return st.lists(_byte_edit, min_size=1, max_size=most).map(lambda edits: _edited(content, edits))


_WORDS = tuple(
    value.to_bytes(size, order, signed=value < 0)
    for value in (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**62, 0xFFFF, 1_000_000)
    for size in (2, 4, 8)
    for order in ("little", "big")
    if -(2 ** (8 * size - 1)) <= value < 2 ** (8 * size)
)
_byte_edit = st.one_of(
    st.tuples(st.just("flip"), places, st.integers(0, 7)),
    st.tuples(st.just("set"), places, st.integers(0, 255)),
    st.tuples(st.just("word"), places, st.sampled_from(_WORDS)),
    st.tuples(st.just("cut"), places, st.sampled_from((1, 2, 4, 16, 100, 10_000))),
    st.tuples(st.just("repeat"), places, st.sampled_from((1, 4, 64, 2_000))),
    st.tuples(st.just("insert"), places, st.binary(min_size=1, max_size=8)),
    st.tuples(st.just("end"), places, st.just(None)),
)


def _edited(content: bytes, edits: Sequence[tuple[str, float, Any]]) -> bytes:
    made = bytearray(content)
    for what, place, of in edits:
        if not made:
            break
        at = int(place * len(made))
        if what == "flip":
            made[at] ^= 1 << of
        elif what == "set":
            made[at] = of
        elif what == "word":
            made[at : at + len(of)] = of
        elif what == "cut":
            del made[at : at + of]
        elif what == "repeat":
            made[at:at] = made[at : at + of]
        elif what == "insert":
            made[at:at] = of
        else:
            del made[at:]
    return bytes(made)


def word_edits(text: str, further: Sequence[str] = (), most: int = 3) -> st.SearchStrategy[str]:
    """Draw a copy of a text with words, signs or lines replaced, removed, repeated or exchanged."""
    with any_digits():
        numbers = [str(number) for number in NUMBERS]
    words = st.sampled_from((*TEXTS, *further, *numbers))
    edit = st.tuples(
        st.sampled_from(("replace", "remove", "repeat", "swap", "insert", "line", "twice")), places, words
    )
    return st.lists(edit, min_size=1, max_size=most).map(lambda edits: _reworded(text, edits))


def _reworded(text: str, edits: Sequence[tuple[str, float, str]]) -> str:
    for what, place, word in edits:
        if what in ("line", "twice"):
            lines = text.splitlines(keepends=True) or [""]
            at = int(place * len(lines))
            text = "".join([*lines[:at], *([lines[at]] * 2 if what == "twice" else []), *lines[at + 1 :]])
            continue
        parts = _WORD.findall(text) or [""]
        at = int(place * len(parts))
        if what == "replace":
            parts[at] = word
        elif what == "remove":
            del parts[at]
        elif what == "repeat":
            parts[at:at] = [parts[at]] * 3
        elif what == "swap" and at + 2 < len(parts):
            parts[at], parts[at + 2] = parts[at + 2], parts[at]
        else:
            parts.insert(at, word)
        text = "".join(parts)
    return text


_EVERY = ("replace", "replace", "replace", "nudge", "nudge", "remove", "repeat", "wrap", "rename", "add")


def table_edits(
    table: Any, further: Sequence[Any] = (), most: int = 3, whats: Sequence[str] = _EVERY
) -> st.SearchStrategy[Any]:
    """Draw a copy of nested dicts and lists with values replaced, removed, repeated, wrapped or renamed."""
    values = st.sampled_from((*VALUES, *further))
    edit = st.tuples(
        st.sampled_from(whats),
        places,
        values,
        st.sampled_from(_names(table)),
    )
    return st.lists(edit, min_size=1, max_size=most).map(lambda edits: _retabled(table, edits))


def _names(table: Any) -> list[str]:
    names = {key for _, key in _places(table) if isinstance(key, str)}
    return sorted(names | {"x", "", "name", "a.b", "é\n"})


def _places(table: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of every value, from the outside in."""
    keys: Any = (
        list(table) if isinstance(table, dict) else range(len(table)) if isinstance(table, list) else ()
    )
    for key in keys:
        yield table, key
        yield from _places(table[key])


def _copy(table: Any) -> Any:
    if isinstance(table, dict):
        return {key: _copy(value) for key, value in table.items()}
    return [_copy(value) for value in table] if isinstance(table, list) else table


def _retabled(table: Any, edits: Sequence[tuple[str, float, Any, str]]) -> Any:
    table = _copy(table)
    for what, place, value, name in edits:
        found = list(_places(table))
        if not found:
            break
        inside, key = found[int(place * len(found))]
        old = inside[key]
        if what == "replace":
            inside[key] = _copy(value)
        elif what == "nudge":
            inside[key] = _nudged(old, place)
        elif what == "remove":
            del inside[key]
        elif what == "wrap":
            inside[key] = [old] if place < 0.5 else {name: old}
        elif isinstance(inside, list):
            inside.insert(key, _copy(old))
        elif what == "rename":
            inside[name] = inside.pop(key)
        else:
            inside[name] = _copy(value)
    return table


def _nudged(value: Any, place: float) -> Any:
    """Return a value of the same kind that may well be allowed."""
    if isinstance(value, bool):
        return not value
    way = int(place * 1e6) % 5
    if isinstance(value, int):  # of any size, also beyond a float
        return (value // 2, value * 2, value + value // 10, -value, 0)[way]
    if isinstance(value, float):
        return value * (0.5, 2.0, 1.1, -1.0, 0.0)[way]
    if isinstance(value, str) and value:
        at = int(place * len(value))
        return value[:at] + value[at + 1 :]
    return value
