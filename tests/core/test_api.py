"""What plugins are written with: few names, each documented, and enough for those of the documentation."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from documented import lacks_of_name
from project import ROOT

from trigemu import api

#: Pages for those who write plugins.
PAGES = sorted(file for folder in ("tutorial", "guides") for file in (ROOT / "docs" / folder).glob("*.md"))
#: Those fit on a screen.
MOST = 60


def exported() -> Iterator[tuple[str, str]]:
    """The names that the stub lists, each with the module that defines it."""
    source = Path(api.__file__ or "").with_suffix(".pyi").read_text()
    for node in ast.parse(source).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            yield f"trigemu.{node.module}", alias.name


def names() -> dict[str, str]:
    return {name: module for module, name in exported() if not inspect.ismodule(getattr(api, name))}


def test_there_are_few_names() -> None:
    assert len(names()) <= MOST
    assert {name for _, name in exported()} == {*api.__all__}


def test_the_names_are_documented() -> None:
    lacks = {name: lacks_of_name(import_module(module), name) for name, module in names().items()}
    assert {name: lack for name, lack in lacks.items() if lack} == {}


def plugin_code() -> Iterator[tuple[str, ast.Module]]:
    """The template, and what the pages save in folders of plugins."""
    yield "alpha_t.py", ast.parse((ROOT / "plugins" / "alpha_t.py").read_text())
    for page in PAGES:
        for block in re.findall(
            r"^```\{code-block\} python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL
        ):
            if ":caption: my-plugins/" in block:
                yield page.name, ast.parse(block.partition("\n\n")[2])


def test_the_plugins_of_the_documentation_need_the_api_alone() -> None:
    modules = {
        (where, node.module)
        for where, tree in plugin_code()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("trigemu")
    }
    assert {module for _, module in modules} == {"trigemu", "trigemu.api"}
    assert {where for where, _ in modules} >= {"alpha_t.py", "own-trigger.md", "plugins.md"}
