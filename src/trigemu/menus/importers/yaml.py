"""YAML files as plain values, with the line of each key."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from trigemu.support import Document, Key, MissingExtraError, Problem, TableError


def load(path: Path) -> Document:
    """Read a YAML file of plain values (no tags that create objects). TableError if it is missing or not
    valid YAML."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("reading YAML", "formats", "pyyaml") from None
    try:
        content = path.read_bytes()
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        lines: dict[Key, int] = {}
        data = loader.construct_document(node) if node is not None else {}
        _note_lines(node, (), lines, set())
    except OSError as error:
        raise TableError([Problem(str(path), 1, "", f"cannot read: {error.strerror}")]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark else 1
        raise TableError([Problem(str(path), line, "", f"not valid YAML: {reason}")]) from None
    except RecursionError:
        raise TableError([Problem(str(path), 1, "", "is nested too deeply")]) from None
    document = Document(path, data, lines, hashlib.sha256(content).hexdigest())
    if not isinstance(data, dict):
        document.problem((), "", f"expected a mapping of names, not {type(data).__name__}")
        document.finish()
    return document


def _note_lines(node: Any, key: Key, lines: dict[Key, int], seen: set[int]) -> None:
    """Record the line of each key, counted from 1. The content of an alias has the line where it was first
    written."""
    import yaml

    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            lines[(*key, name.value)] = name.start_mark.line + 1
            _note_lines(value, (*key, name.value), lines, seen)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            lines[(*key, i)] = value.start_mark.line + 1
            _note_lines(value, (*key, i), lines, seen)
