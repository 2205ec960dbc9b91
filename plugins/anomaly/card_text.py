"""Parts of the text of a card."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from trigemu.api import Context, TrigemuError, load_toml, parse_tree, quoting, read_scope, toml_text

#: Consecutive inputs, after the objects that they need.
Blocks = Sequence[tuple[str, list[str]]]
_PADDING = "# Add padding = 0.0 if the training replaced missing values. Without it, an event needs {}.\n"


def input_blocks(texts: Sequence[str], file: Path) -> Blocks:
    """Return the inputs that are separated by commas, in blocks with the objects that they need; raise
    TrigemuError for what a card in a file cannot have."""
    context = Context(read_scope(load_toml(file, lambda path: b"")), file.parent)
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
    """Return [network] of a model with this content, in a card; raise TrigemuError if the card cannot name
    it."""
    relative = _relative(model, card.parent).as_posix()
    sha256 = hashlib.sha256(content).hexdigest()
    return toml_text.table("[network]", {"file": relative, "sha256": sha256})


def _relative(model: Path, folder: Path) -> Path:
    """Return the path of a model as a card in a folder gives it."""
    try:
        str(model).encode()
    except UnicodeEncodeError:
        raise TrigemuError(f"{model}: a card is UTF-8 and cannot have this name: rename the file") from None
    return Path(os.path.relpath(model, folder))
