"""Reader of the XML of CMS Level-1 global-trigger menus, with the line of each element, without
interpretation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from trigemu.base.errors import own_cause, printable, quoted
from trigemu.base.toml import Document, Key, Problem, TableError
from trigemu.samples.locations import opened

T = TypeVar("T", int, float)

#: Above all numbers in menus; those up to here are exact as floats.
_MAX_NUMBER = 2**53


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
    try:
        with opened(path, compression="infer") as stream:
            content: bytes = stream.read()
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        reason = getattr(error, "strerror", None) or error
        raise TableError([Problem(str(path), 0, "", f"cannot read: {reason}")]) from None
    root, lines = _tree(path, content)
    reader = _Reader(Document(path, {}, lines, hashlib.sha256(content).hexdigest()))
    if root.tag != "menu":
        message = f"expected a CMS Level-1 menu, whose root is 'menu', not {root.tag!r}"
        raise TableError([Problem(str(path), line_of(root), "", message)])
    scales, digits = reader.scales(root)
    menu = XMLMenu(
        name=_text(root, "name") or printable(path.stem),
        grammar=_text(root, "grammar_version"),
        comment=" ".join(_text(root, "comment").split()),
        algorithms=reader.algorithms(root),
        scales=scales,
        digits=digits,
        externals={
            (name := _text(node, "name")): reader.number(node, "channel", f"external signal {name!r}", int)
            for node in root.iterfind("ext_signal_set/ext_signal")
        },
        document=reader.document,
    )
    menu.document.finish()
    return menu


def line_of(node: Element) -> int:
    return int(node.attrib["line"])


def _text(node: Element, tag: str) -> str:
    """Return the text of a child, "" if there is none."""
    return node.findtext(tag, "").strip()


def _tree(path: Path, content: bytes) -> tuple[Element, dict[Key, int]]:
    """Return the elements, with their lines as attributes and without namespaces, and all lines. Document
    types are refused: their entities can expand, or read other files."""

    def refused(line: int, message: str) -> TableError:
        return TableError([Problem(str(path), line, "", message)])

    def start(name: str, attributes: Mapping[str, str]) -> None:
        line = parser.CurrentLineNumber
        lines[(line,)] = line
        builder.start(name.rpartition(" ")[2], {"line": str(line)})

    def refuse(*_: object) -> None:
        raise refused(parser.CurrentLineNumber, "has a DOCTYPE, which no menu needs: remove it")

    builder, lines = TreeBuilder(), dict[Key, int]()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: builder.end(name.rpartition(" ")[2])
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise refused(error.lineno, f"not valid XML: {reason} (column {error.offset + 1})") from None
    except (LookupError, ValueError) as error:  # of an encoding that needs one of Python's codecs
        raise refused(1, f"has an encoding that is not read: {error}; save it as UTF-8") from None
    return builder.close(), lines


@dataclass
class _Reader:
    """Reads the parts of a menu; mistakes are recorded in the document."""

    document: Document

    def number(self, node: Element, tag: str, where: str, kind: Callable[[str], T]) -> T:
        """Return the number in a child; 0 after a mistake."""
        text, child = _text(node, tag), node.find(tag)
        try:
            if abs(number := kind(text)) < _MAX_NUMBER:
                return number
        except ValueError:
            pass
        problem = f"{quoted(text)}, expected a number" if child is not None else "is missing"
        self.document.problem((line_of(node if child is None else child),), where, f"<{tag}> {problem}")
        return kind("0")

    def algorithms(self, root: Element) -> tuple[Algorithm, ...]:
        algorithms: list[Algorithm] = []
        lines: dict[str | int, int] = {}
        for node in root.iterfind("algorithm"):
            name, line = _text(node, "name"), line_of(node)
            where, before = f"algorithm {name!r}", len(self.document.problems)
            index = self.number(node, "index", where, int)
            expression = node.find("expression")
            if not name or expression is None:
                missing = "expression" if name else "name"
                self.document.problem((line,), where, f"<{missing}> is missing")
            if expression is None or len(self.document.problems) > before:
                continue
            if not 0 <= index < 512:
                self.document.problem((line,), where, f"index {index}: expected 0 … 511")
            for key, kind in ((name, "name"), (index, "index")):
                if key in lines:
                    message = f"another algorithm has this {kind}, {key!r} (line {lines[key]})"
                    self.document.problem((line,), where, message)
                lines[key] = line
            cuts = {cut.name: cut for cut in (self._cut(part, where) for part in node.iterfind("cut"))}
            text = " ".join((expression.text or "").split())
            algorithms.append(Algorithm(name, index, text, cuts, line_of(expression)))
        if not algorithms:
            self.document.problem((line_of(root),), "", "has no algorithms")
        return tuple(sorted(algorithms, key=lambda algorithm: algorithm.index))

    def _cut(self, node: Element, where: str) -> Cut:
        name = _text(node, "name")
        minimum, maximum = (
            self.number(node, tag, f"{where}, cut {name!r}", float) for tag in ("minimum", "maximum")
        )
        return Cut(name, _text(node, "type"), minimum, maximum, _text(node, "data"), line_of(node))

    def scales(self, root: Element) -> tuple[dict[tuple[str, str], Bins], dict[str, int]]:
        scales: dict[tuple[str, str], Bins] = {}
        digits: dict[str, int] = {}
        for node in root.iterfind("scale_set/scale"):
            key = _text(node, "object"), _text(node, "type")
            where = f"scale {key[0]} {key[1]}"
            if key[0] == "PRECISION":
                digits[key[1]] = self.number(node, "n_bits", where, int)
                continue
            minimum, maximum, step = (
                self.number(node, tag, where, float) for tag in ("minimum", "maximum", "step")
            )
            edges = (
                (
                    self.number(part, "minimum", where, float),
                    self.number(part, "maximum", where, float),
                    self.number(part, "number", where, int),
                )
                for part in node.iterfind("bin")
            )
            scales[key] = Bins(minimum, maximum, step, tuple(sorted(edges)), line_of(node))
        return scales, digits
