"""Write the parts of the reference that the program itself knows: `python docs/reference_text.py`.

They are plain Markdown, so that a page can be read in an editor or on a code host. In a page, the comment
before such a part says what it lists:

    <!-- made: table-keys trigemu.samples:CatalogueTable -->

ends at `<!-- end -->`, and has the keys of a table. A test fails while a page differs from the program.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import click

import trigemu
from trigemu.menus.schema import menu_schema, schemas
from trigemu.results.table import RATE_PARTS

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "reference"
_PART = re.compile(r"(<!-- made: (\S+) (.*?) -->\n).*?(\n<!-- end -->)", re.DOTALL)
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
    "HardwareScale": "[integer.NAME]",
    "Stream": "[[stream]]",
}
#: The subpackages of what users call, in the order of the flow.
_ROOMS = ("samples", "menus", "emulation", "rates", "studies", "support")
#: Columns of the help of commands.
_WIDTH = 100


def _title(name: str) -> str:
    return _TOP.get(name, name.removesuffix("Table"))


def _anchor(title: str) -> str:
    """Return the anchor that Sphinx and code hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def type_text(schema: Mapping[str, Any]) -> str:
    """Return what a value may be; tables are links to their sections."""
    if "$ref" in schema:
        title = _title(schema["$ref"].rpartition("/")[2])
        return f"[{title}](#{_anchor(title)})"
    if "anyOf" in schema:
        options = (option for option in schema["anyOf"] if option != {"type": "null"})
        return " or ".join(dict.fromkeys(map(type_text, options)))
    if "enum" in schema:
        return " or ".join(f"`{value!r}`".replace("'", '"') for value in schema["enum"])
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"list of {len(schema['prefixItems'])} {type_text(schema['prefixItems'][0])}"
        least = f", at least {schema['minItems']}" if schema.get("minItems") else ""
        return f"list of {type_text(schema['items'])}{least}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"table of {type_text(schema['additionalProperties'])}"
    limits = [f"{sign} {schema[key]:g}" for key, sign in _LIMITS.items() if key in schema]
    return " ".join([_NAMES[schema["type"]], ", ".join(limits)]).strip()


def _description(definition: Mapping[str, Any]) -> str:
    """Return the description of a table without its name, which is in the heading."""
    text: str = re.sub(r"^\[.*?\]+: ", "", definition.get("description", ""))
    return text[:1].upper() + text[1:]


def _default(value: Any) -> str:
    if value in ([], (), {}, "", None):
        return ""
    return f", default `{str(value).lower() if isinstance(value, bool) else value}`"


