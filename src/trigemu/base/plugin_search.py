"""Find plugins in installed packages and in folders on the plugin path, and send them to workers that share
no folder.

A menu names a plugin, never a path, so a menu alone cannot run code that the user did not install or put on
the path (`--plugin-path`, the variable TRIGEMU_PLUGIN_PATH, else `plugins/` in the current folder). The
plugins that come with trigemu are always available.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from trigemu.base.errors import PluginError, nearest, wrong_type
from trigemu.base.files import is_file, read_bounded, write_bytes
from trigemu.base.plugins import (
    MODULE,
    OWN,
    FoundPlugin,
    digest_of_plugin,
    sources_in,
)

ENTRY_POINTS = "trigemu.plugins"
PATH_VARIABLE = "TRIGEMU_PLUGIN_PATH"
#: Names of plugins: those of modules, with hyphens.
_NAME = re.compile(r"(?!__)[^\W\d][\w-]*")

#: Folders that are searched for plugins, as arguments of calls.
Folders = Iterable[Path | str] | Path | str | None


def search_path(folders: Folders = None) -> tuple[Path, ...]:
    """Return the folders that are searched for plugins: those given, else those of the environment."""
    given: Any = folders if isinstance(folders, Iterable) and not isinstance(folders, str) else [folders]
    listed = tuple(folder for folder in given if folder is not None)
    if not all(isinstance(folder, str | os.PathLike) for folder in listed):
        raise wrong_type("the plugin path", folders, "a folder, or a list of folders")
    if listed:
        return tuple(map(Path, listed))
    if variable := os.environ.get(PATH_VARIABLE):
        return tuple(Path(part) for part in variable.split(os.pathsep) if part)
    return (Path("plugins"),)


@contextmanager
def plugin_path_of(folders: Sequence[Path]) -> Iterator[None]:
    """Use some folders as the search path of this process and its child processes within a block."""
    before = os.environ.get(PATH_VARIABLE, "")
    os.environ[PATH_VARIABLE] = os.pathsep.join(map(str, folders))
    try:
        yield
    finally:
        os.environ[PATH_VARIABLE] = before  # an empty one is the same as none


def find(name: str, path: Folders = None) -> FoundPlugin:
    """Find a plugin by its name: one that comes with trigemu, is installed, or is in a folder."""
    folders = search_path(path)
    by_name = available(folders)
    candidates = by_name.get(name)
    if not candidates:
        where = ", ".join(f"{folder}{'' if folder.is_dir() else ' (no such folder)'}" for folder in folders)
        raise PluginError(
            f"no plugin {name!r} is installed or in {where}{nearest(name, by_name)}; "
            f"put its folder on --plugin-path or {PATH_VARIABLE}; in Python: read_menu(menu, folder)"
        )
    plugins = [candidate.found() for candidate in candidates]
    if len({plugin.sha256 for plugin in plugins}) > 1:
        files = " and ".join(str(plugin.file) for plugin in plugins)
        raise PluginError(f"two different plugins are called {name!r}: {files}; remove one")
    return plugins[0]


def available(folders: Iterable[Path]) -> dict[str, list[FoundPlugin]]:
    """Return all plugins that can be found, by name, those that come with trigemu first. None is read. In
    folders, only regular files and packages with names of modules count: not lock files of editors, broken
    links, or pipes."""
    by_name: dict[str, list[FoundPlugin]] = {}
    for plugin in installed():
        by_name.setdefault(plugin.name, []).append(plugin)
    own = {f"{OWN}{name}" for name, (first, *_) in by_name.items() if first.comes_with_trigemu}
    for folder in folders:
        packages = [(file.parent.name, file) for file in sorted(folder.glob("*/__init__.py"))]
        modules = [(file.stem, file) for file in sorted(folder.glob("*.py"))]
        for name, file in packages + modules:
            if _NAME.fullmatch(name) and name not in own and is_file(file):
                by_name.setdefault(name, []).append(FoundPlugin(name, file.resolve(), f"{MODULE}{name}"))
    return by_name


def installed() -> list[FoundPlugin]:
    """Return the plugins of installed packages, those that come with trigemu first."""
    plugins = []
    # `point.dist.name` would parse the metadata of the distribution for each point.
    trigemu = importlib.metadata.distributions(name="trigemu")
    own = {(point.name, point.value) for distribution in trigemu for point in distribution.entry_points}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        module = point.value.partition(":")[0]
        try:
            spec = importlib.util.find_spec(module)
        except Exception:  # a package that cannot be imported must not hide the others
            continue
        if spec and spec.origin:
            imported = module if (point.name, point.value) in own else f"{MODULE}{point.name}"
            plugins.append(FoundPlugin(point.name, Path(spec.origin).resolve(), imported))
    return sorted(plugins, key=lambda plugin: not plugin.comes_with_trigemu)


#: The parts of the core, as a plugin.
CORE = FoundPlugin("trigemu", Path(__file__).parents[1] / "builtin.py", "trigemu.builtin")


def providers(part: str, folders: Iterable[Path] | None) -> dict[str, FoundPlugin]:
    """Return the plugin that provides each name of a part. The core precedes plugins that come with trigemu,
    and these precede others. None is loaded; those that cannot be read are left out: using them raises an
    error."""
    by_name: dict[str, FoundPlugin] = {}
    for candidate in (CORE, *chain.from_iterable(available(folders or ()).values())):
        if folders is None and not candidate.comes_with_trigemu:
            continue
        with suppress(PluginError):
            for name in getattr(candidate.declared(), part):
                by_name.setdefault(name, candidate)
    return by_name


def summary(candidate: FoundPlugin, part: str, command: str) -> str:
    """Return the docstring of a command, or of its module, up to the first blank line; empty if there is
    none. The module is parsed, not loaded."""
    try:
        module, _, function = getattr(candidate.declared(), part)[command].partition(":")
        parts = module.lstrip(".").split(".") if module.startswith(".") else module.split(".")[1:]
        file = candidate.file.parent.joinpath(*parts).with_suffix(".py") if module else candidate.file
        body = ast.parse(read_bounded(file))
    except Exception:  # of a broken plugin; its command will report it
        return ""
    functions = [node for node in body.body if isinstance(node, ast.FunctionDef) and node.name == function]
    text = next(filter(None, [*map(ast.get_docstring, functions), ast.get_docstring(body)]), "")
    return " ".join(text.partition("\n\n")[0].split())


def sources_of(plugin: FoundPlugin) -> dict[str, bytes]:
    """Return the Python files of a plugin, by their path in its package or their name; raise PluginError if
    they changed since it was found."""
    if plugin.found() != plugin:
        raise PluginError(f"plugin {plugin.name!r}: {plugin.file} was changed while it was used: start again")
    return sources_in(plugin.file)


def load_from(plugin: FoundPlugin, sources: Mapping[str, bytes]) -> None:
    """Load a plugin: from its own file, if this machine has the same, else from its sources, which are
    written to the cache folder."""
    file = plugin.file
    if not (file.is_file() and digest_of_plugin(file) == plugin.sha256):
        try:
            folder = user_cache_path("trigemu") / "plugins" / plugin.sha256 / plugin.name
        except RuntimeError:  # there is no home folder
            folder = Path(tempfile.mkdtemp(prefix="trigemu-"), plugin.name)
        file = folder / file.name
        if not (file.is_file() and digest_of_plugin(file) == plugin.sha256):
            for name, content in sources.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_bytes(folder / name, content)
    replace(plugin, file=file).load()
