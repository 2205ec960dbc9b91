"""Read TOML tables into frozen structs; report all mistakes of a file at once, each with its line.

`msgspec.Struct`s describe menus, catalogues and configurations. A struct that allows any further key (a
window on any column of an object) names the field that collects them in the class attribute `further`.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from trigemu.base.errors import (
    MAX_PROBLEMS,
    TrigemuError,
    excerpt,
    listed,
    nearest,
    printable,
    quoted,
    without_unit,
)
from trigemu.base.files import read_bounded

#: A path of keys in a TOML file: ("trigger", 3, "legs", 1, "pt").
Key = tuple[str | int, ...]

_STRING = r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_TOKEN = re.compile(rf"{_STRING}|[\w.:+-]+|#[^\n]*|[ \t\r]+|.", re.DOTALL)


def lines_of(text: str) -> dict[Key, int]:
    """Return the line of every key and array element of a text that is valid TOML. TOML libraries do not keep
    positions."""
    found: dict[Key, int] = {}
    arrays: dict[Key, int] = {}  # The number of the latest table of each array
    table: Key = ()
    line = 1

    def all_tokens() -> Iterator[str]:
        nonlocal line
        for match in _TOKEN.finditer(f"{text}\n"):
            if match[0][0] not in "# \t\r":
                yield match[0]
            line += match[0].count("\n")

    def read_entry(outer: Key, token: str) -> str:
        """Read the header of a table, or a key with its value; return the token after it."""
        nonlocal table
        start, brackets, parts = line, 0, list[str]()
        while token == "[":
            brackets, token = brackets + 1, next(tokens)
        while token not in ("=", "]"):
            # Parsing a document takes long; only quotes and escapes need it.
            parts += tomllib.loads(f"{token} = 0") if token[0] in "\"'" else filter(None, token.split("."))
            token = next(tokens)
        if not brackets:
            key = (*outer, *parts)
            for length in range(len(outer) + 1, len(key) + 1):
                found.setdefault(key[:length], start)
            return read_value(key, next(tokens))
        table = ()
        for number, part in enumerate(parts, 1):
            table = (*table, part)
            found.setdefault(table, line)
            if brackets == 2 and number == len(parts):
                arrays[table] = arrays.get(table, -1) + 1
            if table in arrays:
                table = (*table, arrays[table])
                found.setdefault(table, line)
        return token

    def read_value(key: Key, token: str) -> str:
        """Read a value; return the token after it."""
        if token not in ("[", "{"):
            while token not in (",", "]", "}", "\n"):
                token = next(tokens)
            return token
        is_list, number, token = token == "[", 0, next(tokens)
        while token != ("]" if is_list else "}"):
            if token in (",", "\n"):
                token = next(tokens)
            elif is_list:
                found.setdefault((*key, number), line)
                token = read_value((*key, number), token)
                number += 1
            else:
                token = read_entry(key, token)
        return next(tokens)

    tokens = all_tokens()
    for token in tokens:
        if token not in ("]", "\n"):
            read_entry(table, token)
    return found


S = TypeVar("S", bound="TomlTable")
T = TypeVar("T")

#: A number above 0.
Positive = Annotated[float, msgspec.Meta(gt=0)]
#: A number that may be `nan`, where others have to be finite.
NumberOrNaN = Annotated[float, msgspec.Meta(extra={"nan": True})]
MAX_MESSAGE = 2000  # The longest message on one mistake, in characters
#: The fields of a struct. msgspec resolves annotations at each call, which takes longer than reading a table.
fields_of = cache(msgspec.structs.fields)


class TomlTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys that a TOML table may have: derive a class from it, with one annotated field for each key. A
    field without a default is a required key. Instances are frozen."""

    further: ClassVar[str | None] = None  # The field, a dict, that collects keys of any other name

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        """Yield mistakes that the types of the fields cannot express: the key, or the path of keys below this
        table, and the message. Override it if one value depends on another or has bounds; it is called if all
        types are correct."""
        return iter(())


@dataclass(frozen=True)
class Problem:
    """One mistake in a file: its line, and what to do about it."""

    file: str  # Path of the file
    line: int  # The line; 0 if the file has none to show
    where: str  # The entry, such as "trigger 'J100'"; may be empty
    message: str  # What is wrong, and what would be right

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = f"{excerpt(self.where)}: " if self.where else ""
        return printable(f"{place}: {where}") + printable(excerpt(self.message, MAX_MESSAGE), keep="\n")


class TableError(TrigemuError):
    """The mistakes in one TOML file: `problems`, ordered by line."""

    def __init__(self, problems: list[Problem], perhaps_more: bool = False) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line)
        more = "\n… and perhaps more: correct these first" if perhaps_more else ""
        super().__init__(listed(self.problems) + more)


