"""The C++ files of an hls4ml project, as text: constants, types, arrays, configurations and layers.

Nothing is compiled or run. Only the few forms that hls4ml writes are read; other lines are passed over.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trigemu.api import TrigemuError, excerpt, read_bounded
from trigemu_anomaly import MAX_WORD, ApFixed

#: Largest file in bytes, and largest number of files.
_MAX_BYTES, _MAX_FILES = 2**25, 2000
_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|//[^\n]*")
_NAME = r"[A-Za-z_]\w*"
_DEFINE = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+({_NAME})[ \t]+([^\n]+)$", re.MULTILINE)
_NUMBER = re.compile(
    rf"\bstatic\s+const(?:expr)?\s+(?:unsigned|int|bool|size_t)\s+({_NAME})\s*=\s*([^;{{}}]{{1,200}});"
)
_TYPEDEF = re.compile(r"\btypedef\s+([^;{}]{1,200});")
_TYPE = re.compile(rf"(.+?)\s*\b({_NAME})\s*", re.DOTALL)
_ARRAY = re.compile(rf"\b({_NAME})\s+({_NAME})\s*\[([^\]\n]*)\]\s*=\s*\{{([^{{}}]*)\}}\s*;")
_DECLARED = re.compile(rf"\b({_NAME})\s+({_NAME})\s*\[([^\]\n]*)\]\s*;")
_STRUCT = re.compile(rf"\bstruct\s+({_NAME})\s*:\s*nnet::({_NAME})\s*\{{")
_LOCAL = re.compile(rf"^\s*({_NAME})\s+({_NAME})\s*\[([^\]\n]*)\]\s*$")
_ALIAS = re.compile(rf"^\s*auto\s*&\s*({_NAME})\s*=\s*({_NAME})\s*$")
_CALL = re.compile(rf"^\s*nnet::({_NAME})\s*<([^;(){{}}]*)>\s*\(([^;(){{}}]*)\)\s*$")
_TOP = re.compile(rf"\bvoid\s+({_NAME})\s*\(([^(){{}}]*)\)\s*\{{")
_PARAMETER = re.compile(rf"^\s*(?:const\s+)?(?:{_NAME}::)*({_NAME})\s+({_NAME})\s*\[([^\]]*)\]\s*$")
_WHOLE = re.compile(r"ap_(u?)int\s*<\s*(\d{1,4})\s*>")


@dataclass(frozen=True)
class Array:
    """An array of a type: its declared size, and its values as written; where: file and line."""

    type: str
    size: str
    values: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class Call:
    """A layer: the name of the function, the names in <…> and in (…)."""

    function: str
    types: tuple[str, ...]
    arguments: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class Struct:
    """A configuration: the kind of its layer, its numbers and its types, as written."""

    kind: str
    numbers: Mapping[str, str]
    types: Mapping[str, str]
    where: str


@dataclass
class Source:
    """What the files say. declared: name → type of arrays without values; parameters, locals: name → (type,
    size) of arrays of the top function."""

    numbers: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    name: str = ""
    parameters: dict[str, tuple[str, str]] = field(default_factory=dict)
    locals: dict[str, tuple[str, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    _known: dict[str, int | None] = field(default_factory=dict)

    def number(self, text: str, where: str) -> int:
        """Return the value of a constant or a product of some."""
        value = self._number(text, 0)
        if value is None:
            raise TrigemuError(f"{where}: cannot read the number {excerpt(text.strip())!r}")
        return value

    def _number(self, text: str, depth: int) -> int | None:
        try:
            tree = ast.parse(re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text.strip()), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return self._value(tree, depth)

    def _value(self, node: ast.expr, depth: int) -> int | None:
        if depth > 20:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) < 2**31:
            return int(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._value(node.operand, depth + 1)
            return None if value is None else -value
        if isinstance(node, ast.Name) and node.id in self.numbers:
            if node.id not in self._known:
                self._known[node.id] = self._number(self.numbers[node.id], depth + 1)
            return self._known[node.id]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add | ast.Sub):
            a, b = self._value(node.left, depth + 1), self._value(node.right, depth + 1)
            if a is None or b is None or max(abs(a), abs(b)) >= 2**31:
                return None
            return (
                a * b if isinstance(node.op, ast.Mult) else a + b if isinstance(node.op, ast.Add) else a - b
            )
        return None

    def type(self, name: str, where: str) -> ApFixed:
        """Return a type by its name or its text."""
        text = name.rsplit("::", 1)[-1].strip() if "<" not in name else name.strip()
        for _ in range(20):
            if text not in self.types:
                break
            text = self.types[text]
        if match := _WHOLE.fullmatch(text):
            text = f"ap_{match[1]}fixed<{match[2]},{match[2]}>"
        try:
            return ApFixed.parse(re.sub(r"\s*,\s*0\s*>$", ">", text), MAX_WORD)
        except TrigemuError as error:
            raise TrigemuError(f"{where}: the type {excerpt(name.strip())!r}: {error}") from None


def firmware_of(folder: Path) -> Path:
    """Return the folder of the C++, which projects have in `firmware`."""
    firmware = folder / "firmware"
    return firmware if firmware.is_dir() else folder


def read_source(folder: Path) -> tuple[Source, list[Path]]:
    """Read the C++ files of a folder and its subfolders; return them too."""
    root = firmware_of(folder)
    try:
        files = sorted(
            file
            for file in root.rglob("*")
            if file.suffix in (".h", ".hpp", ".cpp") and not {"nnet_utils", "ap_types"} & {*file.parts}
        )
    except OSError as error:
        raise TrigemuError(f"{root}: cannot be read: {error.strerror}") from None
    if not files or len(files) > _MAX_FILES:
        raise TrigemuError(
            f"{root}: has {len(files)} files of C++ (.h, .cpp): expected the folder that hls4ml wrote, with "
            f"defines.h, parameters.h and the .cpp of the network"
        )
    source = Source()
    for file in files:
        _read(source, file, root)
    return source, files


def _read(source: Source, file: Path, root: Path) -> None:
    text = read_bounded(file, _MAX_BYTES).decode("utf-8", "replace")
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
    for match in _DEFINE.finditer(text):
        source.numbers.setdefault(match[1], match[2])
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.MULTILINE)

    starts = [match.end() for match in re.finditer("\n", text)]

    def where(position: int) -> str:
        return f"{file}:{bisect_right(starts, position) + 1}"

    outside = [*text]
    for match in _STRUCT.finditer(text):
        start, end = match.end(), _closing(text, match.end())
        body = text[start:end]
        numbers = {m[1]: m[2] for m in _NUMBER.finditer(body)}
        types = _types(body)
        source.structs[match[1]] = Struct(match[2], numbers, types, where(match.start()))
        outside[start:end] = " " * (end - start)
    text_outside = "".join(outside)
    for match in _NUMBER.finditer(text_outside):
        source.numbers[match[1]] = match[2]
    source.types |= _types(text_outside)
    for match in _ARRAY.finditer(text_outside):
        values = tuple(value.strip() for value in match[4].split(",") if value.strip())
        source.arrays[match[2]] = Array(match[1], match[3], values, where(match.start()))
    source.declared |= {match[2]: match[1] for match in _DECLARED.finditer(text_outside)}
    for match in _TOP.finditer(text):
        end = _closing(text, match.end())
        calls = list(_calls(text, match.end(), end, where))
        if not any(isinstance(item, Call) for item in calls):
            continue
        if source.calls:
            raise TrigemuError(f"{where(match.start())}: a second function with layers, beside {source.name}")
        source.name = match[1]
        for parameter in match[2].split(","):
            if found := _PARAMETER.match(parameter):
                source.parameters[found[2]] = (found[1], found[3])
        for item in calls:
            if isinstance(item, Call):
                source.calls.append(item)
            elif len(item) == 3:
                source.locals[item[1]] = (item[0], item[2])
            else:
                source.aliases[item[0]] = item[1]


def _types(text: str) -> dict[str, str]:
    """Return the types that a text defines, as written, by their names."""
    found = (_TYPE.fullmatch(match[1]) for match in _TYPEDEF.finditer(text))
    return {match[2]: match[1] for match in found if match}


def _closing(text: str, start: int) -> int:
    """Return where the block that begins before `start` ends."""
    depth = 1
    for match in re.finditer(r"[{}]", text[start:]):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return start + match.start()
    return len(text)


def _calls(text: str, start: int, end: int, where: Callable[[int], str]) -> Iterator[Call | tuple[str, ...]]:
    """Yield the layers, local arrays and aliases of a function, in their order."""
    position = start
    for statement in re.split(r"[;{}]", text[start:end]):
        if (match := _CALL.match(statement)) and match[1] != "load_weights_from_txt":
            types, arguments = ([part.strip() for part in match[n].split(",")] for n in (2, 3))
            at = position + len(statement) - len(statement.lstrip())
            yield Call(match[1], tuple(types), tuple(arguments), where(at))
        elif match := _LOCAL.match(statement) or _ALIAS.match(statement):
            yield match.groups()
        position += len(statement) + 1
