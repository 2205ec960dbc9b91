"""The C++ of an hls4ml project: numbers, types, arrays, configurations and layers.

Nothing is compiled or run. Only the statements that hls4ml writes are known; any other is refused, and so is
a name that is defined twice, since another of its values might be that of the network.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
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
_DEFINE = re.compile(r"([A-Za-z_]\w*)(?:\s+(\d+))?", re.ASCII)
_INCLUDE = re.compile(r'"([^"<>\0]{1,200})"|<[\w./+-]+>', re.ASCII)
_NETWORK = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?parameters\.h"', re.MULTILINE)
#: The headers of hls4ml and of the HLS tools.
_EXTERNAL = re.compile(r"(?:.*/)?(?:(?:nnet_utils|nn_utils|ap_types)/.*|(?:ap|hls)_\w+\.h)", re.ASCII)
#: How a wrapper scales the inputs, which is not part of the network.
_SCALES = ("scales.h", "scaling.h")
#: A statement, or a line: its text, and where it is, file and line.
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

    def statements(self) -> Iterator[Placed]:
        """Yield the statements of the network and of its scales, each up to its first ; { or }, their tokens
        separated by single spaces."""
        words: list[str] = []
        start = ""
        for line, where in self._lines():
            for word in _TOKEN.findall(line):
                start = start if words else where
                words.append(self._macros.get(word, word))
                if word in (";", "{", "}"):
                    yield " ".join(words), start
                    words = []
        if words:
            raise TrigemuError(f"{start}: the file ends in a statement")

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
            elif name in ("include", "define"):
                if all(taken):
                    yield from (self._included if name == "include" else self._define)(file, value, where)
            elif name != "pragma" or value.split()[:1] not in (["HLS"], ["once"]):
                raise TrigemuError(f"{where}: the directive {excerpt(line.strip())!r} is not read")
        if taken:
            raise TrigemuError(f"{file}: an #endif is missing")

    def _define(self, file: Path, text: str, where: str) -> tuple[Placed, ...]:
        match = _DEFINE.fullmatch(text)
        if not match or self._macros.setdefault(match[1], match[2] or "") != (match[2] or ""):
            raise TrigemuError(
                f"{where}: #define {excerpt(text)}: expected a name and a whole number, not defined before"
            )
        return ()

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
    _places: dict[str, str] = field(default_factory=dict)

    def define(self, name: str, value: Any, where: str) -> None:
        if name in self._places:
            raise TrigemuError(f"{where}: {excerpt(name)} is defined twice, before at {self._places[name]}")
        self._places[name] = where
        self.names[name] = value


#: Parts of statements.
_NAME = r"[A-Za-z_]\w*"
_TYPE = rf"(?:{_NAME} :: )*({_NAME}(?: < [\w ,-]* >)?)"
_SIZE = r"\[ ([^\[\]]*) ?\]"
_WHOLE = rf"(?:unsigned(?: int)?|int|bool|size_t|nnet :: {_NAME})"
_USING = r"template < [\w ,]* > using"
_PARAMETER = re.compile(rf"(?:const )?{_TYPE} ({_NAME}) {_SIZE}", re.ASCII)
_LITERAL = re.compile(r"(-?) ?(0|[1-9]\d{0,9})[uUlL]*", re.ASCII)
#: Integers, which numbers become as in C: without their fraction.
_INTEGER = re.compile(r"ap_(u?)int < (\d{1,4}) >", re.ASCII)
#: Where a statement is: in a file, a struct, the function with the layers, the values of an array, or before
#: the ; that ends a struct or an array.
FILE, STRUCT, FUNCTION, VALUES, END = "file", "struct", "function", "array", "end"
#: The statements: what each is, where it may be, and its form.
_FORMS = [
    (form, places, re.compile(pattern, re.ASCII))
    for form, places, pattern in (
        ("values", (VALUES,), r"([^;{}]*)}"),
        ("end", (END,), ";"),
        ("namespace", (FILE,), rf"namespace {_NAME} {{"),
        ("close", (FILE, STRUCT, FUNCTION), "}"),
        ("struct", (FILE,), rf"struct ({_NAME}) : nnet :: {_NAME} {{"),
        ("prototype", (FILE,), rf"void {_NAME} \( [^()]* \) ;"),
        ("function", (FILE,), rf"void ({_NAME}) \( ([^()]*) \) {{"),
        ("number", (FILE, STRUCT), rf"(?:static )?const(?:expr)? {_WHOLE} ({_NAME}) = (.+) ;"),
        ("type", (FILE, STRUCT), rf"typedef {_TYPE} ({_NAME}) ;"),
        ("array", (FILE,), rf"(?:static )?(?:const )?{_TYPE} ({_NAME}) {_SIZE} = {{"),
        ("pixels", (FILE,), rf"const ap_uint < [\w *:]+ > {_NAME} :: pixels {_SIZE} = {{"),
        ("declared", (FILE,), rf"(?:extern )?(?:const )?{_TYPE} ({_NAME}) {_SIZE} ;"),
        ("local", (FUNCTION,), rf"{_TYPE} ({_NAME}) {_SIZE} ;"),
        ("call", (FUNCTION,), rf"{_NAME} :: ({_NAME}) < ([\w ,:]*) > \( ([\w ,]*) \) ;"),
        ("alias", (FUNCTION,), rf"auto & ({_NAME}) = ({_NAME}) ;"),
        ("kernel", (STRUCT,), rf"{_USING} (kernel) = nnet :: (Dense\w+) < [\w ,]* > ;"),
        # Members that do not change the arithmetic, and tables of io_stream.
        ("passed", (STRUCT,), rf"{_USING} product = nnet :: product :: mult < [\w ,]* > ;"),
        ("passed", (STRUCT,), rf"{_USING} (?:conv_kernel|fill_buffer|scale_index\w*) = [\w ,:<>]+ ;"),
        ("passed", (STRUCT,), rf"static const ap_uint < [\w *]+ > pixels {_SIZE} ;"),
    )
]


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
        self._place, self._scope = FILE, self.names
        self._array: tuple[str, ...] = ()
        where = str(self.files.root)
        for text, where in self.files.statements():
            for form, places, pattern in _FORMS:
                if self._place in places and (match := pattern.fullmatch(text)):
                    self._take(form, match.groups(), where)
                    break
            else:
                raise TrigemuError(f"{where}: {excerpt(text)!r} is no statement that hls4ml writes")
        if self._place != FILE:
            raise TrigemuError(f"{where}: this {self._place} has no end")

    def values(self, name: str) -> Array | None:
        """Return an array with values."""
        found = self.names.names.get(name)
        return found if isinstance(found, Array) else None

    def number(self, text: str, where: str) -> int:
        """Return the value of a size."""
        value = self._value(text)
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

    def _value(self, text: str) -> int | str:
        """Return the value of a number or of a product of some, or the text if it is something else."""
        factors: list[int] = []
        for part in text.split("*"):
            name = part.strip()
            value = self._scope.names.get(name, self.names.names.get(name))
            if match := _LITERAL.fullmatch(name):
                value = int(match[1] + match[2])
            if not isinstance(value, int):
                return text
            factors.append(value)
        return value if abs(value := math.prod(factors)) < 2**31 else text

    def _take(self, form: str, parts: tuple[Any, ...], where: str) -> None:
        """Take a statement of a form, with the parts that its pattern names."""
        match form:
            case "number":
                self._scope.define(parts[0], self._value(parts[1]), where)
            case "type":
                known = self.names.names.get(parts[0])
                self._scope.define(parts[1], known if isinstance(known, str) else parts[0], where)
            case "kernel":
                self._scope.define(parts[0], parts[1], where)
            case "struct":
                self._scope = Scope(where)
                self.names.define(parts[0], self._scope, where)
                self._place = STRUCT
            case "array" | "pixels":
                self._place, self._array = VALUES, parts if form == "array" else ()
            case "values":
                if self._array:
                    kind, name, size = self._array
                    text = parts[0].strip().replace("- ", "-")
                    values = tuple(text.split(" , ")) if text else ()
                    self.names.define(name, Array(kind, size, values, where), where)
                self._place = END
            case "declared":
                if self.declared.setdefault(parts[1], parts[0]) != parts[0]:
                    raise TrigemuError(f"{where}: {parts[1]} is declared with two types")
            case "function":
                self._begin_function(parts[0], parts[1], where)
            case "local":
                self._add_array(parts[0], parts[1], parts[2], where)
            case "call":
                types, arguments = (tuple(part.strip().split(" , ")) for part in parts[1:])
                self.calls.append(Call(parts[0], types, arguments, where))
            case "alias":
                self.names.define(parts[0], None, where)
                self.aliases[parts[0]] = self.aliases.get(parts[1], parts[1])
            case "close":
                self._place, self._scope = END if self._place == STRUCT else FILE, self.names
            case "end":
                self._place = FILE

    def _begin_function(self, name: str, parameters: str, where: str) -> None:
        if self.name:
            raise TrigemuError(f"{where}: a second function, beside {self.name}")
        self.name, self._place = name, FUNCTION
        for text in parameters.split(" , "):
            match = _PARAMETER.fullmatch(text)
            if not match:
                raise TrigemuError(f"{where}: {excerpt(text)!r} is no array, as io_parallel has them")
            self._add_array(match[1], match[2], match[3], where)
        self.parameters = [*self.arrays]

    def _add_array(self, kind: str, name: str, size: str, where: str) -> None:
        """Add a parameter or an array of the function."""
        if name in self.declared:
            raise TrigemuError(f"{where}: {excerpt(name)} is defined twice")
        self.names.define(name, None, where)
        self.arrays[name] = kind, size