@dataclass
class Document:
    """A TOML file. Read each table with `read_table`, then call `finish`, which reports all mistakes."""

    path: Path  # The file
    data: dict[str, Any]  # Its content
    lines: dict[Key, int]  # The line of each key and element of a list
    sha256: str  # Digest of the file
    problems: list[Problem] = field(default_factory=list)  # The mistakes
    cause: Exception | None = None  # The first error in code of a plugin among them

    def problem(self, key: Key, where: str, message: str, cause: Exception | None = None) -> None:
        """Record a mistake at a key, or at the nearest enclosing one with a line; TableError if too many.
        where: the entry, such as "trigger 'J100'". cause: an error in code of a plugin."""
        self.cause = self.cause or cause
        while key and key not in self.lines:
            key = key[:-1]
        self.problems.append(Problem(str(self.path), self.lines.get(key, 1), where, message))
        if len(self.problems) > MAX_PROBLEMS:
            raise TableError(self.problems[:MAX_PROBLEMS], perhaps_more=True)

    def refuse_unknown(self, *known: str) -> None:
        """Record the keys of the file that are none of the known ones."""
        for key in [key for key in self.data if key not in known]:
            self.problem((key,), "", f"unknown key {quoted(key)}{nearest(key, known)}")

    def attempt(self, make: Callable[[], T], key: Key) -> T | None:
        """Return what a function returns; record a mistake at a key if it raises TrigemuError."""
        try:
            return make()
        except TrigemuError as error:
            self.problem(key, "", str(error))
            return None

    def finish(self) -> None:
        """Raise TableError if any mistakes were recorded."""
        if self.problems:
            raise TableError(self.problems) from self.cause


