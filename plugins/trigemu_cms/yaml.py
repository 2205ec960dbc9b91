"""YAML files as plain values, with the line of each key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trigemu.base.errors import MissingExtraError, TrigemuError
from trigemu.base.toml import Document, Key, Problem, TableError


def load(path: Path) -> Document:
    """Read a YAML file of plain values, without tags that create objects; TableError if it is not."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("reading YAML", "formats", "pyyaml") from None

    def refused(line: int, message: str) -> TableError:
        return TableError([Problem(str(path), line, "", message)])

    try:
        content = path.read_bytes()
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
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
