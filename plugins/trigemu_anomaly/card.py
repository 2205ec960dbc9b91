"""Model cards: TOML files that describe a model, its inputs and its training events. Their [objects], [sums]
and [integer] are their own, so that inputs do not depend on the menu; they name model files by sha256.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Generic, TypeVar

from trigemu.base import toml_text
from trigemu.base.errors import TrigemuError
from trigemu.base.files import read_bounded
from trigemu.base.toml import Document, Key, Problem, TableError, TomlTable, load_toml, read_table
from trigemu.observables.expressions import Number
from trigemu.observables.hardware_scales import Integers, read_integers
from trigemu.observables.language import parse_tree, quoting
from trigemu.observables.selections import read_scope
from trigemu.triggers.base import Context, TrainedOn

#: Consecutive inputs, after the objects that they need.
Blocks = Sequence[tuple[str, list[str]]]
_PADDING = "# Add padding = 0.0 if the training replaced missing values. Without it, an event needs {}.\n"


def empty_context(file: Path, contents: Mapping[str, bytes] | None = None) -> Context:
    """Return the context of a file without [objects] and [sums]."""
    return Context(read_scope(load_toml(file, lambda path: b"")), file.parent, contents or {})


def objects_of(menu: Path) -> tuple[Context, str]:
    """Return the context of a menu's [objects], [sums] and [integer], and these as TOML; or TableError."""
    document = load_toml(menu)
    scope = read_scope(document)
    read_integers(document, lambda name: scope.object(name).base)
    document.finish()
    tables = (
        toml_text.table(f"[{part}.{name}]", keys)
        for part in ("objects", "sums", "integer")
        for name, keys in document.data.get(part, {}).items()
    )
    return Context(scope, menu.parent), "\n".join(tables)


def input_blocks(texts: Sequence[str], context: Context) -> Blocks:
    """Return the inputs separated by commas, in blocks with their objects; or TrigemuError."""
    inputs: list[tuple[str, str]] = []
    for text in texts:
        with quoting(text):
            tree = parse_tree(text)
        for node in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
            objects = (ast.unparse(part) for part in ast.walk(node) if isinstance(part, ast.Subscript))
            written = ast.unparse(node)
            context.observable(written)
            inputs.append((written, ", ".join(dict.fromkeys(objects))))
    return [(key, [text for text, _ in group]) for key, group in groupby(inputs, lambda item: item[1])]


def input_tables(blocks: Blocks) -> Iterator[str]:
    """Yield [[network.inputs]] of each block."""
    for objects, observables in blocks:
        block = toml_text.table("[[network.inputs]]", {"observables": observables})
        yield block + (_PADDING.format(objects) if objects else "")


def network_table(model: Path, content: bytes, card: Path) -> str:
    """Return [network] of a model in a card."""
    relative = Path(os.path.relpath(model, card.parent)).as_posix()
    sha256 = hashlib.sha256(content).hexdigest()
    return toml_text.table("[network]", {"file": relative, "sha256": sha256})


_DIGEST = re.compile(rb"""(sha256\s*=\s*)(?:"[^"]*"|'[^']*')""")
#: Largest model file that is read, in bytes.
MAX_BYTES = 2**28


class ModelFile(TomlTable, frozen=True):
    """A model file, relative to the card, and its sha256."""

    file: str  #: The path of the file, relative to the card.
    sha256: str  #: Its expected digest; any other file is refused.


class CardTable(TomlTable, frozen=True, kw_only=True):
    """The common part of all cards, besides [objects] and [sums]; a kind adds its own tables."""

    description: str = ""  #: Free text.
    #: The events that the model was trained on; rates are computed from the other events.
    trained_on: TrainedOn | None = None


C = TypeVar("C", bound=CardTable)
M = TypeVar("M")


