"""Trigger kinds by their names in menus, each loaded when a menu uses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from trigemu.base.errors import PluginError, nearest
from trigemu.base.plugins import CORE, FoundPlugin, Plugin, providers
from trigemu.triggers.base import BitKind, Kind

AnyKind = type[Kind] | type[BitKind]


class Kinds(Mapping[str, AnyKind]):
    """The kinds that a menu may use: those that come with trigemu, and those of the plugins that it names.
    Access to a kind raises PluginError if its plugin cannot be loaded."""

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._folders = tuple(folders)  # The plugin path; messages name its plugins
        self._loaded: dict[str, AnyKind] = {}
        self._used: dict[str, FoundPlugin] = {}
        self.failed: set[str] = set()  # Plugins that could not be added, which other messages report

    def add(self, plugin: FoundPlugin) -> None:
        """Add the kinds of a plugin that a menu names; raise PluginError if it cannot be loaded, has no
        kinds, or redefines one."""
        declaration = plugin.declared()
        if declaration == Plugin():
            raise _no_kinds(plugin)
        for name in declaration.kinds:
            kind = _kind(plugin, name)
            if name in self and self[name] is not kind:
                raise PluginError(f"plugin {plugin.name!r} redefines the kind {name!r}")
            self._loaded[name] = kind
        self._used[plugin.name] = plugin

    @property
    def used(self) -> tuple[FoundPlugin, ...]:
        """The plugins that were added, or whose kinds were accessed; without the core."""
        return tuple(self._used.values())

    def unknown(self, kind: str) -> str:
        """Return the message for an unknown kind, with a remedy if there is one; empty for a kind of a plugin
        that failed."""
        provider = providers("kinds", self._folders).get(kind)
        if provider is None:
            return f"unknown kind {kind!r}{nearest(kind, self)}"
        if provider.name in self.failed:
            return ""
        how = f"list it as plugins = [{provider.name!r}] under [menu]"
        return f"unknown kind {kind!r}; the plugin {provider.name!r} provides it: {how}"

    @cached_property
    def _included(self) -> dict[str, FoundPlugin]:
        """The provider of each kind that comes with trigemu. The search takes time: kinds of the core do not
        need it."""
        return providers("kinds", None)

    def __getitem__(self, name: str) -> AnyKind:
        if name not in self._loaded:
            plugin = CORE if name in CORE.declared().kinds else self._included[name]
            if plugin is not CORE:
                plugin = self._used.setdefault(plugin.name, plugin.found())
            self._loaded[name] = _kind(plugin, name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._included | self._loaded)

    def __len__(self) -> int:
        return len(self._included | self._loaded)


def _kind(plugin: FoundPlugin, name: str) -> AnyKind:
    """Return one kind of a plugin; raise PluginError if it cannot be loaded, or is not a kind."""
    kind = plugin.part("kinds", name)
    kind = kind[name] if isinstance(kind, dict) else kind  # the short form, a table KINDS
    if not isinstance(kind, type) or not issubclass(kind, Kind | BitKind):
        raise _no_kinds(plugin)
    return kind


def _no_kinds(plugin: FoundPlugin) -> PluginError:
    return PluginError(
        f"{plugin.where} provides no kinds: it needs PLUGIN = Plugin(kinds={{'name': '.module:Kind', …}}), "
        "or a table KINDS = {'name': a Kind, …}"
    )
