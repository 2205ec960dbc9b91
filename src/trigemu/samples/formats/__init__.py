"""File formats, one per module, of the core and of plugins: classes derived from `source.Source`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from trigemu.base.errors import PluginError
from trigemu.base.plugins import CORE, find, providers, search_path
from trigemu.samples.formats.source import Source


def format_names() -> list[str]:
    """Return the names of formats, those of the core first."""
    return list(providers("formats", search_path()))


def is_format(name: str) -> bool:
    """Return whether a format has this name."""
    return name in CORE.declared().formats or name in format_names()


def format_named(name: str) -> type[Source]:
    """Return a format by its name; raise KeyError if there is none, PluginError if it cannot be loaded."""
    return _format(name, search_path())


@lru_cache
def _format(name: str, folders: tuple[Path, ...]) -> type[Source]:
    core = name in CORE.declared().formats
    plugin = CORE if core else find(providers("formats", folders)[name].name, folders)
    source = plugin.part("formats", name)
    if not isinstance(source, type) or not issubclass(source, Source):
        raise PluginError(f"{plugin.where}: its format {name!r} is not a Source")
    return source


def each_format() -> Iterator[tuple[str, type[Source]]]:
    """Yield the formats by name, in the order in which they are tried on a file. Each is loaded when the
    iteration reaches it."""
    core = CORE.declared().formats
    yield from ((name, format_named(name)) for name in core)
    yield from ((name, format_named(name)) for name in format_names() if name not in core)
