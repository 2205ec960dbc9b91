"""Write any nested dicts, lists and numbers as TOML or JSON, also where no reader should accept them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def as_toml(table: dict[str, Any]) -> str:
    """Return a document of dotted headers, so that messages can name lines."""
    with any_digits():
        return "\n".join(_lines(table, ())) + "\n"


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


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {k: v for k, v in table.items() if not _is_table(v) and not _is_list_of_tables(v)}
    lines = [f"{_text(key)} = {value_in_toml(value)}" for key, value in plain.items()]
    for key, value in table.items():
        name = ".".join(map(_text, (*path, key)))
        if _is_table(value):
            lines += [f"[{name}]", *_lines(value, (*path, key))]
        elif _is_list_of_tables(value):
            for entry in value:
                lines += [f"[[{name}]]", *_lines(entry, (*path, key))]
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))


def value_in_toml(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(value_in_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(k)} = {value_in_toml(v)}' for k, v in value.items())}}}"
    return str(value.isoformat())


def _text(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")
