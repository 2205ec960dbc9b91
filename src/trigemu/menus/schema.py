"""The JSON schema of a menu, including plugins, for completion and checks in editors.

The docstring of a struct describes its table, and comments #: describe its keys.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from trigemu.base.plugins import Folders, find, providers
from trigemu.base.toml import TomlTable, fields_of
from trigemu.menus.read import BUDGETS, MenuTable, TriggerTable
from trigemu.observables.hardware_scales import Digits, HardwareScale
from trigemu.observables.selections import ObjectTable, SumTable
from trigemu.triggers.base import Kinds, ScoreKind


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
    own_tables = {kind: definitions[names[struct]] for kind, struct in kinds.items()}
    common = definitions[names[TriggerTable]]
    for struct in (TriggerTable, *kinds.values()):
        definitions.pop(names[struct], None)
    variants = []
    for kind, own in own_tables.items():
        is_score = issubclass(kinds[kind], ScoreKind)
        left_out = () if is_score else (*BUDGETS, "unit")
        shared = {key: text for key, text in common["properties"].items() if key not in left_out}
        shared["kind"] = {"description": shared["kind"]["description"], "const": kind}
        variant = {
            "title": kind,
            "description": own["description"],
            "type": "object",
            "properties": shared | own["properties"],
            "required": [*common["required"], *own["required"]],
            "additionalProperties": False,
        }
        one_of = [{"required": [key]} for key in ("above", *BUDGETS)]
        variants.append(variant | ({"oneOf": one_of} if is_score else {}))
    reference = {name: {"$ref": f"#/$defs/{name}"} for name in definitions}
    named = {
        name: {"type": "object", "additionalProperties": reference[name]}
        for name in ("ObjectTable", "SumTable", "HardwareScale")
    }
    pairs = {"^[^-]+-[^-]+$": reference["Digits"]}
    digits = {"type": "object", "patternProperties": pairs, "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trigemu menu",
        "type": "object",
        "properties": {
            "menu": reference["MenuTable"],
            "objects": named["ObjectTable"],
            "sums": named["SumTable"],
            "integer": named["HardwareScale"] | {"properties": {"digits": digits}},
            "trigger": {"type": "array", "minItems": 1, "items": {"oneOf": variants}},
        }
        | further_keys,
        "required": ["trigger"],
        "additionalProperties": False,
        "$defs": definitions,
    }


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
        texts |= _comments(base)
    return {field.encode_name: texts[field.name] for field in fields_of(struct) if field.name in texts}


@cache
def _comments(struct: type) -> dict[str, str]:
    """Return the comments #: of the fields of a class, without those of its bases. To find the source takes
    10 ms."""
    try:
        found = _FIELD.findall(inspect.getsource(struct))
    except (OSError, TypeError):  # it is not in a file
        return {}
    texts = ((name, beside or " ".join(above.replace("#: ", "").split())) for above, name, beside in found)
    return {name: text for name, text in texts if text}


def schemas(
    structs: Iterable[type[TomlTable]], reference: str = "#/$defs/{name}"
) -> tuple[dict[type[TomlTable], str], dict[str, Any]]:
    """Describe tables and the tables within them in JSON Schema."""
    parts: dict[type[TomlTable], None] = {}

    def add(kind: Any) -> None:
        if isinstance(kind, type) and issubclass(kind, TomlTable) and kind not in parts:
            parts[kind] = None
            for field in fields_of(kind):
                add(field.type)
        for inner in typing.get_args(kind):
            add(inner)

    for struct in structs:
        add(struct)
    references, definitions = msgspec.json.schema_components(parts, ref_template=reference)
    names = {part: made["$ref"].rpartition("/")[2] for part, made in zip(parts, references, strict=True)}
    for struct, name in names.items():
        definition, texts = definitions[name], descriptions(struct)
        definition["description"] = summary(struct)
        properties = definition["properties"]
        for key, schema in properties.items():
            if schema.get("default", ...) is None:  # TOML has no null: a key is left out instead
                del schema["default"]
            options = [option for option in schema.pop("anyOf", ()) if option != {"type": "null"}]
            text = {"description": texts[key]} if key in texts else {}
            choice = {"anyOf": options} if options else {}
            properties[key] = text | schema | (options[0] if len(options) == 1 else choice)
        if further := properties.pop(struct.further, None):  # any key
            described = {"description": further.get("description", "")}
            definition["additionalProperties"] = described | further["additionalProperties"]
    return names, definitions
