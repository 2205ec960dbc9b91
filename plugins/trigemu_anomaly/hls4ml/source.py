"""The C++ of an hls4ml project: numbers, types, arrays, configurations and layers.

Nothing is compiled or run. Only the statements that hls4ml writes are known; any other is refused, and so is
a name that is defined twice, since another of its values might be that of the network.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Any

from trigemu.base.errors import TrigemuError, excerpt
from trigemu.base.files import read_bounded

from ..fixed_point import MAX_WORD, ApFixed

#: The most bytes of all files.
_MAX_BYTES = 2**23
_COMMENT = re.compile(r'"[^"\n]*"|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_TOKEN = re.compile(r'[A-Za-z_]\w*|\.?\d(?:[eE][+-]|[\w.])*|::|"[^"]*"|\S', re.ASCII)
_DIRECTIVE = re.compile(r"#\s*(\w*)\s*(.*)", re.ASCII)
_INCLUDE = re.compile(r'"([^"<>\0]{1,200})"|<[\w./+-]+>', re.ASCII)
_NETWORK = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?parameters\.h"', re.MULTILINE)
#: The headers of hls4ml and of the HLS tools.
_EXTERNAL = re.compile(r"(?:.*/)?(?:(?:nnet_utils|nn_utils|ap_types)/.*|(?:ap|hls)_\w+\.h)", re.ASCII)
#: How a wrapper scales the inputs, which is not part of the network.
_SCALES = ("scales.h", "scaling.h")
#: A token, or a line: its text, and where it is, file and line.
Placed = tuple[str, str]


class Files:
    """The files of a project in a folder. root: the folder of the C++; read: the files that were read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.root = folder / "firmware" if (folder / "firmware").is_dir() else folder
        self.read: list[Path] = []
        self._left = _MAX_BYTES
        self._macros = {"__SYNTHESIS__": ""}  # what is synthesised decides: weights are those of the headers

    def text(self, file: Path) -> str:
        """Return the content of a file of the folder; raise TrigemuError if it cannot be read."""
        try:
            if not file.resolve().is_relative_to(self._folder.resolve()):
                raise TrigemuError(f"{file}: is a link out of {self._folder}: copy what it refers to")
            content = read_bounded(file, self._left)
        except (OSError, RuntimeError) as error:
            raise TrigemuError(f"{file}: cannot be read: {getattr(error, 'strerror', error)}") from None
        self._left -= len(content)
        self.read.append(file)
        return content.decode("utf-8", "replace")

    def generated(self) -> str:
        """Return what hls4ml generated beside the network: nnet_code_gen.h."""
        folders = [self.root / part for part in ("nnet_utils", "NN/nnet_utils", "nn_utils", "NN/nn_utils")]
        found = [file for folder in folders if (file := folder / "nnet_code_gen.h").is_file()]
        return self.text(found[0]) if found else ""

    def tokens(self) -> Iterator[Placed]:
        """Yield the tokens of the network and of its scales, and where each is."""
        for line, where in self._lines():
            for word in _TOKEN.findall(line):
                yield self._macros.get(word, word), where

    def _lines(self) -> Iterator[Placed]:
        folders = self.root, self.root / "NN"
        texts = {file: self.text(file) for folder in folders for file in sorted(folder.glob("*.cpp"))}
        if not texts:
            raise TrigemuError(
                f"{self.root}: has no .cpp files: expected the folder that hls4ml wrote, with "
                f"defines.h, parameters.h and the .cpp of the network"
            )
        networks = [file for file, text in texts.items() if _NETWORK.search(_without_comments(text))]
        if len(networks) != 1:
            names = " and ".join(map(str, networks)) or "none"
            raise TrigemuError(
                f"{self.root}: expected one .cpp file that includes parameters.h, the network, not {names}"
            )
        yield from self._lines_of(networks[0], texts.pop(networks[0]))
        for file, text in texts.items():  # of a wrapper, the scales that it includes are read
            for number, line in enumerate(_without_comments(text).split("\n"), 1):
                match = _DIRECTIVE.fullmatch(line.strip())
                if match and match[1] == "include" and PurePosixPath(match[2].strip('"')).name in _SCALES:
                    yield from self._included(file, match[2], f"{file}:{number}")
        for scales in (folder / name for folder in folders for name in _SCALES):
            if scales.is_file() and scales not in self.read:
                raise TrigemuError(
                    f"{scales}: no .cpp file includes it: add the wrapper of the network, or remove it"
                )

    def _lines_of(self, file: Path, text: str) -> Iterator[Placed]:
        """Yield the lines of a file that a compiler takes, with those of the files that it includes."""
        if joined := re.search(r"\\[ \t\r]*$", text, re.MULTILINE):
            number = text.count("\n", 0, joined.start()) + 1
            raise TrigemuError(f"{file}:{number}: lines that are joined are not read")
        taken: list[bool] = []  # of each condition around a line
        for number, line in enumerate(_without_comments(text).split("\n"), 1):
            where, match = f"{file}:{number}", _DIRECTIVE.fullmatch(line.strip())
            name, value = match.groups() if match else ("", "")
            if not match:
                if all(taken):
                    yield line, where
            elif name in ("ifdef", "ifndef"):
                taken.append((value in self._macros) == (name == "ifdef"))
            elif name == "else" and taken:
                taken[-1] = not taken[-1]
            elif name == "endif" and taken:
                taken.pop()
            elif name == "include":
                if all(taken):
                    yield from self._included(file, value, where)
            elif name == "define":
                if all(taken):
                    key, _, whole = value.partition(" ")
                    self._macros[key] = whole.strip()
            elif name != "pragma" or value.split()[:1] not in (["HLS"], ["once"]):
                raise TrigemuError(f"{where}: the directive {excerpt(line.strip())!r} is not read")

    def _included(self, file: Path, text: str, where: str) -> Iterator[Placed]:
        match = _INCLUDE.fullmatch(text)
        name = match[1] if match else ""
        if match and (not name or _EXTERNAL.fullmatch(name)):
            return
        path = PurePosixPath(name)
        if not match or path.is_absolute() or ".." in path.parts:
            raise TrigemuError(
                f"{where}: includes {excerpt(name or text)!r}: expected a file of {self._folder}"
            )
        places = (file.parent / path, self.root / path, file.parent / path.name)
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise TrigemuError(f"{where}: there is no {excerpt(name)!r} in {file.parent}")
        if found not in self.read:
            yield from self._lines_of(found, self.text(found))


