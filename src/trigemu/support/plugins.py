"""Plugins: trigger kinds from installed packages and from folders on the plugin path.

A plugin is a Python module or package with a literal table `KINDS = {"name": Kind, …}`. A menu gives its
name, never a path, so a menu alone cannot run code that the user did not install or put on the path
(`--plugin-path`, the variable TRIGEMU_PLUGIN_PATH, else `plugins/` in the current folder). A package may also
have a module `cli` with a click command `command`, which adds the command `trigemu NAME`, and a module
`report` with a function `sections(contents)`, which adds sections to reports (`output/report/section.py`).
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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trigemu.support import PluginError, TrigemuError, nearest, own_cause, read_bounded, wrong_type

if TYPE_CHECKING:
    from trigemu.triggers.base import BitKind, Kind

ENTRY_POINTS = "trigemu.plugins"
PATH_VARIABLE = "TRIGEMU_PLUGIN_PATH"
#: How names of modules of plugins begin; pickles of what is in them refer to these.
MODULE = "trigemu_plugin_"

#: Folders that plugins are looked for in, as calls are given them.
Folders = Iterable[Path | str] | Path | str | None

_loaded: dict[str, Plugin] = {}


def reason_of(error: BaseException) -> str:
    """Return what to say of an error in code of a plugin: its kind, its message, and the file and line."""
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{type(error).__name__}: {message}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return the file and line of a plugin at which an error came up; nothing if no plugin was involved."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" (at {error.filename}:{error.lineno})"
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(MODULE)
    ]
    return " (at {}:{})".format(*frames[-1]) if frames else ""


def place_of_method(owner: object, *names: str) -> str:
    """Return the file and line of the first of some methods that is of a plugin."""
    for method in (getattr(owner, name, None) for name in names):
        code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
        if code and str(getattr(method, "__module__", "")).startswith(MODULE):
            return f" (at {code.co_filename}:{code.co_firstlineno})"
    return ""


@dataclass(frozen=True)
class Plugin:
    """The location and digest of a plugin, from which every process loads the same code.

    Attributes
    ----------
    name : str
        Name of the plugin.
    file : Path
        The module, or the `__init__.py` of the package.
    sha256 : str
        Digest of the module, or of all Python files of the package.
    """

    name: str
    file: Path
    sha256: str

    def load(self) -> ModuleType:
        """Import the plugin, once per process; raise PluginError if that fails."""
        module_name = f"{MODULE}{self.name}"
        loaded = sys.modules.get(module_name)
        if loaded is not None and self._is(Path(loaded.__file__ or "")):
            return loaded
        spec = importlib.util.spec_from_file_location(module_name, self.file)
        if spec is None or spec.loader is None:
            raise PluginError(f"plugin {self.name!r}: {self.file} is not a Python module")
        module = importlib.util.module_from_spec(spec)
        for part in [known for known in sys.modules if known.startswith(f"{module_name}.")]:
            del sys.modules[part]  # belongs to another plugin with this name
        sys.modules[module_name] = module  # pickles of its kinds refer to this name
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[module_name]
            if own := own_cause(error):
                raise own from error
            where = f"plugin {self.name!r} ({self.file})"
            raise PluginError(f"{where} cannot be loaded: {reason_of(error)}") from error
        _loaded[module_name] = self
        return module

    def _is(self, file: Path) -> bool:
        return file == self.file or (file.exists() and digest_of_plugin(file) == self.sha256)

    def kinds(self) -> dict[str, type[Kind] | type[BitKind]]:
        """Return its table KINDS; raise PluginError if it is missing or invalid."""
        from trigemu.triggers.base import BitKind, Kind  # not above: it takes half a second

        table = getattr(self.load(), "KINDS", None)
        if not isinstance(table, dict) or not all(
            isinstance(kind, type) and issubclass(kind, Kind | BitKind) for kind in table.values()
        ):
            raise PluginError(
                f"plugin {self.name!r} ({self.file}) has no table KINDS = {{'name': a Kind, …}}"
            )
        return table

    def has(self, part: str) -> bool:
        """Return whether it is a package with a module of this name, without loading it."""
        return _has(self.file, part)

    def command(self) -> Any:
        """Return the click command in its module `cli`; raise PluginError if it cannot be loaded."""
        return self._part("cli", "command")

    def sections(self, contents: Any) -> list[Any]:
        """Return the sections that it adds to a report, given the report's contents; raise PluginError if
        that fails."""
        if not self.has("report"):
            return []
        try:
            return list(self._part("report", "sections")(contents))
        except TrigemuError:
            raise
        except Exception as error:
            if own := own_cause(error):
                raise own from error
            where = f"plugin {self.name!r} ({self.file})"
            raise PluginError(f"{where}: its report fails: {reason_of(error)}") from error

    def _part(self, part: str, name: str) -> Any:
        """Return the object of that name in one of its modules."""
        self.load()
        try:
            return getattr(importlib.import_module(f"{MODULE}{self.name}.{part}"), name)
        except (Exception, SystemExit) as error:
            if own := own_cause(error):
                raise own from error
            what = "command" if part == "cli" else part
            where = f"plugin {self.name!r} ({self.file})"
            raise PluginError(f"{where}: its {what} fails: {reason_of(error)}") from error


def search_path(given: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the folders that are searched for plugins."""
    variable = os.environ.get(PATH_VARIABLE)
    if given:
        return tuple(given)
    if variable:
        return tuple(Path(part) for part in variable.split(os.pathsep) if part)
    return (Path("plugins"),)


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


