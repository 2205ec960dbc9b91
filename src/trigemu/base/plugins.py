"""Plugins: what they declare, messages for errors in their code, and how their parts are loaded."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import msgspec

from trigemu.base.errors import PluginError, TrigemuError, nearest, own_cause, quoted
from trigemu.base.files import is_file, read_bounded

#: Prefix of the names of packages that come with trigemu, and of modules of other plugins.
OWN = "trigemu_"
_NAME = r"[^\W\d]\w*"
#: The parts of a kind, by name, each with its place "module:name".
Places = dict[str, Annotated[str, msgspec.Meta(pattern=rf"^(\.?{_NAME}(\.{_NAME})*)?:{_NAME}\Z")]]


@dataclass(frozen=True, kw_only=True)
class Plugin:
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

    kinds: Places = field(default_factory=dict)  #: Trigger kinds: classes derived from `Kind` or `BitKind`
    formats: Places = field(default_factory=dict)  #: Formats of sample files: classes derived from `Source`
    importers: Places = field(default_factory=dict)  #: click commands, called as `trigemu import NAME`
    #: click commands, called as `trigemu NAME`. One named by two words, as "rates-vs section", precedes the
    #: command of the first word with the second as its argument.
    commands: Places = field(default_factory=dict)
    #: Sections of reports: functions of the `Contents` of a report that return `Section`s
    sections: Places = field(default_factory=dict)
    #: Arithmetic of cuts on pairs, by the table of a menu that asks for it, such as `[integer]`: see
    #: `Arithmetic` in `triggers/combination/pairs.py`
    arithmetic: Places = field(default_factory=dict)
    #: Tables under [[sample]] of a catalogue that say which events count, and with which weight: functions
    #: that make a `Weighting` (`samples/sample.py`)
    weightings: Places = field(default_factory=dict)
    #: Further tables of menus, by their key: classes derived from `MenuTables` in `menus/menu.py`
    tables: Places = field(default_factory=dict)
    #: Forms of results, such as "pandas" for `to_pandas`: functions of a result
    exports: Places = field(default_factory=dict)
    uses: tuple[str, ...] = ()  #: The names of other plugins that it imports


PARTS = tuple(part.name for part in fields(Plugin) if part.name != "uses")


@lru_cache
def declared(source: bytes) -> Plugin:
    """Return PLUGIN from the source of a module, or a `Plugin` with the kinds of its table KINDS."""
    assigned = {
        target.id: node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    if "PLUGIN" in assigned:
        return _plugin(assigned["PLUGIN"])
    table = assigned.get("KINDS")
    keys = table.keys if isinstance(table, ast.Dict) else []
    names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return Plugin(kinds=dict.fromkeys(names, ":KINDS"))


def _plugin(value: ast.expr) -> Plugin:
    if not isinstance(value, ast.Call) or value.args:
        raise PluginError("PLUGIN must be Plugin(kinds={…}, …), written with literals")
    types = dict.fromkeys(PARTS, Places) | {"uses": tuple[str, ...]}
    values: dict[str, Any] = {}
    for keyword in value.keywords:
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
            raise PluginError(
                f"{part} of PLUGIN must be written with literals: it is read, not run"
            ) from None
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


#: Prefix of the module names of plugins that do not come with trigemu; pickles refer to these names.
MODULE = "trigemu_plugin_"

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
        """Return the class or function of a `name` in a `part` of `PARTS`; raise PluginError if it fails."""
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


def plugins_in(pickled: bytes) -> set[FoundPlugin]:
    """Return the plugins that were loaded and whose modules a pickle refers to."""
    return {plugin for module, plugin in _loaded.items() if module.encode() in pickled}


def sources_in(file: Path) -> dict[str, bytes]:
    """Return a module, or for the `__init__.py` of a package, all its Python files, by their path in the
    folder."""
    files = sorted(filter(is_file, file.parent.rglob("*.py"))) if file.name == "__init__.py" else [file]
    return {part.relative_to(file.parent).as_posix(): part.read_bytes() for part in files}


def digest_of_plugin(file: Path) -> str:
    """Return the digest of a module, or of all Python files of a package."""
    digest, sources = hashlib.sha256(), sources_in(file)
    for name, content in sources.items():
        digest.update(f"{name if len(sources) > 1 else ''}\0".encode() + content + b"\0")
    return digest.hexdigest()