def _without_comments(text: str) -> str:
    def without(match: re.Match[str]) -> str:
        return match[0] if match[0][0] == '"' else " " + "\n" * match[0].count("\n")

    return _COMMENT.sub(without, text)


@dataclass(frozen=True)
class Array:
    """An array: its type, its declared size, its values as written, and where it is."""

    type: str
    size: str
    values: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class Call:
    """A layer: the name of the function, the names in <…> and in (…), and where it is."""

    function: str
    types: tuple[str, ...]
    arguments: tuple[str, ...]
    where: str


@dataclass
class Scope:
    """The names of all files or of a struct: numbers (or their text), types, arrays, structs."""

    where: str = ""
    names: dict[str, Any] = field(default_factory=dict)

    def define(self, name: str, value: Any, where: str) -> None:
        if name in self.names:
            raise TrigemuError(f"{where}: {excerpt(name)} is defined twice")
        self.names[name] = value


#: Parts of statements, of tokens that a space follows each.
_NAME = r"[A-Za-z_]\w*"
_TYPE = rf"(?:{_NAME} :: )*({_NAME}(?: < [\w ,-]* >)?)"
_SIZE = r"\[ ([^\[\]]*) ?\]"
_WHOLE = rf"(?:unsigned(?: int)?|int|bool|size_t|nnet :: {_NAME})"
_USING = r"template < [\w ,]* > using"
_PARAMETER = re.compile(rf"(?:const )?{_TYPE} ({_NAME}) {_SIZE}", re.ASCII)
_LITERAL = re.compile(r"(-?) ?(0|[1-9]\d{0,9})[uUlL]*", re.ASCII)
#: Integers, which numbers become as in C: without their fraction.
_INTEGER = re.compile(r"ap_(u?)int < (\d{1,4}) >", re.ASCII)
_NUMBER = ("number", rf"(?:static )?const(?:expr)? {_WHOLE} ({_NAME}) = ([^;{{}}]+) ;")
_TYPEDEF = ("type", rf"typedef {_TYPE} ({_NAME}) ;")
#: The statements of files, of structs, and of the function with the layers.
_FILE, _STRUCT, _FUNCTION = (
    [(form, re.compile(f"{pattern} ", re.ASCII)) for form, pattern in forms]
    for forms in (
        (
            ("passed", rf"namespace {_NAME} {{"),
            ("passed", "}"),
            ("struct", rf"struct ({_NAME}) : nnet :: {_NAME} {{ ([^{{}}]*)}} ;"),
            ("passed", rf"void {_NAME} \( [^()]* \) ;"),
            ("function", rf"void ({_NAME}) \( ([^()]*) \) {{ ([^{{}}]*)}}"),
            _NUMBER,
            _TYPEDEF,
            ("array", rf"(?:static )?(?:const )?{_TYPE} ({_NAME}) {_SIZE} = {{ ([^;{{}}]*)}} ;"),
            ("passed", rf"const ap_uint < [\w *:]+ > {_NAME} :: pixels {_SIZE} = {{ [^;{{}}]*}} ;"),
            ("declared", rf"(?:extern )?(?:const )?{_TYPE} ({_NAME}) {_SIZE} ;"),
        ),
        (
            _NUMBER,
            _TYPEDEF,
            ("kernel", rf"{_USING} (kernel) = nnet :: (Dense\w+) < [\w ,]* > ;"),
            # Members that do not change the arithmetic, and tables of io_stream.
            ("passed", rf"{_USING} product = nnet :: product :: mult < [\w ,]* > ;"),
            ("passed", rf"{_USING} (?:conv_kernel|fill_buffer|scale_index\w*) = [\w ,:<>]+ ;"),
            ("passed", rf"static const ap_uint < [\w *]+ > pixels {_SIZE} ;"),
        ),
        (
            ("local", rf"{_TYPE} ({_NAME}) {_SIZE} ;"),
            ("call", rf"{_NAME} :: ({_NAME}) < ([\w ,:]*) > \( ([\w ,]*) \) ;"),
            ("alias", rf"auto & ({_NAME}) = ({_NAME}) ;"),
        ),
    )
)


