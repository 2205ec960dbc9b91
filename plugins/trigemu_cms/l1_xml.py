"""Reader of the XML of CMS Level-1 global-trigger menus, with the line of each element, without
interpretation."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeVar
from xml.parsers import expat

from trigemu.base.errors import TrigemuError, own_cause, printable, quoted
from trigemu.base.toml import Problem, TableError
from trigemu.samples.locations import opened

T = TypeVar("T")

#: The most bytes of the XML; menus of experiments have 2 MB.
MAX_BYTES = 50_000_000
#: The largest integer; bits, channels and numbers of bins are far below.
MAX_INTEGER = 2**31 - 1


@dataclass
class XMLNode:
    """An element of the XML. tag: without its namespace. line: where it begins."""

    tag: str
    line: int
    text: str = ""
    children: list[XMLNode] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[XMLNode]:
        return (child for child in self.children if child.tag == tag)

    def get(self, tag: str) -> XMLNode | None:
        return next(self.all(tag), None)

    def word(self, tag: str) -> str:
        """Return the text of a child, "" if there is none."""
        child = self.get(tag)
        return child.text.strip() if child else ""


@dataclass(frozen=True)
class Cut:
    """The cut that a name in square brackets refers to in one algorithm."""

    name: str
    type: str
    minimum: float
    maximum: float
    data: str
    line: int


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the menu. index: its bit. line: of the expression."""

    name: str
    index: int
    expression: str
    cuts: Mapping[str, Cut]
    line: int


@dataclass(frozen=True)
class Bins:
    """A scale. edges: (lower, upper, number) of each bin, by rising lower edge."""

    minimum: float
    maximum: float
    step: float
    edges: tuple[tuple[float, float, int], ...]
    line: int


@dataclass(frozen=True)
class XMLMenu:
    """The content of the XML. algorithms: in the order of their bits. scales: by object and type. digits:
    decimal digits of the integer arithmetic, by the name of a PRECISION. externals: the bits of external
    signals, by name."""

    name: str
    grammar: str
    comment: str
    algorithms: tuple[Algorithm, ...]
    scales: Mapping[tuple[str, str], Bins]
    digits: Mapping[str, int]
    externals: Mapping[str, int]
    path: Path
    sha256: str


