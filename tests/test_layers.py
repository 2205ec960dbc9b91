"""One direction: each room imports only rooms before it in the flow, and what they export."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import trigemu

ROOT = Path(trigemu.__file__).parent
PLUGINS = ROOT.parents[1] / "plugins"
#: In the order of the flow. A plugin comes before the command line, which loads it.
ROOMS = (
    *("support", "samples", "observables", "triggers", "menus", "counting", "decisions", "emulation"),
    *("rates", "studies", "generate", "firmware", "output", "plugins", "cli"),
)
#: Parts that are imported alone, because few need what they load.
ALONE = (
    "trigemu.menus.importers.",
    "trigemu.results.",
    "trigemu.cli.",
    "trigemu_simulation.",
    "trigemu_firmware.",
)


@cache
def sources() -> dict[Path, str]:
    """File → its room; a command that a plugin brings is one of the command line."""
    inside = {file: file.relative_to(ROOT).parts[0] for file in ROOT.rglob("*.py") if file.parent != ROOT}
    outside = {file: "cli" if file.stem == "cli" else "plugins" for file in PLUGINS.rglob("*.py")}
    return inside | outside


@cache
def imported(source: str) -> list[tuple[str, str]]:
    """The modules of trigemu that a source imports, anywhere in it, each with a name that it takes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "trigemu":
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(a.name, "") for a in node.names if a.name.split(".")[0] == "trigemu"]
    return found


def running_back(source: str, room: str) -> list[str]:
    """Imports of rooms that are not before this one. All of trigemu, but for its version, comes last."""
    found = []
    for module, name in imported(source):
        if room == "cli" or (module, name) == ("trigemu", "__version__"):
            continue
        target = module.split(".")[1] if "." in module else name if name in ROOMS else "cli"
        if target != room and ROOMS.index(target) >= ROOMS.index(room):
            found.append(f"{module} {name}")
    return found


def test_every_file_is_in_a_room() -> None:
    assert set(sources().values()) == set(ROOMS)
    assert {file.name for file in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("file", sorted(sources()), ids=lambda file: "/".join(file.parts[-3:]))
def test_imports_run_one_way(file: Path) -> None:
    assert running_back(file.read_text(), sources()[file]) == []


@pytest.mark.parametrize(
    ("room", "later"), [(r, later) for i, r in enumerate(ROOMS[:-1]) for later in ROOMS[i + 1 :]]
)
def test_an_import_that_runs_back_is_found(room: str, later: str) -> None:
    """Also where it is lazy."""
    if later != "plugins":
        lazy = f"def function():\n    from trigemu.{later} import something\n"
        assert running_back(lazy, room)
        assert running_back(f"from trigemu import {later}", room)
    assert running_back("from trigemu import run", room)


@pytest.mark.parametrize("file", sorted(sources()), ids=lambda file: "/".join(file.parts[-3:]))
def test_other_rooms_are_used_by_what_they_export(file: Path) -> None:
    for module, name in imported(file.read_text()):
        parts = module.split(".")
        if len(parts) < 2 or parts[1] == sources()[file]:
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
    for file in ROOT.rglob("*.py"):
        parts = file.relative_to(ROOT.parent).with_suffix("").parts
        modules[".".join(part for part in parts if part != "__init__")] = file.read_text()
    del modules["trigemu"]  # it names every room
    TopologicalSorter(needed(modules)).prepare()


def test_modules_that_import_each_other_are_found() -> None:
    """Also where one does so lazily, or for its annotations."""
    lazy = "def function():\n    from trigemu.room import b\n"
    modules = {"trigemu.room.a": lazy, "trigemu.room.b": "from trigemu.room.a import name\n"}
    with pytest.raises(CycleError):
        TopologicalSorter(needed(modules)).prepare()


@pytest.mark.parametrize("room", ["", *(f".{room}" for room in ROOMS if room != "plugins")])
def test_no_name_hides_a_module(room: str) -> None:
    package = importlib.import_module(f"trigemu{room}")
    folder = Path(package.__file__ or "").parent
    modules = {file.stem for file in folder.iterdir() if file.suffix == ".py" or file.is_dir()}
    hidden = modules & set(getattr(package, "__all__", ()))
    assert hidden <= (set() if room else {"decisions"})  # a call whose room is only imported from
