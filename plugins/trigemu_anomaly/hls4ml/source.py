"""The C++ of an hls4ml project: constants, types, arrays, configurations and layers.

Nothing is compiled or run. Only the statements that hls4ml writes are known; any other is refused, and so is
a name that is defined twice, since another of its values might be that of the network.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path, PurePosixPath

from trigemu.base.errors import TrigemuError, excerpt
from trigemu.base.files import read_bounded

from ..fixed_point import MAX_WORD, ApFixed

#: A piece of C++, and where it is: file and line.
Token = tuple[str, str]

#: The most bytes of all files.
_MAX_BYTES = 2**23
_COMMENT = re.compile(r'"[^"\n]*"|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_TOKEN = re.compile(r'[A-Za-z_]\w*|\.?\d(?:[eE][+-]|[\w.])*|::|"[^"]*"|\S', re.ASCII)
#: In place of a comment of several lines, at the end of the first.
_BROKEN = "\f"
_DIRECTIVE = re.compile(r"#\s*(\w*)\s*(.*)", re.ASCII)
_DEFINE = re.compile(r"([A-Za-z_]\w*)(?:\s+(\d+))?", re.ASCII)
_INCLUDE = re.compile(r'"([^"<>\0]{1,200})"|<[\w./+-]+>', re.ASCII)
_NETWORK = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?parameters\.h"', re.MULTILINE)
#: The headers of hls4ml and of the HLS tools.
_EXTERNAL = re.compile(r"(?:.*/)?(?:(?:nnet_utils|nn_utils|ap_types)/.*|(?:ap|hls)_\w+\.h)", re.ASCII)
#: How a wrapper scales the inputs, which is not part of the network.
_SCALES = ("scales.h", "scaling.h")


class Files:
    """The files of a project in a folder. root: the folder of the C++; read: the files that were read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        firmware = folder / "firmware"
        self.root = firmware if firmware.is_dir() else folder
        self.read: list[Path] = []
        self._left = _MAX_BYTES
        # What is synthesised decides: weights are those of the headers.
        self._macros = {"__SYNTHESIS__": ""}
        self._tokens: list[Token] = []

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

    def tokens(self) -> list[Token]:
        """Return the tokens of the network and of its scales; raise TrigemuError for what is not known."""
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
        self._add(networks[0], texts.pop(networks[0]))
        for file, text in texts.items():  # of a wrapper, the scales that it includes are read
            for number, line in enumerate(_without_comments(text).split("\n"), 1):
                match = _DIRECTIVE.fullmatch(line.strip())
                if match and match[1] == "include" and PurePosixPath(match[2].strip('"')).name in _SCALES:
                    self._include(file, match[2], f"{file}:{number}")
        for scales in (folder / name for folder in folders for name in _SCALES):
            if scales.is_file() and scales not in self.read:
                raise TrigemuError(
                    f"{scales}: no .cpp file includes it: add the wrapper of the network, or remove it"
                )
        return self._tokens

    def _add(self, file: Path, text: str) -> None:
        """Add the tokens of a file, and of those that it includes."""
        if wrong := re.search(r"\\[ \t\r]*$|\?\?[/=(!]", text, re.MULTILINE):
            where = f"{file}:{text.count(chr(10), 0, wrong.start()) + 1}"
            raise TrigemuError(f"{where}: {wrong[0]!r}: lines that are joined are not read")
        taken: list[bool] = []  # of each condition around a line
        for number, line in enumerate(_without_comments(text).split("\n"), 1):
            where, match = f"{file}:{number}", _DIRECTIVE.fullmatch(line.strip())
            if not match:
                if all(taken):
                    self._tokens += [(self._macros.get(word, word), where) for word in _TOKEN.findall(line)]
                continue
            name, value = match.groups()
            if name in ("ifdef", "ifndef"):
                taken.append((value in self._macros) == (name == "ifdef"))
            elif name == "else" and taken:
                taken[-1] = not taken[-1]
            elif name == "endif" and taken:
                taken.pop()
            elif name == "include":
                if all(taken):
                    self._include(file, value, where)
            elif name == "define":
                if all(taken):
                    self._define(value, where)
            elif name != "pragma" or value.split()[:1] not in (["HLS"], ["once"]) or _BROKEN in line:
                raise TrigemuError(f"{where}: the directive {excerpt(line.strip())!r} is not read")
        if taken:
            raise TrigemuError(f"{file}: an #endif is missing")

    def _define(self, text: str, where: str) -> None:
        match = _DEFINE.fullmatch(text)
        if not match:
            raise TrigemuError(f"{where}: #define {excerpt(text)}: expected a name and a whole number")
        name, value = match[1], match[2] or ""
        if self._macros.setdefault(name, value) != value:
            raise TrigemuError(
                f"{where}: {name} is defined twice, before as {self._macros[name] or 'a guard'}"
            )

    def _include(self, file: Path, text: str, where: str) -> None:
        match = _INCLUDE.fullmatch(text)
        if not match:
            raise TrigemuError(f"{where}: #include {excerpt(text)}: expected a name")
        name = match[1]
        if not name or _EXTERNAL.fullmatch(name):
            return
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise TrigemuError(f"{where}: includes {excerpt(name)!r}, which may be out of {self._folder}")
        places = (file.parent / path, self.root / path, file.parent / path.name)
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise TrigemuError(f"{where}: there is no {excerpt(name)!r} in {file.parent}")
        if found not in self.read:
            self._add(found, self.text(found))