class Mistakes:
    """The mistakes of one file, each with its line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []

    def add(self, line: int, where: str, message: str) -> None:
        self.problems.append(Problem(str(self.path), line, where, message))

    def attempt(self, make: Callable[[], T], line: int, where: str) -> T | None:
        """Return the result of `make`, or record a mistake and return None if it fails."""
        try:
            return make()
        except TrigemuError as error:
            self.add(line, where, str(error))
            return None

    def refuse(self, line: int, message: str) -> NoReturn:
        """Record a mistake and raise TableError, since the rest cannot be read."""
        self.add(line, "", message)
        raise TableError(self.problems)

    def finish(self) -> None:
        if self.problems:
            raise TableError(self.problems)


def read_xml(path: Path) -> XMLMenu:
    """Read a menu (also .xz, .gz). TableError with all mistakes of the file."""
    try:
        with opened(path, compression="infer") as stream:
            content: bytes = stream.read(MAX_BYTES + 1)
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        reason = getattr(error, "strerror", None) or error
        raise TableError([Problem(str(path), 0, "", f"cannot read: {reason}")]) from None
    mistakes = Mistakes(path)
    if len(content) > MAX_BYTES:
        mistakes.refuse(1, f"is larger than {MAX_BYTES} bytes, which no menu is")
    root = _tree(content, mistakes)
    if root.tag != "menu":
        mistakes.refuse(root.line, f"expected a CMS Level-1 menu, whose root is 'menu', not {root.tag!r}")
    scales, digits = _scales(root, mistakes)
    menu = XMLMenu(
        name=root.word("name") or printable(path.stem),
        grammar=root.word("grammar_version"),
        comment=" ".join(root.word("comment").split()),
        algorithms=_algorithms(root, mistakes),
        scales=scales,
        digits=digits,
        externals=_externals(root, mistakes),
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
    )
    mistakes.finish()
    return menu


def _tree(content: bytes, mistakes: Mistakes) -> XMLNode:
    """Parse the XML. Document types are refused: no menu needs one, and their entities can expand without
    limit or read other files."""
    top = XMLNode("", 0)
    stack = [top]
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def start(name: str, attributes: Mapping[str, str]) -> None:
        node = XMLNode(name.rpartition(" ")[2], parser.CurrentLineNumber)
        stack[-1].children.append(node)
        stack.append(node)

    def text(data: str) -> None:
        stack[-1].text += data

    def refuse(*_: object) -> None:
        mistakes.refuse(parser.CurrentLineNumber, "has a DOCTYPE, which no menu needs: remove it")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: stack.pop()
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        mistakes.refuse(error.lineno, f"not valid XML: {reason} (column {error.offset + 1})")
    except (LookupError, ValueError) as error:  # of an encoding that needs one of Python's codecs
        mistakes.refuse(1, f"has an encoding that is not read: {error}; save it as UTF-8")
    return top.children[0]


def _number(node: XMLNode, tag: str, kind: Callable[[str], T], mistakes: Mistakes, where: str) -> T | None:
    text = node.word(tag)
    try:
        return kind(text)
    except ValueError:
        child = node.get(tag)
        problem = f"{quoted(text)}, expected a number" if child else "is missing"
        mistakes.add(child.line if child else node.line, where, f"<{tag}> {problem}")
        return None


def _integer(text: str) -> int:
    number = int(text)
    if abs(number) > MAX_INTEGER:
        raise ValueError
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _algorithms(root: XMLNode, mistakes: Mistakes) -> tuple[Algorithm, ...]:
    algorithms: list[Algorithm] = []
    lines: dict[str | int, int] = {}
    for node in root.all("algorithm"):
        name = node.word("name")
        where = f"algorithm {name!r}"
        index = _number(node, "index", _integer, mistakes, where)
        expression = node.get("expression")
        if not name or expression is None:
            mistakes.add(node.line, where, f"<{'expression' if name else 'name'}> is missing")
            continue
        if index is None:
            continue
        if not 0 <= index < 512:
            mistakes.add(node.line, where, f"index {index}: expected 0 … 511")
        for key, kind in ((name, "name"), (index, "index")):
            if key in lines:
                message = f"another algorithm has this {kind}, {key!r} (line {lines[key]})"
                mistakes.add(node.line, where, message)
            lines[key] = node.line
        cuts = _cuts(node, mistakes, where)
        text = " ".join(expression.text.split())
        algorithms.append(Algorithm(name, index, text, cuts, expression.line))
    if not algorithms:
        mistakes.add(root.line, "", "has no algorithms")
    return tuple(sorted(algorithms, key=lambda algorithm: algorithm.index))


def _cuts(algorithm: XMLNode, mistakes: Mistakes, where: str) -> dict[str, Cut]:
    cuts = {}
    for node in algorithm.all("cut"):
        name = node.word("name")
        inside = f"{where}, cut {name!r}"
        minimum = _number(node, "minimum", _finite, mistakes, inside)
        maximum = _number(node, "maximum", _finite, mistakes, inside)
        if minimum is not None and maximum is not None:
            cuts[name] = Cut(name, node.word("type"), minimum, maximum, node.word("data"), node.line)
    return cuts


def _scales(root: XMLNode, mistakes: Mistakes) -> tuple[dict[tuple[str, str], Bins], dict[str, int]]:
    scales: dict[tuple[str, str], Bins] = {}
    digits: dict[str, int] = {}
    for node in (scale for scale_set in root.all("scale_set") for scale in scale_set.all("scale")):
        key = node.word("object"), node.word("type")
        where = f"scale {key[0]} {key[1]}"
        if key[0] == "PRECISION":
            number = _number(node, "n_bits", _integer, mistakes, where)
            digits |= {} if number is None else {key[1]: number}
            continue
        ends = [_number(node, tag, _finite, mistakes, where) for tag in ("minimum", "maximum", "step")]
        bins = [_bin(part, mistakes, where) for part in node.all("bin")]
        minimum, maximum, step = (0.0 if end is None else end for end in ends)
        scales[key] = Bins(minimum, maximum, step, tuple(sorted(bins)), node.line)
    return scales, digits


def _bin(node: XMLNode, mistakes: Mistakes, where: str) -> tuple[float, float, int]:
    lower = _number(node, "minimum", _finite, mistakes, where)
    upper = _number(node, "maximum", _finite, mistakes, where)
    return lower or 0.0, upper or 0.0, _number(node, "number", _integer, mistakes, where) or 0


def _externals(root: XMLNode, mistakes: Mistakes) -> dict[str, int]:
    channels = {}
    for node in (signal for group in root.all("ext_signal_set") for signal in group.all("ext_signal")):
        name = node.word("name")
        channel = _number(node, "channel", _integer, mistakes, f"external signal {name!r}")
        if channel is not None:
            channels[name] = channel
    return channels
