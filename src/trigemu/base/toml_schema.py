"""Descriptions of the keys of TOML tables from the docstrings of their structs, and the kind of a file by a
table that only files of this kind have.

The docstring of a struct describes the table and, under Attributes, each of its keys. Schemas and the
reference use these descriptions.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from trigemu.base.toml import Document, TomlTable, fields_of

_SECTION = "\nAttributes\n----------\n"
#: The heading of the next section.
_HEADING = re.compile(r"^.+\n-+$", re.MULTILINE)
#: An entry: names, the type, and indented lines.
_ENTRY = re.compile(r"^(\w[\w, ]*) : .*\n((?: +.*\n|\n)+)", re.MULTILINE)


def summary(struct: type[TomlTable]) -> str:
    """Return the docstring of a struct up to its attributes, each paragraph on one line."""
    text = inspect.cleandoc(struct.__doc__ or "").partition(_SECTION)[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")).strip()


def descriptions(struct: type[TomlTable]) -> dict[str, str]:
    """Return the description of each key of a table, by its name in TOML, if it has one."""
    texts: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        section = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition(_SECTION)[2]
        section = _HEADING.split(section)[0]
        for names, lines in _ENTRY.findall(section + "\n"):
            texts |= {name: " ".join(lines.split()) for name in names.split(", ")}
    keys = (field.encode_name for field in fields_of(struct))
    return {key: texts[key] for key in keys if key in texts}


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


#: Table → the kind of file that has it, and how such files are used.
KINDS = {
    "trigger": ("a menu", "trigemu check-menu and most other commands take it as MENU"),
    "catalogue": ("a catalogue of samples", "give it as --samples"),
    "profile": ("a set of efficiency profiles", "trigemu efficiency takes it as --profile"),
    "slice": ("a configuration of simulated samples", "trigemu generate takes it"),
    "training": ("a configuration for training a model", "trigemu decade train takes it"),
    "goals": ("a file of goals", "trigemu optimise takes it as GOALS, after the menu"),
    "fill": ("a fill", "trigemu fill takes it as FILL, after the menu"),
    "filling": ("a filling scheme", "trigemu live takes it as --filling"),
    "rules": ("a set of trigger rules", "trigemu live takes it as --rules"),
    "rule": ("a set of trigger rules", "trigemu live takes it as --rules"),
    "quantity": ("a set of tolerances", "trigemu gate takes it as --tolerances"),
    "default": ("a set of tolerances", "trigemu gate takes it as --tolerances"),
    "network": ("a model card", "a trigger names it as its card"),
    "score": ("a model card", "a trigger names it as its card"),
}


def kind_of(data: dict[str, Any]) -> str | None:
    """Return the table that identifies the kind of a file, a key of `KINDS`; None if it has none of them."""
    return next((table for table in KINDS if table in data), None)


def refuse_other_kinds(document: Document, table: str) -> None:
    """Refuse a file of another kind, such as a menu where a catalogue is expected."""
    other = None if table in document.data else kind_of(document.data)
    if other and KINDS[other] != KINDS[table]:
        what, use = KINDS[other]
        document.problem((other,), "", f"this is {what}, not {KINDS[table][0]}: {use}")
        document.finish()
