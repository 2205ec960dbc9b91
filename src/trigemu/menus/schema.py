"""The JSON schema of a menu, including plugins, for completion and checks in editors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trigemu.base.plugin_search import Folders, find, providers
from trigemu.base.toml_schema import schemas
from trigemu.menus.read import MenuTable, TriggerTable
from trigemu.observables.hardware_scales import Digits, HardwareScale
from trigemu.observables.selections import ObjectTable, SumTable
from trigemu.triggers.base import ScoreKind
from trigemu.triggers.kinds import Kinds

#: The keys that set the threshold: one of them.
_THRESHOLD_KEYS = ("above", "unique_rate_hz", "total_rate_hz")
_REFERENCE = "#/$defs/{name}"


def menu_schema(plugin_names: Iterable[str] = (), plugin_path: Folders = None) -> dict[str, Any]:
    """Describe menu files in JSON Schema (2020-12), for editors.

    Parameters
    ----------
    plugin_names : iterable of str
        Plugins whose kinds a menu may use.
    plugin_path : path or list of paths, optional
        Folders to search for plugins; by default those of `TRIGEMU_PLUGIN_PATH`, else plugins/.

    Returns
    -------
    dict
        The schema.

    Raises
    ------
    PluginError
        If a plugin is not found or cannot be loaded.
    """
    kinds = Kinds()
    for name in plugin_names:
        kinds.add(find(name, plugin_path))
    further = {key: plugin.part("tables", key) for key, plugin in providers("tables", None).items()}
    tables = (MenuTable, ObjectTable, SumTable, HardwareScale, Digits, TriggerTable, *kinds.values())
    names, definitions = schemas((*tables, *further.values()))
    further_keys = {key: definitions.pop(names[s])["properties"][key] for key, s in further.items()}
    common = definitions[names[TriggerTable]]
    own_tables = {kind: definitions[names[struct]] for kind, struct in kinds.items()}
    for struct in (TriggerTable, *kinds.values()):
        definitions.pop(names[struct], None)
    variants = []
    named = {"description": common["properties"]["kind"]["description"]}
    for kind, kind_table in own_tables.items():
        keys = _THRESHOLD_KEYS if issubclass(kinds[kind], ScoreKind) else ()
        of_score = () if keys else (*_THRESHOLD_KEYS, "unit")
        shared = {k: v for k, v in common["properties"].items() if k not in of_score}
        variants.append(
            {
                "title": kind,
                "description": kind_table.get("description", ""),
                "type": "object",
                "properties": shared | {"kind": named | {"const": kind}} | kind_table["properties"],
                "required": [*common["required"], *kind_table["required"]],
                "additionalProperties": False,
            }
            | ({"oneOf": [{"required": [key]} for key in keys]} if keys else {})
        )
    pairs = {"^[^-]+-[^-]+$": {"$ref": _REFERENCE.format(name="Digits")}}
    digits = {"type": "object", "patternProperties": pairs, "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trigemu menu",
        "type": "object",
        "properties": {
            "menu": {"$ref": _REFERENCE.format(name="MenuTable")},
            "objects": _named("ObjectTable"),
            "sums": _named("SumTable"),
            "integer": _named("HardwareScale") | {"properties": {"digits": digits}},
            "trigger": {"type": "array", "minItems": 1, "items": {"oneOf": variants}},
        }
        | further_keys,
        "required": ["trigger"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _named(definition: str) -> dict[str, Any]:
    reference = {"$ref": _REFERENCE.format(name=definition)}
    return {"type": "object", "additionalProperties": reference}