def load_toml(path: Path, read: Callable[[Path], bytes] = read_bounded) -> Document:
    """Read a TOML file.

    Parameters
    ----------
    path : Path
        The file.
    read : callable
        Returns the content of a file, bytes; by default that on the disk, at most 50 MB.

    Returns
    -------
    Document
        The content, with the line of each key. Raises TableError if the file is not readable or valid.
    """

    def refused(line: int, message: str) -> TableError:
        return TableError([Problem(str(path), line, "", message)])

    try:
        content = read(path)
        text = content.decode("utf-8-sig")
        data = tomllib.loads(text)
    except OSError as error:
        raise refused(0, f"cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line, what = 1 + content.count(b"\n", 0, error.start), "not a text file (UTF-8)"
        if content.startswith(_OF_EVENTS):
            line, what = 0, "a file of events, not of text: commands take it as --samples"
        raise refused(line, what) from None
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        line = int(match[1]) if match else text.count("\n") + 1
        unquoted = _UNQUOTED.fullmatch(text.split("\n")[line - 1])
        hint = '; text has quotation marks: {} = "{}"'.format(*unquoted.groups()) if unquoted else ""
        hint = hint or without_unit(text.split("\n")[line - 1].partition("=")[2].partition("#")[0])
        raise refused(line, f"not valid TOML: {error}{hint}") from None
    except (RecursionError, ValueError) as error:  # ValueError: an integer of thousands of digits
        raise refused(0, f"not valid TOML: {error}") from None
    return Document(path, data, lines_of(text), hashlib.sha256(content).hexdigest())


_OF_EVENTS = (b"root", b"PAR1", b"\x89HDF")  # The beginnings of ROOT, Parquet and HDF5 files
#: A line with text that is not in quotation marks.
_UNQUOTED = re.compile(
    r"\s*([\w-]{1,40})\s*=\s*(?!(?:true|false|inf|nan)\b)([A-Za-z_][\w.\[\]()+*/-]{0,40})\s*(?:#.*)?"
)


def read_table(
    document: Document, table: Any, struct: type[S], key: Key, where: str, also: Iterable[str] = ()
) -> S | None:
    """Convert a table to a struct, and record every mistake in the document.

    Parameters
    ----------
    document : Document
        The file.
    table, struct
        The value that should be a table, and a class derived from `TomlTable`.
    key : Key
        The path of keys to the table.
    where : str
        How messages name the table, such as "trigger 'J100'".
    also : iterable of str
        Further names to suggest for an unknown key.

    Returns
    -------
    TomlTable or None
        An instance of the struct; None if there was a mistake.
    """
    before = len(document.problems)
    fields = {f.encode_name: f for f in fields_of(struct)}
    further = fields.pop(struct.further or "", None)
    if not isinstance(table, dict):
        message = f"{dotted(key)} = {quoted(table)}: expected a table of {', '.join(fields)}"
        if isinstance(table, list) and all(isinstance(part, dict) for part in table):
            message = f"[[{dotted(key)}]]: expected one table [{dotted(key)}], in single brackets"
        document.problem(key, where, message)
        return None
    values: dict[str, Any] = {further.name: {}} if further else {}
    for name, value in table.items():
        place = (*key, name)
        if name in fields:
            values[fields[name].name] = _value(document, value, fields[name].type, place, where)
            continue
        if not further:
            document.problem(place, where, f"unknown key {quoted(name)}{nearest(name, (*fields, *also))}")
            continue
        valid = len(document.problems)
        kind = typing.get_args(further.type)[1]
        values[further.name][name] = _value(document, value, kind, place, where)
        if len(document.problems) > valid:  # the name may be a misspelt field
            for close in difflib.get_close_matches(excerpt(name), fields, n=1, cutoff=0.75):
                del document.problems[valid:]
                document.problem(place, where, f"unknown key {quoted(name)}; did you mean {close!r}?")
    for name, missing in fields.items():
        if missing.required and name not in table:
            document.problem(key, where, f"the key {name!r} is missing")
    if len(document.problems) > before:
        return None
    result = struct(**values)
    for path, message in result.mistakes():
        inner = f"{dotted(key)}: " if len(key) > 2 else ""
        document.problem((*key, *((path,) if isinstance(path, str) else path)), where, inner + message)
    return None if len(document.problems) > before else result


def _value(document: Document, value: Any, kind: Any, key: Key, where: str) -> Any:
    """Convert a value to the type of a field; record a mistake and return None if that fails."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType) and arguments[1:] == (type(None),):
        return _value(document, value, arguments[0], key, where)  # TOML has no null
    if origin is types.UnionType and arguments[1:] == (tuple[arguments[0], ...],):  # type: ignore[valid-type]
        return _value(document, value, arguments[isinstance(value, list)], key, where)
    if _is_table(kind):
        return read_table(document, value, kind, key, where)
    if origin is tuple and isinstance(value, list) and _is_table(arguments[0]):
        where, parts = where or f"[[{dotted(key)}]]", enumerate(value)
        return tuple(read_table(document, part, arguments[0], (*key, i), where) for i, part in parts)
    if origin is dict and isinstance(value, dict):
        items = value.items()
        return {name: _value(document, v, arguments[1], (*key, name), where) for name, v in items}
    if not _is_finite(value) and not (kind == NumberOrNaN and value != value):
        reason = f"expected {'finite numbers' if isinstance(value, list) else 'a finite number'}"
    elif origin is typing.Literal and (isinstance(value, dict | list) or value not in arguments):
        close = isinstance(value, str) and difflib.get_close_matches(excerpt(value), arguments, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        reason = f"expected {' or '.join(map(repr, sorted(arguments)))}{hint}"
    else:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            reason = _TYPES.sub(lambda t: " or ".join(_IN_TOML[k] for k in t[1].split(" | ")), str(error))
            reason = reason[0].lower() + reason[1:]
    hint = without_unit(value) if "number" in reason else ""
    document.problem(key, where, f"{dotted(key)} = {quoted(value)}: {reason}{hint}")
    return None


#: Names of types in msgspec → names for users of TOML.
_IN_TOML = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_TYPES = re.compile("`(({0})( [|] ({0}))*)`".format("|".join(_IN_TOML)))


def _is_finite(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, TomlTable)


def dotted(key: Key) -> str:
    """Return `legs[1].pt` for ("trigger", 3, "legs", 1, "pt"): the path below the entry named by `where`."""
    if len(key) > 2 and isinstance(key[1], int):
        key = key[2:]
    text = ""
    for part in key:
        name = part if isinstance(part, int) or _BARE.fullmatch(part) else quoted(part)
        text += f"[{name}]" if isinstance(part, int) else f".{name}" if text else str(name)
    return text


#: Keys that a message shows without quotes.
_BARE = re.compile(r"[\w-]{1,60}")


#: Table of a file → the kind of file that has it, and how such files are used.
KINDS = {
    "trigger": ("a menu", "trigemu check-menu and most other commands take it as MENU"),
    "catalogue": ("a catalogue of samples", "give it as --samples"),
    "profile": ("a set of efficiency profiles", "trigemu efficiency takes it as --profile"),
    "slice": ("a configuration of simulated samples", "trigemu generate takes it"),
    "training": ("a configuration for training a model", "trigemu decade train takes it"),
    "goals": ("a file of goals", "trigemu optimise takes it as GOALS, after the menu"),
    "fill": ("a fill", "trigemu fill takes it as FILL, after the menu"),
    "filling": ("a filling scheme", "trigemu live takes it as --filling"),
    "rules": ("a set of trigger rules", "trigemu live takes it as --rules"),
    "rule": ("a set of trigger rules", "trigemu live takes it as --rules"),
    "quantity": ("a set of tolerances", "trigemu gate takes it as --tolerances"),
    "default": ("a set of tolerances", "trigemu gate takes it as --tolerances"),
    "network": ("a model card", "a trigger names it as its card"),
    "score": ("a model card", "a trigger names it as its card"),
}


def kind_of(data: dict[str, Any]) -> str | None:
    """Return the table that identifies the kind of a file, a key of `KINDS`, if any."""
    return next((table for table in KINDS if table in data), None)


def refuse_other_kinds(document: Document, table: str) -> None:
    """Refuse a file of another kind, such as a menu where a catalogue is expected."""
    other = None if table in document.data else kind_of(document.data)
    if other and KINDS[other] != KINDS[table]:
        what, use = KINDS[other]
        document.problem((other,), "", f"this is {what}, not {KINDS[table][0]}: {use}")
        document.finish()