class Source:
    """What the files say.

    files: what was read; names: of all files; name, calls: of the function with the layers; arrays: name →
    (type, size) of its parameters and arrays, parameters first; parameters: their names; declared: name →
    type of arrays without values; aliases: other names of arrays."""

    def __init__(self, folder: Path) -> None:
        self.files, self.names, self.name = Files(folder), Scope(), ""
        self.calls: list[Call] = []
        self.parameters: list[str] = []
        self.arrays: dict[str, tuple[str, str]] = {}
        self.declared: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        tokens = list(self.files.tokens())
        self._places = [where for _, where in tokens]
        self._starts = list(accumulate((len(token) + 1 for token, _ in tokens), initial=0))
        self._text = "".join(f"{token} " for token, _ in tokens)
        self._read(_FILE, self.names, 0, len(self._text))

    def _read(self, forms: list[tuple[str, re.Pattern[str]]], scope: Scope, start: int, end: int) -> None:
        """Take the statements of a part of the text, whose numbers and types belong to a scope."""
        while start < end:
            where = self._places[bisect_right(self._starts, start) - 1]
            for form, pattern in forms:
                if match := pattern.match(self._text, start, end):
                    self._take(form, match, scope, where)
                    start = match.end()
                    break
            else:
                statement = re.split(r"(?<=[;{}]) ", self._text[start:end], maxsplit=1)[0]
                raise TrigemuError(f"{where}: {excerpt(statement)!r} is no statement that hls4ml writes")

    def values(self, name: str) -> Array | None:
        """Return an array with values."""
        found = self.names.names.get(name)
        return found if isinstance(found, Array) else None

    def number(self, text: str, where: str) -> int:
        """Return the value of a size."""
        value = self._value(text, self.names)
        if not isinstance(value, int):
            raise TrigemuError(f"{where}: cannot read the number {excerpt(text.strip())!r}")
        return value

    def type(self, name: str, where: str) -> ApFixed:
        """Return a type by its name or its text."""
        text = name.rsplit("::", 1)[-1].strip() if "<" not in name else name.strip()
        text = str(self.names.names.get(text, text))
        if match := _INTEGER.fullmatch(text):
            text = f"ap_{match[1]}fixed<{match[2]},{match[2]},AP_TRN_ZERO>"
        try:
            return ApFixed.parse(text, MAX_WORD)
        except TrigemuError as error:
            raise TrigemuError(f"{where}: the type {excerpt(name.strip())!r}: {error}") from None

    def _value(self, text: str, scope: Scope) -> int | str:
        """Return the value of a number or of a product of some, or the text if it is something else."""
        factors: list[int] = []
        for part in text.split("*"):
            name = part.strip()
            value = scope.names.get(name, self.names.names.get(name))
            if match := _LITERAL.fullmatch(name):
                value = int(match[1] + match[2])
            if not isinstance(value, int):
                return text
            factors.append(value)
        return value if abs(value := math.prod(factors)) < 2**31 else text

    def _take(self, form: str, match: re.Match[str], scope: Scope, where: str) -> None:
        """Take a statement of a form."""
        parts: tuple[Any, ...] = match.groups()
        match form:
            case "number":
                scope.define(parts[0], self._value(parts[1], scope), where)
            case "type":
                known = self.names.names.get(parts[0])
                scope.define(parts[1], known if isinstance(known, str) else parts[0], where)
            case "kernel":
                scope.define(parts[0], parts[1], where)
            case "struct":
                self.names.define(parts[0], inner := Scope(where), where)
                self._read(_STRUCT, inner, *match.span(2))
            case "array":
                kind, name, size, text = parts
                values = tuple(text.strip().replace("- ", "-").split(" , ")) if text else ()
                self.names.define(name, Array(kind, size, values, where), where)
            case "declared":
                self.declared[parts[1]] = parts[0]
            case "function":
                self.name = parts[0]
                for text in parts[1].strip().split(" , "):
                    parameter = _PARAMETER.fullmatch(text)
                    if not parameter:
                        raise TrigemuError(f"{where}: {excerpt(text)!r} is no array, as io_parallel has them")
                    self.arrays[parameter[2]] = parameter[1], parameter[3]
                self.parameters = [*self.arrays]
                self._read(_FUNCTION, self.names, *match.span(3))
            case "local":
                self.arrays[parts[1]] = parts[0], parts[2]
            case "call":
                types, arguments = (tuple(part.strip().split(" , ")) for part in parts[1:])
                self.calls.append(Call(parts[0], types, arguments, where))
            case "alias":
                self.aliases[parts[0]] = self.aliases.get(parts[1], parts[1])
