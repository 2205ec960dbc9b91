"""Plugins: found in installed packages and in folders on the plugin path, loaded when a part of them is used.

A plugin is a Python module or package that says what it brings in PLUGIN (`support/plugin.py`), or that has a
table `KINDS = {"name": Kind, …}`. A menu gives the name of a plugin, never a path, so a menu alone cannot run
code that the user did not install or put on the path (`--plugin-path`, the variable TRIGEMU_PLUGIN_PATH, else
`plugins/` in the current folder). What comes with trigemu is always at hand.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from trigemu.support.errors import PluginError, TrigemuError, nearest, own_cause
from trigemu.support.given import wrong_type
from trigemu.support.own_plugins import OWN, absent, missing_package
from trigemu.support.plugin import Plugin, declared
from trigemu.support.reading import read_bounded

ENTRY_POINTS = "trigemu.plugins"
PATH_VARIABLE = "TRIGEMU_PLUGIN_PATH"
#: How the names of modules of all other plugins begin; pickles of what is in them refer to these names.
MODULE = "trigemu_plugin_"

#: Folders that plugins are looked for in, as calls are given them.
Folders = Iterable[Path | str] | Path | str | None

_loaded: dict[str, FoundPlugin] = {}


def reason_of(error: BaseException) -> str:
    """Return what a message says of an error in code of a plugin: its kind, its message, its file and line.

    Parameters
    ----------
    error : BaseException
        What the plugin raised.

    Returns
    -------
    str
        Such as "ValueError: no such column (at plugins/mine.py:12)"; without a place if no line of a plugin
        was running.
    """
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{type(error).__name__}: {message}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return the file and line of a plugin at which an error came up; nothing if no plugin was involved."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" (at {error.filename}:{error.lineno})"
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(OWN)
    ]
    return " (at {}:{})".format(*frames[-1]) if frames else ""


def place_of_method(owner: object, *names: str) -> str:
    """Return the file and line of the first of some methods that is of a plugin."""
    for method in (getattr(owner, name, None) for name in names):
        code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
        if code and str(getattr(method, "__module__", "")).startswith(OWN):
            return f" (at {code.co_filename}:{code.co_firstlineno})"
    return ""


@dataclass(frozen=True)
class Candidate:
    """A place where there may be a plugin.

    Attributes
    ----------
    name : str
        Name of the plugin.
    file : Path
        The module, or the `__init__.py` of the package.
    module : str
        The name under which Python imports it.
    """

    name: str
    file: Path
    module: str

    @property
    def comes_with_trigemu(self) -> bool:
        return not self.module.startswith(MODULE)

    @property
    def where(self) -> str:
        """How messages name it."""
        return f"plugin {self.name!r} ({self.file})"

    def declared(self) -> Plugin:
        """Read what it brings, without running it; raise PluginError if that cannot be read."""
        try:
            return declared(read_bounded(self.file))
        except OSError as error:
            raise PluginError(f"plugin {self.name!r}: cannot read {self.file}: {error.strerror}") from None
        except TrigemuError as error:
            raise PluginError(f"{self.where}: {error}") from None
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, SyntaxError):
                error.filename = str(self.file)
            raise PluginError(f"{self.where} cannot be loaded: {reason_of(error)}") from error

    def found(self) -> FoundPlugin:
        """Return it with its digest; raise PluginError if a file cannot be read."""
        try:
            return FoundPlugin(self.name, self.file, self.module, digest_of_plugin(self.file))
        except OSError as error:
            raise PluginError(
                f"plugin {self.name!r}: cannot read {error.filename}: {error.strerror}"
            ) from None


@dataclass(frozen=True)
class FoundPlugin(Candidate):
    """A plugin that was found, with its digest, by which every process loads the same code.

    Attributes
    ----------
    name : str
        Name of the plugin.
    file : Path
        The module, or the `__init__.py` of the package.
    module : str
        The name under which Python imports it.
    sha256 : str
        Digest of the module, or of all Python files of the package.
    """

    sha256: str

    def load(self) -> ModuleType:
        """Import the plugin, once per process, and return the module; raise PluginError if that fails."""
        if self.comes_with_trigemu:
            with self._failing(" cannot be loaded"):
                return importlib.import_module(self.module)
        loaded = sys.modules.get(self.module)
        if loaded is not None and self._is(Path(loaded.__file__ or "")):
            return loaded
        spec = importlib.util.spec_from_file_location(self.module, self.file)
        if spec is None or spec.loader is None:
            raise PluginError(f"plugin {self.name!r}: {self.file} is not a Python module")
        module = importlib.util.module_from_spec(spec)
        for part in [known for known in sys.modules if known.startswith(f"{self.module}.")]:
            del sys.modules[part]  # belongs to another plugin with this name
        sys.modules[self.module] = module  # pickles of its kinds refer to this name
        try:
            with self._failing(" cannot be loaded"):
                spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[self.module]
            raise
        _loaded[self.module] = self
        return module

    def _is(self, file: Path) -> bool:
        return file == self.file or (file.exists() and digest_of_plugin(file) == self.sha256)

    def part(self, part: str, name: str) -> Any:
        """Load what the plugin brings under a name.

        Parameters
        ----------
        part : str
            One of `PARTS`, such as "kinds".
        name : str
            The name that the plugin declares.

        Returns
        -------
        object
            The class or function at the declared place.

        Raises
        ------
        PluginError
            If it cannot be loaded, or there is nothing at the declared place.
        """
        place = getattr(self.declared(), part)[name]
        module, _, attribute = place.partition(":")
        loaded: Any = self.load()
        with self._failing(f": its {part.removesuffix('s')} {name!r} cannot be loaded"):
            if module:
                loaded = importlib.import_module(module, self.module)
            if not hasattr(loaded, attribute):
                raise PluginError(f"{self.where}: PLUGIN places {name!r} at {place!r}, but there is none")
            return getattr(loaded, attribute)

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        """Turn what code of the plugin raises into PluginError."""
        try:
            yield
        except TrigemuError:
            raise
        except (Exception, SystemExit) as error:
            if own := own_cause(error):
                raise own from error
            raise PluginError(f"{self.where}{what}: {missing_package(error) or reason_of(error)}") from error


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
            if _NAME.fullmatch(name) and _is_file(file):
                yield Candidate(name, file.resolve(), f"{MODULE}{name}")


#: What the core itself brings.
CORE = FoundPlugin("trigemu", Path(__file__).parents[1] / "builtin.py", "trigemu.builtin", "")


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


#: Names of plugins: those of modules, with hyphens.
_NAME = re.compile(r"(?!__)[^\W\d][\w-]*")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


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


def loaded_plugin(module: str) -> FoundPlugin | None:
    """Return the plugin that a module of this process is."""
    return _loaded.get(module)


def files_of_plugin(file: Path) -> list[Path]:
    """Return the module itself, or all Python files of a package, given its `__init__.py`."""
    return sorted(filter(_is_file, file.parent.rglob("*.py"))) if file.name == "__init__.py" else [file]


def digest_of_plugin(file: Path) -> str:
    """Return the digest of a module, or of all Python files of a package."""
    files = files_of_plugin(file)
    digest = hashlib.sha256()
    for part in files:
        name = part.relative_to(file.parent).as_posix() if len(files) > 1 else ""
        digest.update(f"{name}\0".encode() + part.read_bytes() + b"\0")
    return digest.hexdigest()
