"""`Plugin`: the declaration of a plugin's parts, a literal value that is read without running the plugin."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache

from trigemu.support.errors import PluginError, nearest

#: A place "module:name". A module that begins with a dot is one of the plugin's own.
_NAME = r"[^\W\d]\w*"
_PLACE = re.compile(rf"(\.?{_NAME}(\.{_NAME})*)?:{_NAME}")
Places = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """The declaration of a plugin: its parts by name, each with its place "module:name".

    A module or package assigns it once, to PLUGIN, written with literals only: it is read, not run, until one
    of its parts is used. A module that begins with a dot is one of the plugin's own.

    Attributes
    ----------
    kinds : mapping of str to str
        Trigger kinds: classes derived from `Kind` or `BitKind`.
    formats : mapping of str to str
        Formats of sample files: classes derived from `Source`.
    importers : mapping of str to str
        Menus of experiments: click commands, called as `trigemu import NAME`.
    commands : mapping of str to str
        click commands, called as `trigemu NAME`.
    sections : mapping of str to str
        Sections of reports: functions of the `Contents` of a report that return `Section`s.
    uses : tuple of str
        The names of other plugins that it imports.

    Examples
    --------
    >>> PLUGIN = Plugin(
    ...     kinds={"decade": ".decade:Decade"},
    ...     commands={"decade": ".cli:command"},
    ... )
    """

    kinds: Places = field(default_factory=dict)
    formats: Places = field(default_factory=dict)
    importers: Places = field(default_factory=dict)
    commands: Places = field(default_factory=dict)
    sections: Places = field(default_factory=dict)
    uses: tuple[str, ...] = ()


PARTS = tuple(part.name for part in fields(Plugin) if part.name != "uses")


@lru_cache
def declared(source: bytes) -> Plugin:
    """Return PLUGIN from the source of a module, or a `Plugin` with the kinds of its table KINDS, or an empty
    one.

    Raises
    ------
    PluginError
        If PLUGIN is not a `Plugin` written with literals.
    SyntaxError, ValueError, RecursionError, MemoryError
        If the source cannot be parsed.
    """
    assigned = dict(_assignments(ast.parse(source).body))
    if "PLUGIN" in assigned:
        return _plugin(assigned["PLUGIN"])
    table = assigned.get("KINDS")
    keys = table.keys if isinstance(table, ast.Dict) else []
    names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return Plugin(kinds=dict.fromkeys(names, ":KINDS"))


def _assignments(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:  # type: ignore[attr-defined]
                yield target.id, node.value  # type: ignore[attr-defined]


def _plugin(value: ast.expr) -> Plugin:
    if not isinstance(value, ast.Call) or value.args:
        raise PluginError("PLUGIN must be Plugin(kinds={…}, …), written with literals")
    parts = [*PARTS, "uses"]
    values = {}
    for keyword in value.keywords:
        name = keyword.arg or "**"
        if name not in parts:
            raise PluginError(f"PLUGIN has an unknown part {name!r}{nearest(name, parts)}")
        try:
            values[name] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise PluginError(
                f"{name} of PLUGIN must be written with literals: it is read, not run"
            ) from None
        if name == "uses":
            _check_uses(values[name])
        else:
            _check_places(name, values[name])
    return Plugin(**values)


def _check_uses(names: object) -> None:
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise PluginError(f"uses of PLUGIN is {names!r}, expected names of plugins: ('anomaly',)")


def _check_places(part: str, places: object) -> None:
    if not isinstance(places, dict):
        raise PluginError(f"{part} of PLUGIN is {places!r}, expected {{'name': '.module:object'}}")
    for name, place in places.items():
        if not isinstance(name, str) or not isinstance(place, str) or not _PLACE.fullmatch(place):
            raise PluginError(
                f"{part} of PLUGIN has {name!r}: {place!r}, expected 'name': '.module:object' (a place in "
                "the plugin's own module `module`)"
            )
