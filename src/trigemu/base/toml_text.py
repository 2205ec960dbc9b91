"""Write TOML in a readable layout, and replace numbers in tables by their path, such as `legs[0].pt.min`."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from trigemu.base.errors import TrigemuError, nearest, quoted
from trigemu.base.toml import Key, TomlTable, dotted

WIDTH = 110


def table(header: str, entries: Mapping[str, Any]) -> str:
    """Return a table of TOML.

    Parameters
    ----------
    header : str
        Its first line, such as [menu] or [[trigger]].
    entries : mapping of str to object
        Keys and values; values that are None are left out.

    Returns
    -------
    str
        The lines, with a line break at the end.
    """
    lines = [header]
    lines += [entry(key, item) for key, item in entries.items() if item is not None]
    return "\n".join(lines) + "\n"


def entry(key: str, item: Any) -> str:
    """Return `key = value`, on several lines if one would be too long or the text has several.

    Parameters
    ----------
    key : str
        The key; it is quoted if needed.
    item : bool, int, float, str, sequence or mapping
        The value.

    Returns
    -------
    str
        The lines, without a line break at the end.

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
    """Return a value on one line. Floats keep every bit.

    Parameters
    ----------
    item : bool, int, float, str, sequence or mapping
        The value.

    Returns
    -------
    str
        The value in TOML.
    """
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
    """Return a text as comment lines that begin with #, wrapped at `WIDTH` characters.

    Parameters
    ----------
    text : str
        The text; control characters become blanks.

    Returns
    -------
    str
        The lines, with a line break at the end.
    """
    lines: list[str] = []
    for word in re.sub(r"[\x00-\x1f\x7f]+", " ", text).split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"#     {word}" if lines else f"# {word}")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """Quote a text. JSON's escapes are TOML's, except for one character that JSON does not escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_PATH = re.compile(r"[\w-]+(\[\d{1,6}\])*(\.[\w-]+(\[\d{1,6}\])*)*")
_PART = re.compile(r"([\w-]+)|\[(\d+)\]")
#: Integers up to here are exact as floats.
_EXACT = 2.0**53
#: The limit that is meant if a range has none yet.
_FIRST = "min"
_fields = cache(msgspec.structs.fields)


def number_key(table: TomlTable, path: str) -> Key:
    """Find a number of a table by its path. The path of a range means its only limit, or `min` if there is
    no such range yet.

    Raises
    ------
    TrigemuError
        If there is no such number, or a range has several limits.
    """
    if not _PATH.fullmatch(path):
        raise TrigemuError(f"{quoted(path)}: expected the path of a number, such as legs[0].pt.min")
    value: Any = table
    kind: Any = type(table)
    key: Key = ()
    for name, index in _PART.findall(path):
        value, kind = _entry(value, kind, key, int(index)) if index else _field(value, kind, key, name)
        key = (*key, int(index) if index else name)
    return (*key, *_limit(value, kind, key))


def shown_path(key: Key) -> str:
    """Return the path of a key, such as `legs[0].pt.min`."""
    return dotted(("", 0, *key))


def table_of(struct: TomlTable) -> dict[str, Any]:
    """Return the TOML table from which `read_table` makes a struct."""
    table: dict[str, Any] = {}
    for field in _fields(type(struct)):
        value = _plain(getattr(struct, field.name))
        if field.name == struct.further:
            table |= value
        elif value is not None:  # TOML has no null
            table[field.encode_name] = value
    return table


def with_numbers(table: TomlTable, numbers: Mapping[Key, float]) -> dict[str, Any]:
    """Return a TOML table with other numbers at some keys, as in a file."""
    result = table_of(table)
    for key, number in numbers.items():
        node: Any = result
        for part in key[:-1]:
            node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
        is_integer = number.is_integer() and abs(number) < _EXACT
        node[key[-1]] = int(number) if is_integer else number
    return result


def _plain(value: Any) -> Any:
    if isinstance(value, TomlTable):
        return table_of(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value


def _options(kind: Any) -> tuple[Any, ...]:
    """Return the types that a type allows, without None."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _options(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return tuple(option for argument in arguments for option in _options(argument))
    return () if kind is type(None) else (kind,)


def _table(value: Any, kind: Any) -> type[TomlTable] | None:
    """Return the struct of a table, also of an optional one that is missing."""
    if value is not None:
        return type(value) if isinstance(value, TomlTable) else None
    tables = (option for option in _options(kind) if isinstance(option, type))
    return next((option for option in tables if issubclass(option, TomlTable)), None)


def _field(value: Any, kind: Any, key: Key, name: str) -> tuple[Any, Any]:
    """Return an entry of a table by its name, None if it is missing, and its type."""
    struct = _table(value, kind)
    if struct is None and isinstance(value, tuple):
        raise TrigemuError(f"{shown_path(key)} is a list of {len(value)}: say which, {shown_path((*key, 0))}")
    if struct is None:
        raise TrigemuError(f"{shown_path(key)} is no table: it has no key {quoted(name)}")
    fields = {field.encode_name: field for field in _fields(struct) if field.name != struct.further}
    if name in fields:
        return getattr(value, fields[name].name, None), fields[name].type
    if struct.further is None:
        raise TrigemuError(f"unknown key {quoted(name)}{nearest(name, fields)}")
    entry = next(field.type for field in _fields(struct) if field.name == struct.further)
    return getattr(value, struct.further, {}).get(name), typing.get_args(entry)[1]


def _entry(value: Any, kind: Any, key: Key, index: int) -> tuple[Any, Any]:
    """Return an entry of a list by its index, and its type."""
    if not isinstance(value, tuple):
        raise TrigemuError(f"{shown_path(key)} is no list: it has no entry [{index}]")
    if index >= len(value):
        raise TrigemuError(f"{shown_path((*key, index))}: {shown_path(key)} has {len(value)} entries, from 0")
    tuple_type = next(option for option in _options(kind) if typing.get_origin(option) is tuple)
    types_of = typing.get_args(tuple_type)
    return value[index], types_of[0] if types_of[1:] == (...,) else types_of[index]


def _is_number(kind: Any) -> bool:
    return any(option in (int, float) for option in _options(kind))


def _limit(value: Any, kind: Any, key: Key) -> Key:
    """Return () for a number, the name of a limit for a range."""
    if _is_number(kind) and not isinstance(value, TomlTable):
        return ()
    where, struct = shown_path(key), _table(value, kind)
    if struct is None and isinstance(value, tuple) and value:
        raise TrigemuError(f"{where} is a list of {len(value)}: say which, {where}[0]")
    limits = [field.encode_name for field in _fields(struct) if _is_number(field.type)] if struct else []
    if _FIRST not in limits:
        raise TrigemuError(f"{where} is no number")
    present = [name for name in limits if getattr(value, name, None) is not None]
    if len(present) == 1:
        return (present[0],)
    if value is None:
        return (_FIRST,)
    choices = " or ".join(f"{where}.{name}" for name in present or limits)
    raise TrigemuError(f"{where} holds several numbers: say which, {choices}")
