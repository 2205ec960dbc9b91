"""Lists of the keys of TOML files, from the schemas that the program itself uses.

`menu-keys` describes menus, from the schema that `trigemu schema` prints; `table-keys MODULE:STRUCT`
describes any other file whose tables are structs, with the tables in it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from trigemu.menus import menu_schema
from trigemu.support import schemas

_NAMES = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "true or false",
    "object": "table",
}
_LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
#: Definitions of a menu's schema that have a section of their own at the top.
_TOP = {
    "MenuTable": "[menu]",
    "ObjectTable": "[objects.NAME]",
    "SumTable": "[sums.NAME]",
    "Scale": "[integer.NAME]",
}


def _title(name: str) -> str:
    return _TOP.get(name, name.removesuffix("Table"))


def _identifier(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def type_text(schema: Mapping[str, Any], link: str) -> str:
    """Return what a value may be, in MyST; `link` begins the labels of the tables that it may be made of."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{_title(name)}](#{link}-{_identifier(_title(name))})"
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(type_text(option, link) for option in schema["anyOf"] if option != {"type": "null"})
        )
    if "enum" in schema:
        return " or ".join(f"`{value!r}`".replace("'", '"') for value in schema["enum"])
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"list of {len(schema['prefixItems'])} {type_text(schema['prefixItems'][0], link)}"
        inner = type_text(schema["items"], link)
        least = f", at least {schema['minItems']}" if schema.get("minItems") else ""
        return f"list of {inner}{least}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"table of {type_text(schema['additionalProperties'], link)}"
    limits = [f"{sign} {schema[key]:g}" for key, sign in _LIMITS.items() if key in schema]
    return " ".join([_NAMES[schema["type"]], ", ".join(limits)]).strip()


def _text(definition: Mapping[str, Any]) -> str:
    """Return the description of a table without its name, which is in the heading."""
    text: str = re.sub(r"^\[.*?\]+: ", "", definition.get("description", ""))
    return (text[:1].upper() + text[1:]).replace("[", r"\[")


def _default(value: Any) -> str:
    if value in ([], (), {}, "", None):
        return ""
    return f", default `{str(value).lower() if isinstance(value, bool) else value}`"


def key_lines(
    definition: Mapping[str, Any], link: str, left_out: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """Yield a definition list in MyST of the keys of a table."""
    required = definition.get("required", ())
    properties = {k: v for k, v in definition["properties"].items() if (left_out or {}).get(k) != v}
    entries = [(f"`{key}`", schema, key in required) for key, schema in properties.items()]
    further = definition.get("additionalProperties")
    if isinstance(further, dict):
        entries.append(("any other key", further, False))
    for name, schema, needed in entries:
        always = ", **required**" if needed else _default(schema.get("default"))
        yield f"{name} — {type_text(schema, link)}{always}"
        yield f": {schema.get('description', '')}"
        yield ""
    if not entries:
        yield "It has no keys of its own."


def _section(level: int, title: str, link: str, definition: Mapping[str, Any], **more: Any) -> Iterator[str]:
    yield f"({link}-{_identifier(title)})="
    yield f"{'#' * level} `{title}`"
    yield ""
    yield _text(definition)
    yield ""
    yield from key_lines(definition, link, **more)


class MenuKeys(SphinxDirective):
    """The keys of menus, with the kinds of some plugins."""

    optional_arguments = 100

    def run(self) -> list[nodes.Node]:
        schema = menu_schema(self.arguments, [Path(self.env.srcdir).parent / "plugins"])
        return self.parse_text_to_nodes("\n".join(self._lines(schema)), allow_section_headings=True)

    def _lines(self, schema: Mapping[str, Any]) -> Iterator[str]:
        definitions, link = schema["$defs"], "menu"
        for name in _TOP:
            yield from _section(2, _title(name), link, definitions[name])
        kinds = schema["properties"]["trigger"]["items"]["oneOf"]
        common = set.intersection(*(set(kind["properties"]) for kind in kinds)) - {"kind"}
        shared = {key: kinds[0]["properties"][key] for key in common}
        first = kinds[0]["properties"]
        budgets = {key: first[key] for key in ("unique_rate_hz", "total_rate_hz")}
        kind_key = {"kind": {"description": first["kind"]["description"], "type": "string"}}
        every = {key: first[key] for key in first if key in shared} | budgets
        yield from _section(
            2,
            "[[trigger]]",
            link,
            {
                "description": "The keys of all triggers; each kind has further ones. The two budgets, and "
                "`above`, are for kinds with a score, which need one of the three.",
                "properties": {"name": first["name"]} | kind_key | every,
                "required": ["name", "kind"],
            },
        )
        for kind in kinds:
            yield from _section(
                3,
                f'kind = "{kind["title"]}"',
                link,
                kind,
                left_out=every | {"kind": kind["properties"]["kind"]},
            )
        yield "## Tables within tables"
        yield ""
        for name, definition in definitions.items():
            if name not in _TOP:
                yield from _section(3, _title(name), link, definition)


class TableKeys(SphinxDirective):
    """The keys of a file, from the struct that reads it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        struct = getattr(importlib.import_module(module), name)
        names, definitions = schemas([struct])
        link = _identifier(self.arguments[0])
        lines: list[str] = []
        for part, key in names.items():
            if part is struct:
                lines += [
                    "",
                    _text(definitions[key]),
                    "",
                    *key_lines(definitions[key], link),
                ]
            else:
                lines += [*_section(3, _title(key), link, definitions[key])]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("menu-keys", MenuKeys)
    app.add_directive("table-keys", TableKeys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
