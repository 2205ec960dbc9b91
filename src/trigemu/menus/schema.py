"""The JSON schema of a menu, including plugins, for completion and checks in editors.

The docstring of a struct describes its table, and comments #: describe its keys.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from trigemu.base.plugins import Folders, find, providers
from trigemu.base.toml import TomlTable, fields_of
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


#: A field of a struct, with its type and default: its description is the comment #: above or beside it.
_FIELD = re.compile(r"((?:^ +#: .*\n)*)^ +(\w+): [^#\n]*(?:#: (.*))?$", re.MULTILINE)


def summary(struct: type[TomlTable]) -> str:
    """Return the docstring of a struct, each paragraph on one line."""
    paragraphs = inspect.cleandoc(struct.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def descriptions(struct: type[TomlTable]) -> dict[str, str]:
    """Return the description of each key of a table, by its name in TOML, if it has one."""
    texts: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        with suppress(OSError, TypeError):  # its source is not in a file
            for above, name, beside in _FIELD.findall(inspect.getsource(base)):
                if text := beside or " ".join(above.replace("#: ", "").split()):
                    texts[name] = text
    return {field.encode_name: texts[field.name] for field in fields_of(struct) if field.name in texts}


def schemas(
    structs: Iterable[type[TomlTable]], reference: str = "#/$defs/{name}"
) -> tuple[dict[type[TomlTable], str], dict[str, Any]]:
    """Describe tables and the tables within them in JSON Schema."""
    parts = with_parts(structs)
    references, definitions = msgspec.json.schema_components(parts, ref_template=reference)
    names = {part: made["$ref"].rpartition("/")[2] for part, made in zip(parts, references, strict=True)}
    for part, name in names.items():
        _describe(part, definitions[name])
    return names, _without_null(definitions)


def _describe(struct: type[TomlTable], definition: dict[str, Any]) -> None:
    """Add the docstring to a definition, and allow any key if the struct does."""
    definition["description"] = summary(struct)
    properties, texts = definition["properties"], descriptions(struct)
    further = properties.pop(struct.further, None)
    if further:
        any_name = {"description": texts.pop(str(struct.further), "")}
        definition["additionalProperties"] = any_name | further["additionalProperties"]
    for key, text in texts.items():
        properties[key] = {"description": text} | properties[key]


def with_parts(structs: Iterable[type[TomlTable]]) -> list[type[TomlTable]]:
    """Return structs and the structs within them, each once, in order of appearance."""
    parts: dict[type[TomlTable], None] = {}
    for struct in structs:
        inner = (part for field in fields_of(struct) for part in _tables(field.type))
        parts |= dict.fromkeys((struct, *with_parts(inner)))
    return list(parts)


def _tables(kind: Any) -> Iterator[type[TomlTable]]:
    """Yield the structs in a type."""
    if isinstance(kind, type) and issubclass(kind, TomlTable):
        yield kind
    for part in typing.get_args(kind):
        yield from _tables(part)


def _without_null(node: Any) -> Any:
    """Remove null, which TOML does not have: a key is left out instead."""
    if isinstance(node, list):
        return [_without_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {
        name: _without_null(value)
        for name, value in node.items()
        if not (name == "default" and value is None)
    }
    options = [option for option in schema.get("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        del schema["anyOf"]
        schema |= options[0]
    return schema
