"""One direction: a room imports only rooms before it, and no plugin; a plugin imports rooms, and the plugins
that it declares. Lazy imports count too.

Most of it is said by the contracts of import-linter in pyproject.toml. It does not see lazy names of the top
package, modules that are imported by a name in quotes, or what plugins declare."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from functools import cache

import pytest
from project import ROOT

from trigemu.base.plugins import declared

CORE, PLUGINS = ROOT / "src" / "trigemu", ROOT / "plugins"


@cache
def imported(source: str) -> list[tuple[str, str]]:
    """The modules of trigemu and of its plugins that a source imports, anywhere in it, each with a name that
    it takes; also those that it imports by a name in quotes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            names = [part.value for part in node.args if isinstance(part, ast.Constant)]
            found += [(name, "") for name in names if isinstance(name, str)]
    return [(module, name) for module, name in found if module.split(".")[0].split("_")[0] == "trigemu"]


def wrong_in_core(source: str) -> list[str]:
    """Imports of plugins, and of all of trigemu."""
    return [
        f"{module} {name}"
        for module, name in imported(source)
        if module.split(".")[0] != "trigemu" or (module == "trigemu" and name != "__version__")
    ]


def wrong_in_plugin(source: str, own: str, uses: tuple[str, ...]) -> list[str]:
    """Imports of all of trigemu, and of plugins that are not declared."""
    allowed = {"trigemu", *(f"trigemu_{plugin}" for plugin in (own, *uses))}
    return [
        f"{module} {name}"
        for module, name in imported(source)
        if module.split(".")[0] not in allowed or (module == "trigemu" and name != "__version__")
    ]


def test_the_contracts_of_pyproject_hold() -> None:
    """In a process of its own: it closes the handlers of logs."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_core_imports_no_plugin() -> None:
    """Only commands use what users import."""
    wrong = {}
    for file in {*CORE.rglob("*.py")} - {CORE / "__init__.py", CORE / "__main__.py"}:
        is_command = file.is_relative_to(CORE / "cli")
        found = wrong_in_core(file.read_text())
        wrong[file] = [name for name in found if name.startswith("trigemu_") or not is_command]
    assert {file: imports for file, imports in wrong.items() if imports} == {}
    assert len(wrong) > 50


def test_a_plugin_imports_rooms_and_what_it_declares() -> None:
    wrong = {}
    for first in PLUGINS.glob("*/__init__.py"):
        name, uses = first.parent.name.removeprefix("trigemu_"), declared(first.read_bytes()).uses
        wrong |= {file: wrong_in_plugin(file.read_text(), name, uses) for file in first.parent.rglob("*.py")}
    assert {file: imports for file, imports in wrong.items() if imports} == {}
    assert len(wrong) > 100


@pytest.mark.parametrize(
    "planted",
    [
        "from trigemu_decade import PLUGIN",
        "def function():\n    import trigemu_anomaly.card",
        "import importlib\nimportlib.import_module('trigemu_latency')",
        "if TYPE_CHECKING:\n    from trigemu_cms import CMSVector",
        "from trigemu import run",
        "import trigemu",
    ],
)
def test_what_contracts_do_not_see_is_found(planted: str) -> None:
    assert wrong_in_core(planted)
    assert wrong_in_plugin(planted, "optimise", ("live",))


def test_no_name_hides_a_module() -> None:
    hidden = []
    for first in (CORE / "__init__.py", *CORE.glob("*/__init__.py")):
        folder = first.parent
        made = importlib.import_module(".".join(folder.relative_to(CORE.parent).parts))
        modules = {file.stem for file in folder.iterdir() if file.suffix == ".py" or file.is_dir()}
        names = modules & set(getattr(made, "__all__", ()))
        hidden += [f"{made.__name__}.{name}" for name in names if not inspect.ismodule(getattr(made, name))]
    assert hidden == []