def _keys(definition: Mapping[str, Any], left_out: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Yield a list of the keys of a table."""
    required = definition.get("required", ())
    properties = {k: v for k, v in definition["properties"].items() if (left_out or {}).get(k) != v}
    entries = [(f"`{key}`", schema, key in required) for key, schema in properties.items()]
    further = definition.get("additionalProperties")
    if isinstance(further, dict):
        entries.append(("any other key", further, False))
    for name, schema, needed in entries:
        always = ", **required**" if needed else _default(schema.get("default"))
        text = schema.get("description", "")
        yield f"- {name} ({type_text(schema)}{always}){f': {text}' if text else ''}"
    if not entries:
        yield "It has no keys of its own."
    yield ""


def _section(level: int, title: str, definition: Mapping[str, Any], **more: Any) -> Iterator[str]:
    yield from (f"{'#' * level} `{title}`", "", _description(definition), "")
    yield from _keys(definition, **more)


def menu_keys(plugins: str) -> Iterator[str]:
    """Yield the keys of menus with the kinds of some plugins, from what `trigemu schema` prints."""
    schema = menu_schema(plugins.split(), [ROOT / "plugins"])
    definitions = schema["$defs"]
    for name in _TOP:
        yield from _section(2, _title(name), definitions[name])
    kinds = schema["properties"]["trigger"]["items"]["oneOf"]
    common = set.intersection(*(set(kind["properties"]) for kind in kinds)) - {"kind"}
    first = kinds[0]["properties"]
    budgets = {key: first[key] for key in ("unique_rate_hz", "total_rate_hz")}
    kind_key = {"kind": {"description": first["kind"]["description"], "type": "string"}}
    every = {key: first[key] for key in first if key in common} | budgets
    of_all = {
        "description": "The keys of all triggers; each kind has further ones. The two budgets, and `above`, "
        "are for kinds with a score, which need one of the three.",
        "properties": {"name": first["name"]} | kind_key | every,
        "required": ["name", "kind"],
    }
    yield from _section(2, "[[trigger]]", of_all)
    for kind in kinds:
        known = every | {"kind": kind["properties"]["kind"]}
        yield from _section(3, f'kind = "{kind["title"]}"', kind, left_out=known)
    yield from ("## Tables within tables", "")
    for name, definition in definitions.items():
        if name not in _TOP:
            yield from _section(3, _title(name), definition)


def table_keys(place: str) -> Iterator[str]:
    """Yield the keys of a table of another file, MODULE:STRUCT, and of the tables in it."""
    struct = _attribute(place)
    names, definitions = schemas([struct])
    for part, key in names.items():
        if part is struct:
            yield from (_description(definitions[key]), "", *_keys(definitions[key]))
        else:
            yield from _section(3, _title(key), definitions[key])


def table_columns(place: str) -> Iterator[str]:
    """Yield the columns of a table in files, MODULE:NAME; with "printed" after it, those that are printed."""
    name, _, printed = place.partition(" ")
    listed = _attribute(name)
    if printed:
        yield from (f"- {c.heading}: {c.meaning}" for c in listed if c.heading and not c.wide)
        return
    in_files = [column for column in listed if column.in_files]
    for column in in_files:
        names = {"rate": f"`{column.name}_…`", "difference": f"`{column.name}_hz`, `{column.name}_error_hz`"}
        yield f"- {names.get(column.role, f'`{column.name}`')}: {column.meaning}"
    parts = dict.fromkeys(part for column in in_files if column.role == "rate" for part in column.parts)
    yield from (f"- `…_{part}` of a rate: {RATE_PARTS[part]}" for part in parts)


def module_text(module: str) -> Iterator[str]:
    """Yield the docstring of a module: its first paragraph, and the rest as it is."""
    first, _, rest = (inspect.getdoc(importlib.import_module(module)) or "").partition("\n\n")
    yield from (" ".join(first.split()), "", "```text", rest, "```")


def commands(_: str) -> Iterator[str]:
    """Yield the help of each command."""
    from trigemu.cli.commands import cli

    yield from _help(cli, None, "trigemu", 2)


def _help(command: click.Command, parent: click.Context | None, name: str, level: int) -> Iterator[str]:
    settings = command.context_settings | {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(command, parent, name, **settings)
    yield from (f"{'#' * level} {context.command_path}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            assert found
            yield from _help(found, context, part, 3 if parent else 2)


def public_names(module: str) -> Iterator[str]:
    """Yield the names that a module exports, each with its first sentence and its file."""
    for heading, names in exported(importlib.import_module(module)).items():
        if heading:
            yield from (f"{heading[0].upper()}{heading[1:]}:", "")
        for name in names:
            path = posixpath.relpath(inspect.getsourcefile(name.home) or "", PAGES / "api")
            yield f"- [`{name.text}`]({path}): {name.sentence}"
        yield ""


class Name(NamedTuple):
    """An exported name, and the module that defines it."""

    text: str
    module: ModuleType

    @property
    def value(self) -> Any:
        name = self.text.rpartition(".")[2]
        if not hasattr(self.module, name):  # a module that is a namespace
            return importlib.import_module(f"{self.module.__name__}.{name}")
        return getattr(self.module, name)

    @property
    def home(self) -> ModuleType:
        return self.value if inspect.ismodule(self.value) else self.module

    @property
    def comment(self) -> list[str]:
        """The comment that describes a constant."""
        source, name = inspect.getsource(self.module), re.escape(self.text.rpartition(".")[2])
        found = re.search(rf"((?:^#: .*\n)+){name}\b", source, re.MULTILINE)
        return [line[3:] for line in found[1].splitlines()] if found else []

    @property
    def sentence(self) -> str:
        text = " ".join(self.comment) or (inspect.getdoc(self.value) or "").partition("\n\n")[0]
        return re.split(r"(?<=[.!?]) (?=[A-Z])", " ".join(text.split()))[0]


def exported(module: ModuleType) -> dict[str, list[Name]]:
    """Return the names in a stub by heading; in the one of `trigemu`, the headings are the subpackages."""
    source = Path(module.__file__ or "").with_suffix(".pyi").read_text()
    package = module.__name__ if (module.__file__ or "").endswith("__init__.py") else module.__package__
    headings = {at: line[2:] for at, line in enumerate(source.splitlines(), 1) if line.startswith("# ")}
    found: dict[str, list[Name]] = {room: [] for room in _ROOMS} if module is trigemu else {}
    for node in (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)):
        within = [headings[at] for at in headings if at < node.lineno]
        heading = (node.module or "").split(".")[0] if module is trigemu else (within or [""])[-1]
        for alias in node.names if node.module else ():
            defined = importlib.import_module(f".{node.module}", package)
            found.setdefault(heading, []).append(Name(alias.name, defined))
    return found


def _attribute(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


PARTS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "commands": commands,
    "menu-keys": menu_keys,
    "module-text": module_text,
    "public-names": public_names,
    "table-columns": table_columns,
    "table-keys": table_keys,
}


def renewed(text: str) -> str:
    """Return a page with its made parts as they are now."""

    def part(found: re.Match[str]) -> str:
        made = "\n".join(PARTS[found[2]](found[3])).strip()
        return f"{found[1]}\n{made}\n{found[4]}"

    return _PART.sub(part, text)


def main(only_tell: bool) -> None:
    """Write the pages that are out of date, or tell which."""
    os.environ["TRIGEMU_PLUGIN_PATH"] = str(ROOT / "plugins")
    for file in sorted(PAGES.rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        if (made := renewed(text)) != text:
            sys.stdout.write(f"{file.name} is out of date\n")
            if not only_tell:
                file.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main("--tell" in sys.argv)
