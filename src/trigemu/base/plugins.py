"""Plugins: what they declare, where they are found, and how their parts are loaded, also by workers that
share no folder.

A menu names a plugin, never a path, so a menu alone cannot run code that the user did not install or put on
the path (`--plugin-path`, the variable TRIGEMU_PLUGIN_PATH, else `plugins/` in the current folder). The
plugins that come with trigemu are always available.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import msgspec
from platformdirs import user_cache_path

from trigemu.base.errors import PluginError, TrigemuError, nearest, own_cause, quoted, wrong_type
from trigemu.base.files import is_file, read_bounded, write_bytes

ENTRY_POINTS = "trigemu.plugins"
PATH_VARIABLE = "TRIGEMU_PLUGIN_PATH"
#: Prefix of the names of packages that come with trigemu, and of modules of other plugins.
OWN = "trigemu_"
#: Prefix of the module names of plugins that do not come with trigemu; pickles refer to these names.
MODULE = "trigemu_plugin_"
#: Names of plugins: those of modules, with hyphens.
_PLUGIN_NAME = re.compile(r"(?!__)[^\W\d][\w-]*")
_NAME = r"[^\W\d]\w*"
#: The parts of a kind, by name, each with its place "module:name".
Places = dict[str, Annotated[str, msgspec.Meta(pattern=rf"^(\.?{_NAME}(\.{_NAME})*)?:{_NAME}\Z")]]


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of a plugin: its parts by name, each with its place "module:name".

    A module or package assigns it once, to PLUGIN, written with literals only: it is read, not run, until one
    of its parts is used. A module that begins with a dot is one of the plugin's own.

    Examples
    --------
    >>> PLUGIN = Plugin(
    ...     kinds={"decade": ".decade:Decade"},
    ...     commands={"decade": ".cli:command"},
    ... )
    """

    kinds: Places = {}  #: Trigger kinds: classes derived from `Kind` or `BitKind`
    formats: Places = {}  #: Formats of sample files: classes derived from `Source`
    importers: Places = {}  #: click commands, called as `trigemu import NAME`
    #: click commands, called as `trigemu NAME`. One named by two words, as "rates-vs section", precedes the
    #: command of the first word with the second as its argument.
    commands: Places = {}
    sections: Places = {}  #: Sections of reports: functions of their `Contents` that return `Section`s
    #: Arithmetic of cuts on pairs, by the table of a menu that asks for it, such as `[integer]`: see
    #: `Arithmetic` in `triggers/pairs.py`
    arithmetic: Places = {}
    #: Tables under [[sample]] of a catalogue that say which events count, and with which weight: functions
    #: that make a `Weighting` (`samples/sample.py`)
    weightings: Places = {}
    tables: Places = {}  #: Further tables of menus, by their key: classes derived from `MenuTables`
    exports: Places = {}  #: Forms of results, such as "pandas" for `to_pandas`: functions of a result
    uses: tuple[str, ...] = ()  #: The names of other plugins that it imports


@lru_cache
def declared(source: bytes) -> Plugin:
    """Return PLUGIN from the source of a module, or a `Plugin` with the kinds of its table KINDS."""
    assigned = {
        target.id: node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    if not (plugin := assigned.get("PLUGIN")):
        table = assigned.get("KINDS")
        keys = table.keys if isinstance(table, ast.Dict) else []
        names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        return Plugin(kinds=dict.fromkeys(names, ":KINDS"))
    if not isinstance(plugin, ast.Call) or plugin.args:
        raise PluginError("PLUGIN must be Plugin(kinds={…}, …), written with literals")
    types = {part.name: part.type for part in msgspec.structs.fields(Plugin)}
    values: dict[str, Any] = {}
    for keyword in plugin.keywords:
        part = keyword.arg or "**"
        if part not in types:
            raise PluginError(f"PLUGIN has an unknown part {part!r}{nearest(part, types)}")
        try:
            written = ast.literal_eval(keyword.value)
            values[part] = msgspec.convert(written, types[part])
        except msgspec.ValidationError:
            expected = "{'name': '.module:object'}, a place in the plugin's own module `module`"
            expected = "names of plugins: ('anomaly',)" if part == "uses" else expected
            raise PluginError(f"{part} of PLUGIN is {quoted(written)}, expected {expected}") from None
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            message = f"{part} of PLUGIN must be written with literals: it is read, not run"
            raise PluginError(message) from None
    return Plugin(**values)


def reason_of(error: BaseException) -> str:
    """Describe an error in code of a plugin: its kind, its message, its file and line."""
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{type(error).__name__}: {message}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return the file and line of a plugin at which an error was raised; empty if no plugin was involved."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" (at {error.filename}:{error.lineno})"
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(OWN)
    ]
    return " (at {}:{})".format(*frames[-1]) if frames else ""


def place_of_method(owner: object, *names: str) -> str:
    """Return the file and line of the first of some methods that belongs to a plugin."""
    for method in (getattr(owner, name, None) for name in names):
        code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
        if code and str(getattr(method, "__module__", "")).startswith(OWN):
            return f" (at {code.co_filename}:{code.co_firstlineno})"
    return ""


