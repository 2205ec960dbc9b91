"""A plugin that was found: its declaration, its digest, and its parts, which are loaded when used."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from trigemu.support.errors import PluginError, TrigemuError, own_cause
from trigemu.support.plugins.declaration import Plugin, declared
from trigemu.support.plugins.messages import reason_of
from trigemu.support.plugins.own import missing_package
from trigemu.support.reading import is_file, read_bounded

#: Prefix of the module names of plugins that do not come with trigemu; pickles refer to these names.
MODULE = "trigemu_plugin_"

_loaded: dict[str, FoundPlugin] = {}


@dataclass(frozen=True)
class Candidate:
    """A file that may be a plugin.

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
            return FoundPlugin(self.name, self.file, self.module, digest_of_plugin(self.file))
        except OSError as error:
            raise PluginError(
                f"plugin {self.name!r}: cannot read {error.filename}: {error.strerror}"
            ) from None


@dataclass(frozen=True)
class FoundPlugin(Candidate):
    """A plugin that was found, with a digest that ensures that every process loads the same code.

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
        for part in [name for name in sys.modules if name.startswith(f"{self.module}.")]:
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
        """Load a part of the plugin by its name.

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
            If it cannot be loaded, or does not exist at the declared place.
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
        """Turn errors in code of the plugin into PluginError."""
        try:
            yield
        except TrigemuError:
            raise
        except (Exception, SystemExit) as error:
            if own := own_cause(error):
                raise own from error
            raise PluginError(f"{self.where}{what}: {missing_package(error) or reason_of(error)}") from error


def loaded_plugin(module: str) -> FoundPlugin | None:
    """Return the plugin that was loaded as a module."""
    return _loaded.get(module)


def files_of_plugin(file: Path) -> list[Path]:
    """Return the file of a module; for the `__init__.py` of a package, all its Python files."""
    return sorted(filter(is_file, file.parent.rglob("*.py"))) if file.name == "__init__.py" else [file]


def digest_of_plugin(file: Path) -> str:
    """Return the digest of a module, or of all Python files of a package."""
    files = files_of_plugin(file)
    digest = hashlib.sha256()
    for part in files:
        name = part.relative_to(file.parent).as_posix() if len(files) > 1 else ""
        digest.update(f"{name}\0".encode() + part.read_bytes() + b"\0")
    return digest.hexdigest()