def renewed_digests(files: Sequence[Path]) -> dict[Path, tuple[bytes, list[str]]]:
    """Return, of the TOML files whose digests of models and cards are not those of the files that they name,
    the content with these digests, and the names, in any order of the files; or TrigemuError."""
    contents = {file.resolve(): read_bounded(file) for file in files}
    changed: dict[Path, tuple[bytes, list[str]]] = {}
    for _ in files:  # a card that changes also changes those that name it
        for file in files:
            place = file.resolve()
            document = load_toml(file, lambda path: contents[path.resolve()])
            for key, table in _signed(document.data, ()):
                name = str(table.get("file", table.get("card")))
                path = (place.parent / name).resolve()
                try:
                    content = contents.get(path) or read_bounded(path, MAX_BYTES)
                except OSError as error:
                    raise TrigemuError(f"{file}: cannot read {name}: {error.strerror}") from None
                digest = hashlib.sha256(content).hexdigest()
                if digest == str(table["sha256"]).lower():
                    continue
                lines = contents[place].split(b"\n")
                number = document.lines[(*key, "sha256")] - 1
                lines[number], found = _DIGEST.subn(rf'\g<1>"{digest}"'.encode(), lines[number])
                if found != 1:
                    raise TrigemuError(f'{file}:{number + 1}: expected one sha256 = "…" in this line')
                contents[place] = b"\n".join(lines)
                names = changed.get(file, (b"", []))[1]
                changed[file] = contents[place], [*dict.fromkeys((*names, name))]
    return changed


def _signed(value: object, key: Key) -> Iterator[tuple[Key, Mapping[str, object]]]:
    """Yield each table that names a file or a card with its sha256, and its key."""
    if isinstance(value, dict) and "sha256" in value and ("file" in value or "card" in value):
        yield key, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from _signed(part, (*key, name))


@dataclass(frozen=True)
class Card(Generic[C]):
    """A card that was read: its table, the context that resolves its names, and its scales of the hardware.
    Mistakes are collected in the document."""

    document: Document
    table: C
    context: Context
    integers: Integers | None = None

    def observable(self, text: str, key: Key) -> Number | None:
        """Parse a number with the names of the card, or record the mistake at the key."""
        return self.document.attempt(lambda: self.context.observable(text), key)

    def model(self, file: ModelFile, key: Key, opened: Callable[[bytes], M]) -> M:
        """Open a model file; raise TableError if the card has mistakes, if the sha256 of the file differs
        from the one in the card, or if it cannot be opened."""
        path = self.document.path.parent / file.file
        try:
            content = self.context.read(path, MAX_BYTES)
        except OSError as error:
            where = f"{file.file!r} is relative to the folder of the card"
            self.document.problem((*key, "file"), "", f"cannot read {path}: {error.strerror}; {where}")
            raise TableError(self.document.problems) from None
        digest = hashlib.sha256(content).hexdigest()
        if digest != file.sha256.lower():
            self.document.problem(
                (*key, "sha256"),
                "",
                f"{path} has sha256 {digest}, the card says {file.sha256}: it is damaged or a different "
                "file; if it was trained again, `trigemu anomaly sign` renews the card",
            )
            raise TableError(self.document.problems)
        self.context.models[str(path)] = digest
        self.document.finish()
        try:
            return opened(content)
        except TrigemuError as error:
            self.document.problem((*key, "file"), "", f"{file.file} {error}")
            raise TableError(self.document.problems) from None


def open_card(
    context: Context, name: str, sha256: str | None, struct: type[C], named_in: str = "menu"
) -> Card[C]:
    """Read the card of a name, relative to the folder of the context; TableError with all its mistakes."""
    path = context.folder / name

    def mistake(message: str) -> TableError:
        return TableError([Problem(str(path), 0, "", message)])

    def read(file: Path) -> bytes:
        try:
            return context.read(file)
        except FileNotFoundError as error:
            raise mistake(
                f"cannot read: {error.strerror}; {name!r} is relative to the folder of the {named_in}, "
                f"{context.folder.resolve()}: copy the card there with its models, or give its absolute path"
            ) from None

    document = load_toml(path, read)
    if sha256 is not None and document.sha256 != sha256.lower():
        raise mistake(
            f"has sha256 {document.sha256}, not {sha256}: it is a different card; if it was retrained, "
            f"update the sha256"
        )
    scope = read_scope(document)
    integers = read_integers(document, lambda name: scope.object(name).base)
    keys = {key: value for key, value in document.data.items() if key not in ("objects", "sums", "integer")}
    table = read_table(document, keys, struct, (), "")
    if table is None:
        raise TableError(document.problems)
    context.models[str(path)] = document.sha256
    if table.trained_on:
        context.trained.append(table.trained_on)
    return Card(document, table, context.within(scope, path.parent), integers)
