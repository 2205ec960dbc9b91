"""Where plugins are looked for: in installed packages and in folders on the plugin path.

A menu gives the name of a plugin, never a path, so a menu alone cannot run code that the user did not install
or put on the path (`--plugin-path`, the variable TRIGEMU_PLUGIN_PATH, else `plugins/` in the current folder).
What comes with trigemu is always at hand.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from trigemu.support.arguments import wrong_type
from trigemu.support.errors import PluginError, nearest
from trigemu.support.plugins.found import MODULE, Candidate, FoundPlugin
from trigemu.support.plugins.own import absent
from trigemu.support.reading import is_file, read_bounded

ENTRY_POINTS = "trigemu.plugins"
PATH_VARIABLE = "TRIGEMU_PLUGIN_PATH"
#: Names of plugins: those of modules, with hyphens.
_NAME = re.compile(r"(?!__)[^\W\d][\w-]*")

#: Folders that plugins are looked for in, as calls are given them.
Folders = Iterable[Path | str] | Path | str | None


def search_path(given: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the folders that are searched for plugins.

    Parameters
    ----------
    given : sequence of Path
        The values of --plugin-path.

    Returns
    -------
    tuple of Path
        The given folders; without any, those of the variable TRIGEMU_PLUGIN_PATH; without that, `plugins` in
        the current folder.
    """
    variable = os.environ.get(PATH_VARIABLE)
    if given:
        return tuple(given)
    if variable:
        return tuple(Path(part) for part in variable.split(os.pathsep) if part)
    return (Path("plugins"),)


@contextmanager
def plugin_path_of(folders: Sequence[Path]) -> Iterator[None]:
    """Make some folders the search path of this process, and of those that it starts, within a block."""
    before = os.environ.get(PATH_VARIABLE)
    os.environ[PATH_VARIABLE] = os.pathsep.join(map(str, folders))
    try:
        yield
    finally:
        if before is None:
            del os.environ[PATH_VARIABLE]
        else:
            os.environ[PATH_VARIABLE] = before


def folders_of(given: Folders) -> tuple[Path, ...]:
    """Return folders, given as one or as several; None: those of the search path.

    Raises
    ------
    WrongTypeError
        For anything else.
    """
    if given is None:
        return search_path()
    if isinstance(given, str | os.PathLike):
        return (Path(given),)
    found = tuple(given) if isinstance(given, Iterable) else (given,)  # type: ignore[redundant-expr]
    if not all(isinstance(folder, str | os.PathLike) for folder in found):
        raise wrong_type("the plugin path", given, "a folder, or a list of folders")
    return tuple(map(Path, found))


def find(name: str, path: Folders = None) -> FoundPlugin:
    """Find a plugin by its name: one that comes with trigemu, is installed, or is in a folder.

    Parameters
    ----------
    name : str
        The name, as a menu gives it.
    path : path or list of paths, optional
        The folders to search; by default those of `search_path`.

    Returns
    -------
    FoundPlugin
        The plugin, not loaded.

    Raises
    ------
    PluginError
        If there is no plugin of that name, if several differ, or if a file of it cannot be read.
    """
    folders = folders_of(path)
    known = available(folders)
    found = known.get(name)
    if not found and (reason := absent(name)):
        raise PluginError(f"plugin {name!r} comes with trigemu, but {reason}")
    if not found:
        where = ", ".join(f"{folder}{'' if folder.is_dir() else ' (no such folder)'}" for folder in folders)
        raise PluginError(
            f"no plugin {name!r} is installed or in {where}{nearest(name, known)}; "
            f"put its folder on --plugin-path or {PATH_VARIABLE}; in Python: read_menu(menu, folder)"
        )
    plugins = [candidate.found() for candidate in found]
    if len({plugin.sha256 for plugin in plugins}) > 1:
        places = " and ".join(str(plugin.file) for plugin in plugins)
        raise PluginError(f"two different plugins are called {name!r}: {places}; remove one")
    return plugins[0]


def available(folders: Iterable[Path]) -> dict[str, list[Candidate]]:
    """Return all plugins that can be found, by name, those that come with trigemu first. None is read.

    Of a folder, regular files and packages count whose names could be names of modules: not the lock files of
    editors, links to nowhere, or pipes.
    """
    found: dict[str, list[Candidate]] = {}
    for candidate in (*_installed(), *_in_folders(folders)):
        found.setdefault(candidate.name, []).append(candidate)
    return found


def _installed() -> list[Candidate]:
    made = []
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        module = point.value.partition(":")[0]
        try:
            spec = importlib.util.find_spec(module)
        except Exception:  # a package that cannot be imported must not hide the others
            continue
        if spec and spec.origin:
            own = point.dist is not None and point.dist.name == "trigemu"
            imported = module if own else f"{MODULE}{point.name}"
            made.append(Candidate(point.name, Path(spec.origin).resolve(), imported))
    return sorted(made, key=lambda candidate: not candidate.comes_with_trigemu)


def _in_folders(folders: Iterable[Path]) -> Iterator[Candidate]:
    for folder in folders:
        packages = [(file.parent.name, file) for file in sorted(folder.glob("*/__init__.py"))]
        modules = [(file.stem, file) for file in sorted(folder.glob("*.py"))]
        for name, file in packages + modules:
            if _NAME.fullmatch(name) and is_file(file):
                yield Candidate(name, file.resolve(), f"{MODULE}{name}")


#: What the core itself brings.
CORE = FoundPlugin("trigemu", Path(__file__).parents[2] / "builtin.py", "trigemu.builtin", "")


def brought(part: str, folders: Iterable[Path] | None) -> dict[str, Candidate]:
    """Return who brings what, by name: the core before what else comes with trigemu, and that before others.

    Plugins that cannot be read are left out; they say so when they are used. None is loaded.

    Parameters
    ----------
    part : str
        One of `PARTS`.
    folders : iterable of Path, optional
        The plugin path; None: only what comes with trigemu counts.
    """
    every = [CORE, *(c for found in available(folders or ()).values() for c in found)]
    who: dict[str, Candidate] = {}
    for candidate in every:
        if folders is None and not candidate.comes_with_trigemu:
            continue
        with suppress(PluginError):
            for name in getattr(candidate.declared(), part):
                who.setdefault(name, candidate)
    return who


def summary(candidate: Candidate, part: str, command: str) -> str:
    """Return the docstring of a command, or of its module, up to the first blank line. It is parsed, not
    loaded; empty if there is none, or if it cannot be found."""
    try:
        module, _, function = getattr(candidate.declared(), part)[command].partition(":")
        parts = module.lstrip(".").split(".") if module.startswith(".") else module.split(".")[1:]
        file = candidate.file.parent.joinpath(*parts).with_suffix(".py") if module else candidate.file
        body = ast.parse(read_bounded(file))
    except Exception:  # of a plugin that is broken; its command will say so
        return ""
    functions = [node for node in body.body if isinstance(node, ast.FunctionDef) and node.name == function]
    text = next(filter(None, [*map(ast.get_docstring, functions), ast.get_docstring(body)]), "")
    return " ".join(text.partition("\n\n")[0].split())