def _without_comments(text: str) -> str:
    def without(match: re.Match[str]) -> str:
        lines = match[0].count("\n")
        return match[0] if match[0][0] == '"' else _BROKEN + "\n" * lines if lines else " "

    return _COMMENT.sub(without, text)


#: Statements, whose tokens are separated by single spaces.
_NAME = r"[A-Za-z_]\w*"
_TYPE = rf"(?:{_NAME} :: )*({_NAME}(?: < [\w ,-]* >)?)"
_SIZE = r"\[ ([^\[\]]*) ?\]"


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


_NAMESPACE = _form(rf"namespace {_NAME} {{")
_STRUCT = _form(rf"struct ({_NAME}) : nnet :: ({_NAME}) {{")
_FUNCTION = _form(rf"void ({_NAME}) \( ([^()]*) \) ([;{{])")
_PARAMETER = _form(rf"(?:const )?{_TYPE} ({_NAME}) {_SIZE}")
_WHOLE = rf"(?:unsigned(?: int)?|int|bool|size_t|nnet :: {_NAME})"
_NUMBER = _form(rf"(?:static )?const(?:expr)? {_WHOLE} ({_NAME}) = (.+) ;")
_TYPEDEF = _form(rf"typedef {_TYPE} ({_NAME}) ;")
_ARRAY = _form(rf"(?:static )?(?:const )?{_TYPE} ({_NAME}) {_SIZE} = {{")
_DECLARED = _form(rf"(?:extern )?(?:const )?{_TYPE} ({_NAME}) {_SIZE} ;")
_ALIAS = _form(rf"auto & ({_NAME}) = ({_NAME}) ;")
_CALL = _form(rf"{_NAME} :: ({_NAME}) < ([\w ,:]*) > \( ([\w ,]*) \) ;")
#: Members of configurations that do not change the arithmetic, and tables of io_stream.
_PASSED = _form(
    r"template < [\w ,]* > using (?:product = nnet :: product :: mult|"
    r"(?:conv_kernel|fill_buffer|scale_index\w*) = \w+ :: \w+) < [\w ,]* > ;|"
    rf"static const ap_uint < [\w *]+ > pixels {_SIZE} ;"
)
_KERNEL = _form(r"template < [\w ,]* > using (kernel) = nnet :: (Dense\w+) < [\w ,]* > ;")
_PIXELS = _form(rf"const ap_uint < [\w *:]+ > {_NAME} :: pixels {_SIZE} = {{")
_WRITTEN = _form(r"(-?) ?(0|[1-9]\d{0,9})[uUlL]*")
#: Integers, which numbers become as in C: without their fraction.
_INTEGER = _form(r"ap_(u?)int < (\d{1,4}) >")


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


@dataclass
class Scope:
    """The numbers and types of a struct or of all files, and where each name is defined."""

    names: dict[str, str] = field(default_factory=dict, kw_only=True)
    numbers: dict[str, int | str] = field(default_factory=dict, kw_only=True)
    types: dict[str, str] = field(default_factory=dict, kw_only=True)

    def define(self, name: str, where: str) -> None:
        if name in self.names:
            raise TrigemuError(f"{where}: {excerpt(name)} is defined twice, before at {self.names[name]}")
        self.names[name] = where


@dataclass
class Struct(Scope):
    """A configuration, and the kind of its layer."""

    kind: str
    where: str


