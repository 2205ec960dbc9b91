"""Trigger kinds by their names in menus, each loaded when a menu uses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trigemu.support import (
    CORE,
    PARTS,
    Candidate,
    FoundPlugin,
    Plugin,
    PluginError,
    nearest,
    providers,
    remedy,
)
from trigemu.triggers.base import BitKind, Kind

AnyKind = type[Kind] | type[BitKind]


class Kinds(Mapping[str, AnyKind]):
    """The kinds that a menu may use: those that come with trigemu, and those of the plugins that it names.

    Looking one up raises PluginError if its plugin cannot be loaded.

    Parameters
    ----------
    folders : iterable of Path
        The plugin path, whose plugins messages name.

    Attributes
    ----------
    failed : set of str
        The names of plugins that could not be added, of which something else was said.
    """

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._folders = tuple(folders)
        self._who: dict[str, Candidate] = dict.fromkeys(CORE.declared().kinds, CORE)
        self._loaded: dict[str, AnyKind] = {}
        self._used: dict[str, FoundPlugin] = {}
        self._all_at_hand = False
        self.failed: set[str] = set()

    def add(self, plugin: FoundPlugin) -> None:
        """Add the kinds of a plugin that a menu names; raise PluginError if it cannot be loaded, has none, or
        redefines one."""
        for name, kind in kinds_of(plugin).items():
            if name in self and self[name] is not kind:
                raise PluginError(f"plugin {plugin.name!r} redefines the kind {name!r}")
            self._who[name], self._loaded[name] = plugin, kind
        self._used[plugin.name] = plugin

    @property
    def used(self) -> tuple[FoundPlugin, ...]:
        """The plugins that were added, or whose kinds were looked up; the core is none of them."""
        return tuple(self._used.values())

    def unknown(self, kind: str) -> str:
        """Return the message for an unknown kind, with a remedy if there is one; none for a kind of a plugin
        that failed."""
        who = providers("kinds", self._folders).get(kind)
        if who is not None and who.name in self.failed:
            return ""
        if who is None:
            return f"unknown kind {kind!r}{remedy('kinds', kind) or nearest(kind, self)}"
        how = f"list it as plugins = [{who.name!r}] under [menu]"
        return f"unknown kind {kind!r}; the plugin {who.name!r} brings it: {how}"

    def __getitem__(self, name: str) -> AnyKind:
        if name not in self._loaded:
            candidate = self._found()[name] if name not in self._who else self._who[name]
            if candidate is CORE:
                self._loaded[name] = kind_of(CORE, name)
            else:
                plugin = self._used.setdefault(candidate.name, candidate.found())
                self._loaded[name] = kind_of(plugin, name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def _found(self) -> Mapping[str, Candidate]:
        """Return whose each kind is. Looking for what is installed takes time: it is done when needed."""
        if not self._all_at_hand:
            self._all_at_hand = True
            self._who = {**providers("kinds", None), **self._who}
        return self._who


def kinds_of(plugin: FoundPlugin) -> dict[str, AnyKind]:
    """Return the kinds of a plugin by name; raise PluginError if it cannot be loaded or has none."""
    said = plugin.declared()
    table = {} if any(getattr(said, part) for part in PARTS) else getattr(plugin.load(), "KINDS", None)
    if not isinstance(table, dict) or (table == {} and said == Plugin()):
        raise _no_kinds(plugin)
    return {name: kind_of(plugin, name) for name in (*said.kinds, *table)}


def kind_of(plugin: FoundPlugin, name: str) -> AnyKind:
    """Return one kind of a plugin; raise PluginError if it cannot be loaded, or is none."""
    declared = name in plugin.declared().kinds
    found = plugin.part("kinds", name) if declared else getattr(plugin.load(), "KINDS", None)
    if isinstance(found, dict):  # the short form
        found = found.get(name)
    if not isinstance(found, type) or not issubclass(found, Kind | BitKind):
        raise _no_kinds(plugin)
    return found


def _no_kinds(plugin: FoundPlugin) -> PluginError:
    return PluginError(
        f"{plugin.where} brings no kinds: it needs PLUGIN = Plugin(kinds={{'name': '.module:Kind', …}}), or "
        "a table KINDS = {'name': a Kind, …}"
    )