def find(name: str, path: Folders = None) -> Plugin:
    """Return the plugin of that name; raise PluginError if there is none, or several that differ."""
    folders = folders_of(path)
    known = available(folders)
    found = known.get(name)
    if not found:
        where = ", ".join(f"{folder}{'' if folder.is_dir() else ' (no such folder)'}" for folder in folders)
        raise PluginError(
            f"no plugin {name!r} is installed or in {where}{nearest(name, known)}; "
            f"put its folder on --plugin-path or {PATH_VARIABLE}; in Python: read_menu(menu, folder)"
        )
    try:
        plugins = [Plugin(name, file, digest_of_plugin(file)) for file in found]
    except OSError as error:
        raise PluginError(f"plugin {name!r}: cannot read {error.filename}: {error.strerror}") from None
    if len({plugin.sha256 for plugin in plugins}) > 1:
        places = " and ".join(str(plugin.file) for plugin in plugins)
        raise PluginError(f"two different plugins are called {name!r}: {places}; remove one")
    return plugins[0]


def available(folders: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the files of all plugins that can be found, by name. None is read or loaded.

    Of a folder, regular files and packages count whose names could be names of modules: not the lock files of
    editors, links to nowhere, or pipes.
    """
    files: list[tuple[str, Path]] = []
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            spec = importlib.util.find_spec(point.value.partition(":")[0])
        except Exception:  # a package that cannot be imported must not hide the others
            continue
        if spec and spec.origin:
            files.append((point.name, Path(spec.origin)))
    for folder in folders:
        packages = [(file.parent.name, file) for file in sorted(folder.glob("*/__init__.py"))]
        modules = [(file.stem, file) for file in sorted(folder.glob("*.py"))]
        files += [
            (name, file) for name, file in packages + modules if _NAME.fullmatch(name) and _is_file(file)
        ]
    found: dict[str, list[Path]] = {}
    for name, file in files:
        found.setdefault(name, []).append(file.resolve())
    return found


#: Names of plugins: those of modules, with hyphens.
_NAME = re.compile(r"(?!__)[^\W\d][\w-]*")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def with_commands(folders: Iterable[Path]) -> list[str]:
    """Return the names of plugins with a command: packages with a module `cli`. None is loaded."""
    return sorted(name for name, found in available(folders).items() if _has(found[0], "cli"))


def summary(name: str, folders: Iterable[Path]) -> str:
    """Return the docstring of the command of a plugin, or of its module, up to the first blank line. It is
    parsed, not loaded; empty if there is none."""
    try:
        module = ast.parse(read_bounded(available(folders)[name][0].with_name("cli.py")))
    except Exception:  # of a plugin that is broken; its command will say so
        return ""
    commands = [part for part in module.body if isinstance(part, ast.FunctionDef) and part.name == "command"]
    texts = [*map(ast.get_docstring, commands), ast.get_docstring(module)]
    text = next(filter(None, texts), "")
    return " ".join(text.partition("\n\n")[0].split())


def _has(file: Path, part: str) -> bool:
    return file.name == "__init__.py" and _is_file(file.with_name(f"{part}.py"))


def loaded_plugin(module: str) -> Plugin | None:
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