@dataclass
class Source(Scope):
    """What the files say. declared: name → type of arrays without values; parameters, locals: name → (type,
    size) of arrays of the top function."""

    files: Files
    declared: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    name: str = ""
    parameters: dict[str, tuple[str, str]] = field(default_factory=dict)
    locals: dict[str, tuple[str, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def number(self, text: str, where: str) -> int:
        """Return the value of a size."""
        value = _value(text, self.numbers)
        if not isinstance(value, int):
            raise TrigemuError(f"{where}: cannot read the number {excerpt(text.strip())!r}")
        return value

    def type(self, name: str, where: str) -> ApFixed:
        """Return a type by its name or its text."""
        text = name.rsplit("::", 1)[-1].strip() if "<" not in name else name.strip()
        text = self.types.get(text, text)
        if match := _INTEGER.fullmatch(text):
            text = f"ap_{match[1]}fixed<{match[2]},{match[2]},AP_TRN_ZERO>"
        try:
            return ApFixed.parse(text, MAX_WORD)
        except TrigemuError as error:
            raise TrigemuError(f"{where}: the type {excerpt(name.strip())!r}: {error}") from None


def _value(text: str, *known: Mapping[str, int | str]) -> int | str:
    """Return the value of a constant or of a product of some, or the text if it is something else."""
    factors: list[int] = []
    for part in text.split("*"):
        name = part.strip()
        value = next((numbers[name] for numbers in known if name in numbers), None)
        if value is None and (match := _WRITTEN.fullmatch(name)):
            value = int(match[1] + match[2])
        if not isinstance(value, int):
            return text
        factors.append(value)
    return value if abs(value := math.prod(factors)) < 2**31 else text


class _Statements:
    """Tokens in statements, each up to its first ; { or }."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = iter(tokens)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield each statement and where it is."""
        words: list[str] = []
        start = ""
        for word, where in self._tokens:
            start = start if words else where
            words.append(word)
            if word in (";", "{", "}"):
                yield " ".join(words), start
                words = []
        if words:
            raise TrigemuError(f"{start}: the file ends in a statement")

    def values(self, where: str) -> tuple[str, ...]:
        """Return the words up to the end of an array, without commas."""
        words = [word for word, _ in takewhile(lambda token: token[0] != "}", self._tokens)]
        if next(self._tokens, ("", ""))[0] != ";" or {";", "{"} & {*words}:
            raise TrigemuError(f"{where}: expected {{value, …}};")
        return tuple(" ".join(words).replace("- ", "-").split(" , ")) if words else ()


def read_source(folder: Path) -> Source:
    """Read the C++ of a project."""
    files = Files(folder)
    source, statements, inside = Source(files), _Statements(files.tokens()), 0
    for text, where in statements:
        if _NAMESPACE.fullmatch(text):
            inside += 1
        elif text == "}" and inside:
            inside -= 1
        elif match := _STRUCT.fullmatch(text):
            source.define(match[1], where)
            source.structs[match[1]] = _struct(source, match[2], statements, where)
        elif match := _FUNCTION.fullmatch(text):
            if match[3] == "{":
                _function(source, match[1], match[2], statements, where)
        elif match := _ARRAY.fullmatch(text):
            source.define(match[2], where)
            source.arrays[match[2]] = Array(match[1], match[3], statements.values(where), where)
        elif _PIXELS.fullmatch(text):
            statements.values(where)
        elif match := _DECLARED.fullmatch(text):
            if source.declared.setdefault(match[2], match[1]) != match[1]:
                raise TrigemuError(f"{where}: {match[2]} is declared with two types")
        elif not _constant(source, source, text, where):
            raise _unknown(text, where)
    return source


def _unknown(text: str, where: str) -> TrigemuError:
    return TrigemuError(f"{where}: {excerpt(text)!r} is no statement that hls4ml writes")


def _constant(source: Source, scope: Scope, text: str, where: str) -> bool:
    """Read a number or a type; return whether it is one."""
    if match := _NUMBER.fullmatch(text):
        scope.define(match[1], where)
        scope.numbers[match[1]] = _value(match[2], scope.numbers, source.numbers)
    elif match := _TYPEDEF.fullmatch(text):
        if match[2] in source.types:
            raise TrigemuError(f"{where}: the type {excerpt(match[2])} is defined twice")
        scope.define(match[2], where)
        scope.types[match[2]] = source.types.get(match[1], match[1])
    return match is not None


def _struct(source: Source, kind: str, statements: _Statements, where: str) -> Struct:
    struct, ends = Struct(kind, where), False
    for text, line in statements:
        if text == ";" and ends:
            return struct
        if match := _KERNEL.fullmatch(text):
            struct.numbers[match[1]] = match[2]
            continue
        known = text == "}" or _PASSED.fullmatch(text)
        if ends or not (known or _constant(source, struct, text, line)):
            raise _unknown(text, line)
        ends = text == "}"
    raise TrigemuError(f"{where}: this struct has no end")


def _function(source: Source, name: str, parameters: str, statements: _Statements, where: str) -> None:
    """Read the function with the layers."""
    if source.name:
        raise TrigemuError(f"{where}: a second function, beside {source.name}")
    source.name = name
    for parameter in parameters.split(" , "):
        match = _PARAMETER.fullmatch(parameter)
        if not match:
            raise TrigemuError(f"{where}: {excerpt(parameter)!r} is no array, as io_parallel has them")
        source.define(match[2], where)
        source.parameters[match[2]] = (match[1], match[3])
    for text, line in statements:
        if text == "}":
            return
        if match := _CALL.fullmatch(text):
            types, arguments = (tuple(match[n].strip().split(" , ")) for n in (2, 3))
            source.calls.append(Call(match[1], types, arguments, line))
        elif match := _DECLARED.fullmatch(text):
            if match[2] in source.declared:
                raise TrigemuError(f"{line}: {excerpt(match[2])} is declared twice")
            source.define(match[2], line)
            source.locals[match[2]] = (match[1], match[3])
        elif match := _ALIAS.fullmatch(text):
            source.define(match[1], line)
            source.aliases[match[1]] = source.aliases.get(match[2], match[2])
        else:
            raise _unknown(text, line)
    raise TrigemuError(f"{where}: this function has no end")
