"""Reader of the XML of CMS Level-1 global-trigger menus, with the line of each element, without
interpretation."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from xml.parsers import expat

from trigemu.base.errors import own_cause, printable, quoted
from trigemu.base.toml import Document, Key, Problem, TableError
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
    signals, by name. document: the file, in which a line is its own key."""

    name: str
    grammar: str
    comment: str
    algorithms: tuple[Algorithm, ...]
    scales: Mapping[tuple[str, str], Bins]
    digits: Mapping[str, int]
    externals: Mapping[str, int]
    document: Document


def read_xml(path: Path) -> XMLMenu:
    """Read a menu (also .xz, .gz). TableError with all mistakes of the file."""

    def refused(line: int, message: str) -> TableError:
        return TableError([Problem(str(path), line, "", message)])

    try:
        with opened(path, compression="infer") as stream:
            content: bytes = stream.read(MAX_BYTES + 1)
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        reason = getattr(error, "strerror", None) or error
        raise refused(0, f"cannot read: {reason}") from None
    if len(content) > MAX_BYTES:
        raise refused(1, f"is larger than {MAX_BYTES} bytes, which no menu is")
    root, lines = _tree(content, refused)
    if root.tag != "menu":
        raise refused(root.line, f"expected a CMS Level-1 menu, whose root is 'menu', not {root.tag!r}")
    document = Document(path, {}, lines, hashlib.sha256(content).hexdigest())
    scales, digits = _scales(root, document)
    menu = XMLMenu(
        name=root.word("name") or printable(path.stem),
        grammar=root.word("grammar_version"),
        comment=" ".join(root.word("comment").split()),
        algorithms=_algorithms(root, document),
        scales=scales,
        digits=digits,
        externals=_externals(root, document),
        document=document,
    )
    document.finish()
    return menu


def _tree(content: bytes, refused: Callable[[int, str], TableError]) -> tuple[XMLNode, dict[Key, int]]:
    """Parse the XML, without document types: their entities can expand, or read other files."""
    top = XMLNode("", 0)
    stack, lines = [top], dict[Key, int]()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def start(name: str, attributes: Mapping[str, str]) -> None:
        node = XMLNode(name.rpartition(" ")[2], parser.CurrentLineNumber)
        lines[(node.line,)] = node.line
        stack[-1].children.append(node)
        stack.append(node)

    def text(data: str) -> None:
        stack[-1].text += data

    def refuse(*_: object) -> None:
        raise refused(parser.CurrentLineNumber, "has a DOCTYPE, which no menu needs: remove it")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: stack.pop()
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise refused(error.lineno, f"not valid XML: {reason} (column {error.offset + 1})") from None
    except (LookupError, ValueError) as error:  # of an encoding that needs one of Python's codecs
        raise refused(1, f"has an encoding that is not read: {error}; save it as UTF-8") from None
    return top.children[0], lines


def _number(node: XMLNode, tag: str, kind: Callable[[str], T], document: Document, where: str) -> T | None:
    text = node.word(tag)
    try:
        return kind(text)
    except ValueError:
        child = node.get(tag)
        problem = f"{quoted(text)}, expected a number" if child else "is missing"
        document.problem(((child or node).line,), where, f"<{tag}> {problem}")
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


def _algorithms(root: XMLNode, document: Document) -> tuple[Algorithm, ...]:
    algorithms: list[Algorithm] = []
    lines: dict[str | int, int] = {}
    for node in root.all("algorithm"):
        name = node.word("name")
        where = f"algorithm {name!r}"
        index = _number(node, "index", _integer, document, where)
        expression = node.get("expression")
        if not name or expression is None:
            document.problem((node.line,), where, f"<{'expression' if name else 'name'}> is missing")
            continue
        if index is None:
            continue
        if not 0 <= index < 512:
            document.problem((node.line,), where, f"index {index}: expected 0 … 511")
        for key, kind in ((name, "name"), (index, "index")):
            if key in lines:
                message = f"another algorithm has this {kind}, {key!r} (line {lines[key]})"
                document.problem((node.line,), where, message)
            lines[key] = node.line
        cuts = _cuts(node, document, where)
        text = " ".join(expression.text.split())
        algorithms.append(Algorithm(name, index, text, cuts, expression.line))
    if not algorithms:
        document.problem((root.line,), "", "has no algorithms")
    return tuple(sorted(algorithms, key=lambda algorithm: algorithm.index))


def _cuts(algorithm: XMLNode, document: Document, where: str) -> dict[str, Cut]:
    cuts = {}
    for node in algorithm.all("cut"):
        name = node.word("name")
        inside = f"{where}, cut {name!r}"
        minimum = _number(node, "minimum", _finite, document, inside)
        maximum = _number(node, "maximum", _finite, document, inside)
        if minimum is not None and maximum is not None:
            cuts[name] = Cut(name, node.word("type"), minimum, maximum, node.word("data"), node.line)
    return cuts


def _scales(root: XMLNode, document: Document) -> tuple[dict[tuple[str, str], Bins], dict[str, int]]:
    scales: dict[tuple[str, str], Bins] = {}
    digits: dict[str, int] = {}
    for node in (scale for scale_set in root.all("scale_set") for scale in scale_set.all("scale")):
        key = node.word("object"), node.word("type")
        where = f"scale {key[0]} {key[1]}"
        if key[0] == "PRECISION":
            number = _number(node, "n_bits", _integer, document, where)
            digits |= {} if number is None else {key[1]: number}
            continue
        ends = [_number(node, tag, _finite, document, where) for tag in ("minimum", "maximum", "step")]
        bins = [_bin(part, document, where) for part in node.all("bin")]
        minimum, maximum, step = (0.0 if end is None else end for end in ends)
        scales[key] = Bins(minimum, maximum, step, tuple(sorted(bins)), node.line)
    return scales, digits


def _bin(node: XMLNode, document: Document, where: str) -> tuple[float, float, int]:
    lower = _number(node, "minimum", _finite, document, where)
    upper = _number(node, "maximum", _finite, document, where)
    return lower or 0.0, upper or 0.0, _number(node, "number", _integer, document, where) or 0


def _externals(root: XMLNode, document: Document) -> dict[str, int]:
    channels = {}
    for node in (signal for group in root.all("ext_signal_set") for signal in group.all("ext_signal")):
        name = node.word("name")
        channel = _number(node, "channel", _integer, document, f"external signal {name!r}")
        if channel is not None:
            channels[name] = channel
    return channels
