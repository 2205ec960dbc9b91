"""Write TOML in a readable layout."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

WIDTH = 110


def table(header: str, entries: Mapping[str, Any]) -> str:
    """Return the lines of a table below its header, such as [menu] or [[trigger]]. Values that are None are
    left out."""
    lines = [header]
    lines += [entry(key, item) for key, item in entries.items() if item is not None]
    return "\n".join(lines) + "\n"


def entry(key: str, item: Any) -> str:
    """Return `key = value`, on several lines if one would be too long or the text has several; without a line
    break at the end. The key is quoted if needed.

    Examples
    --------
    >>> entry("pt", {"min": 20.0})
    'pt = { min = 20.0 }'
    """
    start = f"{_key(key)} = "
    if isinstance(item, str) and "\n" in item:
        return f'{start}"""\n' + "\n".join(_quoted(line)[1:-1] for line in item.split("\n")) + '"""'
    if len(start) + len(short := value(item)) <= WIDTH or not isinstance(item, list | tuple):
        return start + short
    return f"{start}[\n" + "".join(f"    {value(part)},\n" for part in item) + "]"


def value(item: Any) -> str:
    """Return a bool, number, text, sequence or mapping on one line. Floats keep every bit."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, str):
        return _quoted(item)
    if isinstance(item, Mapping):
        inner = ", ".join(f"{_key(key)} = {value(part)}" for key, part in item.items())
        return f"{{ {inner} }}" if inner else "{}"
    return f"[{', '.join(map(value, item))}]"


def comment(text: str) -> str:
    """Return a text as lines that begin with #, wrapped at `WIDTH` characters. Control characters become
    blanks."""
    text = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    wrap = textwrap.TextWrapper(WIDTH, "# ", "#     ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrap.wrap(text) or ["# "]) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """Quote a text. JSON's escapes are TOML's, except for one character that JSON does not escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
