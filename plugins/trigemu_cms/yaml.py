"""YAML files as plain values, with the line of each key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.files import read_bounded
from trigemu.base.toml import Document, Key, Problem, TableError

#: Limits of a file: its bytes (menus have 10 kB), and the entries of a mapping with all merged into it.
MAX_BYTES, MAX_ENTRIES = 5_000_000, 100_000


def load(path: Path) -> Document:
    """Read a YAML file of plain values, without tags that create objects; TableError if it is not."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("reading YAML", "formats", "pyyaml") from None

    def refused(line: int, message: str) -> TableError:
        return TableError([Problem(str(path), line, "", message)])

    try:
        content = read_bounded(path, MAX_BYTES)
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        counts: dict[int, int] = {}
        for mapping in _mappings(node):
            if _entries(mapping, counts) > MAX_ENTRIES:
                message = f"a mapping with all merged into it has more than {MAX_ENTRIES} entries"
                raise refused(mapping.start_mark.line + 1, message)
        data = loader.construct_document(node) if node is not None else {}
        lines: dict[Key, int] = {}
        _note_lines(node, (), lines, set())
    except OSError as error:
        raise refused(0, f"cannot read: {error.strerror}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise refused(mark.line + 1 if mark else 1, f"not valid YAML: {reason}") from None
    except (ValueError, KeyError, AttributeError) as error:  # of a scalar such as 0b_, which PyYAML converts
        raise refused(1, f"not valid YAML: {error}") from None
    except RecursionError:
        raise refused(1, "is nested too deeply") from None
    document = Document(path, data, lines, hashlib.sha256(content).hexdigest())
    if not isinstance(data, dict):
        document.problem((), "", f"expected a mapping of names, not {type(data).__name__}")
        document.finish()
    return document


def _mappings(root: Any) -> Iterator[Any]:
    """Yield each mapping of a document once."""
    import yaml

    waiting, visited = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _entries(mapping: Any, counts: dict[int, int]) -> int:
    """Return the number of entries of a mapping, including those merged into it by <<."""
    if id(mapping) not in counts:
        counts[id(mapping)] = 0
        merged = [value for key, value in mapping.value if key.tag == "tag:yaml.org,2002:merge"]
        parts = [p for value in merged for p in (value.value if value.id == "sequence" else [value])]
        n_own = len(mapping.value) - len(merged)
        counts[id(mapping)] = n_own + sum(_entries(part, counts) for part in parts if part.id == "mapping")
    return counts[id(mapping)]


def _note_lines(node: Any, key: Key, lines: dict[Key, int], visited: set[int]) -> None:
    """Record the line of each key, from 1; that of an alias is that of its first occurrence."""
    import yaml

    if id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            lines[(*key, name.value)] = name.start_mark.line + 1
            _note_lines(value, (*key, name.value), lines, visited)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            lines[(*key, i)] = value.start_mark.line + 1
            _note_lines(value, (*key, i), lines, visited)


def shallow(value: Any, levels: int) -> Any:
    """Return a value without nulls, with keys of text; empty below these levels, as aliases repeat."""
    if isinstance(value, dict):
        items = value.items() if levels else ()
        return {str(key): shallow(part, levels - 1) for key, part in items if part is not None}
    return [shallow(part, levels - 1) for part in value if levels] if isinstance(value, list) else value


@contextmanager
def noted(document: Document, key: Key, where: str, before: str = "") -> Iterator[None]:
    """Record a TrigemuError as a mistake at a key. before: the beginning of its message."""
    try:
        yield
    except TrigemuError as error:
        document.problem(key, where, f"{before}{error}")
