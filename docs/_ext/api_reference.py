"""`public-names MODULE`: what a module exports, from its stub, under the headings that are comments there."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from docutils import nodes
from reference_text import Name, exported
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import trigemu

#: A name in backticks with a character right after it.
_CLOSED = re.compile(r"(?<![`:\w])(`[^`]+`)(?=[\w²³])")
#: An underscore at the end of a word, as in abs_…
_TRAILING = re.compile(r"(?<=\w)_(?=[…\s])")


def members(namespace: Name, known: set[str]) -> Iterator[Name]:
    """Yield what a module that serves as a namespace defines and describes, but for known names."""
    module = namespace.value
    comments = {name for _, name in ModuleAnalyzer.for_module(module.__name__).find_attr_docs()}
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__ and inspect.getdoc(value)
        if not name.startswith("_") and name not in known and (own or name in comments):
            yield Name(f"{namespace.text}.{name}", module)


def results() -> list[type]:
    """Return the classes that users are given by calls, and do not make themselves."""
    calls = (getattr(trigemu, name) for name in trigemu.__all__)
    given = (typing.get_type_hints(call).get("return") for call in calls if inspect.isfunction(call))
    parts = (part for hint in given for part in (hint, *typing.get_args(hint)))
    classes = (c for c in parts if inspect.isclass(c) and c.__module__.startswith("trigemu."))
    return [c for c in dict.fromkeys(classes) if c.__name__ not in trigemu.__all__]


class PublicNames(SphinxDirective):
    """The public names of a module; those that users call or are given are not described again."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        return self.parse_text_to_nodes("\n".join(self._lines(module)), allow_section_headings=True)

    def _lines(self, module: ModuleType) -> Iterator[str]:
        for heading, names in exported(module).items():
            if heading:
                yield f"## {heading[0].upper()}{heading[1:]}\n"
            elsewhere = set() if module is trigemu else {*trigemu.__all__, *(c.__name__ for c in results())}
            if known := [name.text for name in names if name.text in elsewhere]:
                yield f"Described with [trigemu](trigemu.md): {', '.join(f'`{name}`' for name in known)}.\n"
            own = [name for name in names if name.text not in elsewhere]
            plain = [name for name in own if not inspect.ismodule(name.value)]
            yield from _block(module, plain)
            for namespace in (name for name in own if inspect.ismodule(name.value)):
                first = (inspect.getdoc(namespace.value) or "").partition("\n\n")[0]
                yield f"### {namespace.text}\n\n{' '.join(first.split())}\n"
                yield from _block(module, [*members(namespace, {*module.__all__})])
        if module is trigemu:
            yield "## Results\n\nWhat calls return. Further classes are of [trigemu.api](plugins.md).\n"
            for made in results():
                defined = importlib.import_module(made.__module__)
                yield from _block(defined, [Name(made.__name__, defined)])


def _block(module: ModuleType, names: list[Name]) -> Iterator[str]:
    """Yield reStructuredText that describes names."""
    yield "```{eval-rst}"
    yield f".. currentmodule:: {module.__name__}\n"
    for name in names:
        made = name.value
        if name.comment or not callable(made):
            yield f".. py:data:: {name.text}\n"
            yield from (f"   {line}" for line in name.comment)
            yield ""
        elif inspect.isclass(made):
            yield f".. autoclass:: {module.__name__}::{name.text}\n   :members:\n"
        else:
            yield f".. autofunction:: {module.__name__}::{name.text}\n"
    yield "```\n"


def _as_rst(app: Sphinx, what: str, name: str, made: object, options: object, lines: list[str]) -> None:
    """Make reStructuredText of plain text: |η| is no substitution, abs_… no link, and `w`² may follow a name
    at once."""
    for number, line in enumerate(lines):
        lines[number] = _TRAILING.sub(r"\\_", _CLOSED.sub(r"\1\\ ", line.replace("|", r"\|")))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", _as_rst)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
