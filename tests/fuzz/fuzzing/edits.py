"""Edits that spoil a file: of its bytes, of its words, or of the values in its tables."""

from __future__ import annotations

import copy
import datetime
import json
import math
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st

from trigemu.base import toml_text

NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 127, 255, 1000, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1),
    *(2**63, -(2**63), 2**64, 10**30, 10**310, 10**4400),
    *(0.0, -0.0, 0.5, 1e-9, 1e-320, 1e-200, 1e9, 1e19, 3.5e38, 1e160, 1e308, -1e308),
    *(math.inf, -math.inf, math.nan),
)
TEXTS = (
    *("", " ", "x", "jet", "muon", "pt", "photon[0].pt", "nan", "inf", "1e999", "-1", "true", "null"),
    *("a" * 300, "\x00", "\x1b[31mred", "\r\n", "\u202e", "$\\frac{$", "$a^b^c$", "$$", "{0}", "%s"),
    *("%(name)s", "=1+1", "<script>alert(1)</script>", "<!--", "]]>", "&amp;", "../../etc/passwd"),
    *("/etc/passwd", "/dev/zero", ".", "data:,x", "reference://x", "zip://a::b", "~"),
    *("$HOME", "*", "**/*", "\u0130", "é", "__import__('os')", "(" * 60 + ")" * 60, "1+" * 60 + "1"),
    *("not " * 60 + "True", "ap_fixed<8,4>"),
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


def spoilt(text: str, further: Sequence[Any] = (), words: Sequence[str] = ()) -> st.SearchStrategy[bytes]:
    """Draw copies of a TOML text with other values, words or bytes."""
    table = tomllib.loads(text)
    tables = (table_edits(table, further, most=most).map(as_toml).map(encoded) for most in (1, 3))
    return st.one_of(*tables, spoilt_words(text, words), byte_edits(text.encode()))


def spoilt_words(text: str, words: Sequence[str] = (), most: int = 3) -> st.SearchStrategy[bytes]:
    """Draw copies of a text with other words or bytes."""
    return st.one_of(word_edits(text, words, most).map(encoded), byte_edits(text.encode()))


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# ---- bytes

_WORDS = tuple(
    value.to_bytes(size, order, signed=value < 0)
    for value in (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**62, 0xFFFF, 1_000_000)
    for size in (2, 4, 8)
    for order in ("little", "big")
    if -(2 ** (8 * size - 1)) <= value < 2 ** (8 * size)
)
#: The number of bytes that are replaced; by what; whether what follows is cut off.
_byte_edit = st.one_of(
    st.tuples(places, st.just(1), st.binary(min_size=1, max_size=1)),
    st.tuples(places, st.just(0), st.binary(min_size=1, max_size=8)),
    st.tuples(places, st.sampled_from((1, 2, 4, 16, 100, 10_000, sys.maxsize)), st.just(b"")),
    st.sampled_from(_WORDS).flatmap(lambda word: st.tuples(places, st.just(len(word)), st.just(word))),
    st.tuples(places, st.just(0), st.sampled_from((1, 4, 64, 2_000))),  # repeated
)


def byte_edits(content: bytes, most: int = 4) -> st.SearchStrategy[bytes]:
    """Draw a spoilt copy of some bytes."""

    def edited(edits: Sequence[tuple[float, int, bytes | int]]) -> bytes:
        made = content
        for place, removed, added in edits:
            at = int(place * len(made))
            new = made[at : at + added] if isinstance(added, int) else added
            made = made[:at] + new + made[at + removed :]
        return made

    return st.lists(_byte_edit, min_size=1, max_size=most).map(edited)


# ---- words


def word_edits(text: str, further: Sequence[str] = (), most: int = 3) -> st.SearchStrategy[str]:
    """Draw a copy of a text with words, signs or lines replaced, removed, repeated or exchanged."""
    with any_digits():
        words = st.sampled_from((*TEXTS, *further, *map(str, NUMBERS)))
    whats = st.sampled_from(("replace", "remove", "repeat", "swap", "insert", "line", "twice"))
    edits = st.lists(st.tuples(whats, places, words), min_size=1, max_size=most)
    return edits.map(lambda edits: _reworded(text, edits))


def _reworded(text: str, edits: Sequence[tuple[str, float, str]]) -> str:
    for what, place, word in edits:
        of_lines = what in ("line", "twice")
        parts = (text.splitlines(keepends=True) if of_lines else _WORD.findall(text)) or [""]
        at = int(place * len(parts))
        old = parts[at]
        if what == "swap" and at + 2 < len(parts):
            parts[at], parts[at + 2] = parts[at + 2], old
        else:
            new = {"replace": [word], "insert": [word, old], "repeat": [old] * 4, "twice": [old] * 2}
            parts[at : at + 1] = new.get(what, [])
        text = "".join(parts)
    return text


# ---- tables

_ALL = ("replace", "replace", "replace", "nudge", "nudge", "remove", "repeat", "wrap", "rename", "add")


def table_edits(
    table: Any, further: Sequence[Any] = (), most: int = 3, whats: Sequence[str] = _ALL
) -> st.SearchStrategy[Any]:
    """Draw a copy of nested dicts and lists with values replaced, removed, repeated, wrapped or renamed."""
    names = {key for _, key in _places(table) if isinstance(key, str)} | {"x", "", "name", "a.b", "é\n"}
    values = st.sampled_from((*VALUES, *further))
    edit = st.tuples(st.sampled_from(whats), places, values, st.sampled_from(sorted(names)))
    return st.lists(edit, min_size=1, max_size=most).map(lambda edits: _retabled(table, edits))


def _places(table: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of every value, from the outside in."""
    keys: Any = [*table] if isinstance(table, dict) else range(len(table)) if isinstance(table, list) else ()
    for key in keys:
        yield table, key
        yield from _places(table[key])


def _retabled(table: Any, edits: Sequence[tuple[str, float, Any, str]]) -> Any:
    table = copy.deepcopy(table)
    for what, place, value, name in edits:
        if not (found := list(_places(table))):
            break
        inside, key = found[int(place * len(found))]
        old = inside[key]
        if what == "replace":
            inside[key] = copy.deepcopy(value)
        elif what == "nudge":
            inside[key] = _nudged(old, place)
        elif what == "remove":
            del inside[key]
        elif what == "wrap":
            inside[key] = [old] if place < 0.5 else {name: old}
        elif isinstance(inside, list):
            inside.insert(key, copy.deepcopy(old))
        elif what == "rename":
            inside[name] = inside.pop(key)
        else:
            inside[name] = copy.deepcopy(value)
    return table


def _nudged(value: Any, place: float) -> Any:
    """Return a value of the same kind that may well be allowed."""
    way = int(place * 1e6) % 5
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):  # of any size, also beyond a float
        return (value // 2, value * 2, value + value // 10, -value, 0)[way]
    if isinstance(value, float):
        return value * (0.5, 2.0, 1.1, -1.0, 0.0)[way]
    at = int(place * len(value)) if isinstance(value, str) else 0
    return value[:at] + value[at + 1 :] if isinstance(value, str) else value


def as_toml(table: dict[str, Any]) -> str:
    """Return a document with headers, so that messages can name lines, even of what no reader accepts."""

    def lines(table: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
        entries = {key: value if isinstance(value, list) else [value] for key, value in table.items()}
        headed = {key for key, of in entries.items() if of and all(isinstance(t, dict) and t for t in of)}
        yield from (f"{_text(key)} = {_value(table[key])}" for key in table if key not in headed)
        for key in headed:
            name = ".".join(map(_text, (*path, key)))
            for entry in entries[key]:
                yield f"[[{name}]]" if isinstance(table[key], list) else f"[{name}]"
                yield from lines(entry, (*path, key))

    with any_digits():
        return "\n".join(lines(table, ())) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)} = {_value(part)}' for key, part in value.items())}}}"
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else toml_text.value(value)


def _text(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")


def as_json(made: Any) -> bytes:
    with any_digits():
        return json.dumps(made, default=str).encode()


@contextmanager
def any_digits() -> Iterator[None]:
    """Let whole numbers have any number of digits, which Python only writes when asked to."""
    old = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(old)
