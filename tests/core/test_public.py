"""What users call, and what plugins are written with: few names, each documented, that load what they
need when it is needed."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from documented import lacks_of, lacks_of_name
from project import ROOT

import trigemu
from trigemu import api
from trigemu.base.plugins import CORE
from trigemu.cli.commands import cli

NAMES = sorted({*trigemu.__all__} - {"api"})
TYPED = [
    name
    for name in NAMES
    if inspect.isfunction(getattr(trigemu, name)) or dataclasses.is_dataclass(getattr(trigemu, name))
]
#: What users call fits on a screen.
MOST_PUBLIC = 45


def classes(hint: Any) -> Iterator[type]:
    """Those of trigemu in a type."""
    if inspect.isclass(hint) and hint.__module__.startswith("trigemu."):
        yield hint
    for part in typing.get_args(hint):
        for inner in part if isinstance(part, list) else [part]:
            yield from classes(inner)


def test_few_names_are_public() -> None:
    assert len(trigemu.__all__) <= MOST_PUBLIC


def test_public_names_are_documented() -> None:
    lacks = {name: lacks_of(getattr(trigemu, name)) for name in NAMES}
    assert {name: lack for name, lack in lacks.items() if lack} == {}


def test_what_public_names_take_and_give_is_documented() -> None:
    exported, lacks = {*trigemu.__all__, *api.__all__}, {}
    for name in TYPED:
        hints = typing.get_type_hints(getattr(trigemu, name))
        used = {c for key, hint in hints.items() if not key.startswith("_") for c in classes(hint)}
        lacks |= {f"{name}: {c.__name__}": lacks_of(c) for c in used if c.__name__ not in exported}
    assert {name: lack for name, lack in lacks.items() if lack} == {}


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


HEAVY = ("numpy", "numba", "awkward", "uproot", "matplotlib", "onnxruntime")


@pytest.mark.parametrize("arguments", [["-c", "import trigemu"], ["-m", "trigemu", "--help"]])
def test_no_large_library_is_loaded(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "trigemu" in loaded
    assert not loaded & set(HEAVY)


def test_a_library_leaves_the_program_that_imports_it_alone() -> None:
    """Whatever the program is called, and how it was started."""
    code = """
import os, signal, sys
sys.argv = ["trigemu"]
os.close(0)
signal.signal(signal.SIGINT, signal.default_int_handler)
import trigemu
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert os.open(os.devnull, os.O_RDONLY) == 0
assert "trigemu.cli" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_are_listed_and_there() -> None:
    assert set(trigemu.__all__) <= set(dir(trigemu))
    assert all(getattr(trigemu, name) is not None for name in trigemu.__all__)
    with pytest.raises(AttributeError, match=r"trigemu.* attribute '?nothing"):
        _ = trigemu.nothing


def test_the_list_of_commands_has_the_help_of_each() -> None:
    """It is read, and not loaded."""
    context = click.Context(cli, terminal_width=500, max_content_width=500)
    formatter = context.make_formatter()
    cli.format_commands(context, formatter)
    lines = [line for line in formatter.getvalue().splitlines() if line.startswith("  ")]
    listed = dict(re.split("  +", line.strip(), maxsplit=1) for line in lines)
    for name in CORE.declared().commands:
        command = cli.get_command(context, name)
        assert command is not None
        assert listed[name] == " ".join((command.help or "").partition("\n\n")[0].split())