_loaded: dict[str, FoundPlugin] = {}


@dataclass(frozen=True)
class FoundPlugin:
    """A file that may be a plugin."""

    name: str  #: Its name in menus
    file: Path  #: The module, or the `__init__.py` of the package
    module: str  #: The name under which Python imports it
    sha256: str = ""  #: Digest of its Python files, so that every process loads the same; empty until `found`

    @property
    def comes_with_trigemu(self) -> bool:
        """Whether it is imported by the name of its package."""
        return not self.module.startswith(MODULE)

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"plugin {self.name!r} ({self.file})"

    def declared(self) -> Plugin:
        """Read its declaration without running it; raise PluginError if that fails."""
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
        """Return the plugin with its digest; raise PluginError if a file cannot be read."""
        try:
            return replace(self, sha256=digest_of_plugin(self.file))
        except OSError as error:
            reason = f"cannot read {error.filename}: {error.strerror}"
            raise PluginError(f"plugin {self.name!r}: {reason}") from None

    def load(self) -> ModuleType:
        """Import the plugin, once per process, and return the module; raise PluginError if that fails."""
        if self.comes_with_trigemu:
            with self._failing(" cannot be loaded"):
                return importlib.import_module(self.module)
        if loaded := sys.modules.get(self.module):
            file = Path(loaded.__file__ or "")
            if file == self.file or (file.exists() and digest_of_plugin(file) == self.sha256):
                return loaded
        spec = importlib.util.spec_from_file_location(self.module, self.file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        for part in [name for name in sys.modules if name.startswith(f"{self.module}.")]:
            del sys.modules[part]  # belongs to another plugin with this name
        sys.modules[self.module] = module  # pickles of its kinds refer to this name
        try:
            with self._failing(" cannot be loaded"):
                spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[self.module]
            raise
        _loaded[self.module] = self if self.sha256 else self.found()
        return module

    def part(self, part: str, name: str) -> Any:
        """Return the class or function of a `name` in a `part` of it; raise PluginError if it fails."""
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
        """Turn errors in code of the plugin into PluginError."""
        try:
            yield
        except TrigemuError:
            raise
        except (Exception, SystemExit) as error:
            if cause := own_cause(error):
                raise cause from error
            raise PluginError(f"{self.where}{what}: {reason_of(error)}") from error


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
    """Return all plugins that can be found, by name, those that come with trigemu first. None is read."""
    by_name: dict[str, list[FoundPlugin]] = {}
    for plugin in installed():
        by_name.setdefault(plugin.name, []).append(plugin)
    own = {f"{OWN}{name}" for name, (first, *_) in by_name.items() if first.comes_with_trigemu}
    for folder in folders:
        packages = [(file.parent.name, file) for file in sorted(folder.glob("*/__init__.py"))]
        modules = [(file.stem, file) for file in sorted(folder.glob("*.py"))]
        for name, file in packages + modules:
            if _PLUGIN_NAME.fullmatch(name) and name not in own and is_file(file):
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
    """Return the plugin that provides each name of a part: the core, then those that come with trigemu, then
    others. None is loaded; those that cannot be read are left out: using them raises an error."""
    by_name: dict[str, FoundPlugin] = {}
    for candidate in (CORE, *chain.from_iterable(available(folders or ()).values())):
        if folders is None and not candidate.comes_with_trigemu:
            continue
        with suppress(PluginError):
            for name in getattr(candidate.declared(), part):
                by_name.setdefault(name, candidate)
    return by_name


def summary(candidate: FoundPlugin, part: str, command: str) -> str:
    """Return the first paragraph of the docstring of a command, or of its module, which is not loaded."""
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


def plugins_in(pickled: bytes) -> set[FoundPlugin]:
    """Return the plugins that were loaded and whose modules a pickle refers to."""
    return {plugin for module, plugin in _loaded.items() if module.encode() in pickled}


def sources_in(file: Path) -> dict[str, bytes]:
    """Return a module, or all Python files of a package, by their path in its folder."""
    files = sorted(filter(is_file, file.parent.rglob("*.py"))) if file.name == "__init__.py" else [file]
    return {part.relative_to(file.parent).as_posix(): part.read_bytes() for part in files}


def digest_of_plugin(file: Path) -> str:
    """Return the digest of a module, or of all Python files of a package."""
    digest, sources = hashlib.sha256(), sources_in(file)
    for name, content in sources.items():
        digest.update(f"{name if len(sources) > 1 else ''}\0".encode() + content + b"\0")
    return digest.hexdigest()


def sources_of(plugin: FoundPlugin) -> dict[str, bytes]:
    """Return the Python files of a plugin; raise PluginError if they changed since it was found."""
    if plugin.found() != plugin:
        raise PluginError(f"plugin {plugin.name!r}: {plugin.file} was changed while it was used: start again")
    return sources_in(plugin.file)


def load_from(plugin: FoundPlugin, sources: Mapping[str, bytes]) -> None:
    """Load a plugin from its own file, or from its sources, written to the cache folder."""
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
