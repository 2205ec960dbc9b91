"""One direction: a room imports only rooms before it, by what they export, and no plugin; a plugin imports
`trigemu.api` alone, and the plugins that it declares. Lazy imports count too."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from project import ROOT

from trigemu.support.plugins.declaration import declared

CORE, PLUGINS = ROOT / "src" / "trigemu", ROOT / "plugins"
#: In the order of the flow.
ROOMS = (
    *("support", "samples", "observables", "triggers", "menus", "counting", "emulation"),
    *("rates", "studies", "results", "cli"),
)
#: What is in no room: what users import, what plugins import, what the core brings, and the program.
NO_ROOM = {"__init__.py", "api.py", "builtin.py", "__main__.py"}
#: Rooms whose parts are imported alone, because few need what they load.
ALONE = ("trigemu.results.", "trigemu.cli.")
#: Plugins, each with its files.
NAMES = sorted(file.stem if file.suffix else file.name for file in PLUGINS.iterdir() if file.name[0] != "_")


def in_rooms() -> list[Path]:
    return sorted(file for file in CORE.rglob("*.py") if file.parent != CORE)


def files_of(plugin: str) -> list[Path]:
    folder = PLUGINS / plugin
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def room_of(file: Path) -> str:
    return file.relative_to(CORE).parts[0]


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


def wrong_in_room(source: str, room: str) -> list[str]:
    """Imports of plugins, of rooms that are not before this one, and of all of trigemu."""
    found = []
    for module, name in imported(source):
        parts = [*module.split("."), name]
        if parts[0] != "trigemu":
            found.append(f"{module} {name}")
        elif room == "cli" or (module, name) == ("trigemu", "__version__"):
            continue
        elif parts[1] not in ROOMS or ROOMS.index(parts[1]) > ROOMS.index(room):
            found.append(f"{module} {name}")
    return found


def wrong_in_plugin(source: str, own: str, uses: tuple[str, ...]) -> list[str]:
    """Imports of parts of trigemu that are not `trigemu.api`, and of plugins that are not declared."""
    allowed = {"trigemu.api", *(f"trigemu_{plugin}" for plugin in uses)}
    found = [(module, name) for module, name in imported(source) if module not in allowed]
    return [f"{module} {name}" for module, name in found if module != f"trigemu_{own}"]


def test_every_file_is_in_a_room() -> None:
    assert {room_of(file) for file in in_rooms()} == set(ROOMS)
    assert {file.name for file in CORE.glob("*.py")} == NO_ROOM


@pytest.mark.parametrize("file", in_rooms(), ids=lambda file: "/".join(file.parts[-3:]))
def test_a_room_imports_what_is_before_it(file: Path) -> None:
    assert wrong_in_room(file.read_text(), room_of(file)) == []


def test_results_do_not_import_events() -> None:
    """What they show was computed before."""
    rooms = {"observables", "triggers", "emulation"}
    for file in (CORE / "results").rglob("*.py"):
        modules = {module.split(".")[1] for module, _ in imported(file.read_text()) if "." in module}
        assert not modules & rooms, file


@pytest.mark.parametrize("file", ["api.py", "builtin.py", "__init__.py", "__main__.py"])
def test_what_is_in_no_room_imports_no_plugin(file: str) -> None:
    source = (CORE / file).read_text()
    assert [module for module, _ in imported(source) if not f"{module}.".startswith("trigemu.")] == []


@pytest.mark.parametrize("plugin", NAMES)
def test_a_plugin_imports_the_api_and_what_it_declares(plugin: str) -> None:
    first, *_ = (file for file in files_of(plugin) if file.stem in ("__init__", plugin))
    uses = declared(first.read_bytes()).uses
    for file in files_of(plugin):
        assert wrong_in_plugin(file.read_text(), plugin, uses) == [], file


@pytest.mark.parametrize(
    ("room", "later"), [(r, later) for i, r in enumerate(ROOMS[:-1]) for later in ROOMS[i + 1 :]]
)
def test_an_import_that_runs_back_is_found(room: str, later: str) -> None:
    """Also where it is lazy."""
    lazy = f"def function():\n    from trigemu.{later} import something\n"
    assert wrong_in_room(lazy, room)
    assert wrong_in_room(f"from trigemu import {later}", room)
    assert wrong_in_room("from trigemu import run", room)


@pytest.mark.parametrize(
    "planted",
    [
        "from trigemu_decade import PLUGIN",
        "def function():\n    import trigemu_anomaly.card",
        "import importlib\nimportlib.import_module('trigemu_latency')",
        "if TYPE_CHECKING:\n    from trigemu_cms import CMSVector",
    ],
)
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_that_imports_a_plugin_is_found(room: str, planted: str) -> None:
    assert wrong_in_room(planted, room)


@pytest.mark.parametrize(
    "planted",
    [
        "import trigemu",
        "from trigemu import run",
        "from trigemu.rates import rates_of",
        "def function():\n    from trigemu.support.toml import load_toml",
        "from trigemu import support",
        "from trigemu_pages import render",
        "def function():\n    import trigemu_firmware",
        "from trigemu_anomaly.card import Card",
    ],
)
def test_a_plugin_that_imports_anything_else_is_found(planted: str) -> None:
    assert wrong_in_plugin(planted, "decade", ("anomaly",))


def test_what_a_plugin_may_import() -> None:
    source = "from trigemu.api import Kind\nfrom trigemu_anomaly import Card\nfrom .own import part"
    assert wrong_in_plugin(source, "decade", ("anomaly",)) == []


@pytest.mark.parametrize("file", in_rooms(), ids=lambda file: "/".join(file.parts[-3:]))
def test_other_rooms_are_used_by_what_they_export(file: Path) -> None:
    for module, name in imported(file.read_text()):
        parts = module.split(".")
        if len(parts) < 2 or parts[1] == room_of(file):
            continue
        there = importlib.import_module(module)
        is_module = Path(there.__file__ or "").with_name(f"{name}.py").exists()
        if len(parts) == 2:
            assert is_module or name in there.__all__, f"{module} does not export {name}"
        else:
            assert is_module or f"{module}.".startswith(ALONE), f"{module} {name}: import it from the room"


def needed(modules: dict[str, str]) -> dict[str, set[str]]:
    """The modules that each module imports, anywhere in its source."""
    found: dict[str, set[str]] = {}
    for name, source in modules.items():
        names = {f"{module}.{taken}": module for module, taken in imported(source)}
        found[name] = {full if full in modules else module for full, module in names.items()}
    return found


def test_no_modules_import_each_other() -> None:
    modules = {}
    for file in CORE.rglob("*.py"):
        parts = file.relative_to(CORE.parent).with_suffix("").parts
        modules[".".join(part for part in parts if part != "__init__")] = file.read_text()
    del modules["trigemu"]  # it names every room
    TopologicalSorter(needed(modules)).prepare()


def test_modules_that_import_each_other_are_found() -> None:
    """Also where one does so lazily, or for its annotations."""
    lazy = "def function():\n    from trigemu.room import b\n"
    modules = {"trigemu.room.a": lazy, "trigemu.room.b": "from trigemu.room.a import name\n"}
    with pytest.raises(CycleError):
        TopologicalSorter(needed(modules)).prepare()


def test_no_plugins_use_each_other() -> None:
    uses = {
        name: declared((PLUGINS / name / "__init__.py").read_bytes()).uses
        for name in NAMES
        if (PLUGINS / name).is_dir()
    }
    TopologicalSorter(uses).prepare()


@pytest.mark.parametrize("package", ["trigemu", *(f"trigemu.{room}" for room in ROOMS)])
def test_no_name_hides_a_module(package: str) -> None:
    made = importlib.import_module(package)
    folder = Path(made.__file__ or "").parent
    modules = {file.stem for file in folder.iterdir() if file.suffix == ".py" or file.is_dir()}
    hidden = modules & set(getattr(made, "__all__", ()))
    assert [name for name in hidden if not inspect.ismodule(getattr(made, name))] == []
