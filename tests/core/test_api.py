"""What plugins are written with: each name can be imported, is documented, and is used."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from documented import lacks_of_name
from project import ROOT

from trigemu import api

#: Examples for those who write plugins.
EXAMPLES = sorted(file for folder in ("tutorial", "guides") for file in (ROOT / "docs" / folder).glob("*.md"))


class Name(NamedTuple):
    """A name, and the module that defines it. text: how plugins write it."""

    text: str
    module: ModuleType
    name: str


def exported() -> Iterator[Name]:
    """The names that the stub lists; of a module that serves as a namespace, those that plugins use."""
    source = Path(api.__file__ or "").with_suffix(".pyi").read_text()
    for node in ast.parse(source).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            value = getattr(api, alias.name)
            if not inspect.ismodule(value):
                yield Name(alias.name, import_module(f"trigemu.{node.module}"), alias.name)
                continue
            for name in sorted(attributes_used().get(alias.name, set()) & vars(value).keys()):
                yield Name(f"{alias.name}.{name}", value, name)


@cache
def plugins() -> list[ast.Module]:
    return [ast.parse(file.read_text()) for file in sorted((ROOT / "plugins").rglob("*.py"))]


@cache
def attributes_used() -> dict[str, set[str]]:
    """By name, the attributes that plugins take of it."""
    found: dict[str, set[str]] = {}
    for node in (node for tree in plugins() for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(node.attr)
    return found


@cache
def imported() -> set[str]:
    """The names that plugins import."""
    nodes = (node for tree in plugins() for node in ast.walk(tree))
    froms = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "trigemu.api")
    return {alias.name for node in froms for alias in node.names}


@cache
def in_examples() -> set[str]:
    """The words in code of the tutorial and the guides."""
    blocks = (re.findall(r"^```.*?^```", file.read_text(), re.MULTILINE | re.DOTALL) for file in EXAMPLES)
    return set(re.findall(r"\w+", " ".join(block for of_file in blocks for block in of_file)))


def is_raised(error: type) -> bool:
    """Whether another name says that it raises an error."""
    texts = (inspect.getdoc(getattr(api, name)) or "" for name in api.__all__ if name != error.__name__)
    return any(re.search(rf"\b{error.__name__}\b", text) for text in texts)


def test_the_names_of_the_api_are_documented() -> None:
    lacks = {name.text: lacks_of_name(name.module, name.name) for name in exported()}
    assert {text: lack for text, lack in lacks.items() if lack} == {}
    assert set(lacks) >= {*api.__all__} - {
        name for name in api.__all__ if inspect.ismodule(getattr(api, name))
    }


def test_the_names_of_the_api_are_used() -> None:
    used = imported() | in_examples()
    unused = [getattr(api, name) for name in api.__all__ if name not in used]
    assert [v for v in unused if not (inspect.isclass(v) and issubclass(v, Exception) and is_raised(v))] == []
