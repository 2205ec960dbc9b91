"""The public names of a room, of `trigemu` and `trigemu.api`: a table of them, then their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes

import trigemu.api

#: A name in backticks with a character right after it.
_CLOSED = re.compile(r"(?<![`:\w])(`[^`]+`)(?=[\w²³])")


def public_names(module: ModuleType) -> dict[str, list[str]]:
    """Return the names that a module exports of each room: functions, then classes, each in alphabetical
    order. Constants, types and namespaces are left out."""
    found: dict[str, list[str]] = {}
    for name in sorted(
        module.__all__, key=lambda name: (inspect.isclass(getattr(module, name)), name.lower())
    ):
        value = getattr(module, name)
        if callable(value) and value.__module__.startswith("trigemu."):
            found.setdefault(value.__module__.split(".")[1], []).append(name)
    return found


class RoomNames(SphinxDirective):
    """The public names of one room: those of users, then what plugins use besides."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        room = self.arguments[0]
        users = public_names(trigemu).get(room, [])
        plugins = [name for name in public_names(trigemu.api).get(room, []) if name not in trigemu.__all__]
        lines = [*self._lines("trigemu", users)]
        if plugins:
            lines += ["Plugins use further names, from `trigemu.api`.", ""]
            lines += self._lines("trigemu.api", plugins)
        content = StringList(lines, source="api_reference")
        return nested_parse_to_nodes(self.state, content)

    def _lines(self, module: str, names: list[str]) -> Iterator[str]:
        if not names:
            return
        yield f".. currentmodule:: {module}"
        yield ""
        yield ".. autosummary::"
        yield ""
        yield from (f"   {name}" for name in names)
        yield ""
        for name in names:
            if inspect.isclass(getattr(trigemu.api, name, getattr(trigemu, name, None))):
                yield from (f".. autoclass:: {name}", "   :members:", "")
            else:
                yield from (f".. autofunction:: {name}", "")


def _as_rst(app: Sphinx, what: str, name: str, made: object, options: object, lines: list[str]) -> None:
    """Make reStructuredText of plain text: |η| is no substitution, and `w`² may follow a name at once."""
    for number, line in enumerate(lines):
        lines[number] = _CLOSED.sub(r"\1\\ ", line.replace("|", r"\|"))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("room-names", RoomNames)
    app.connect("autodoc-process-docstring", _as_rst)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
