"""The public names of a room, from `trigemu.__all__`: a table of them, then their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes

import trigemu

#: A name in backticks with a character right after it.
_CLOSED = re.compile(r"(?<![`:\w])(`[^`]+`)(?=[\w²³])")


def public_names() -> dict[str, list[str]]:
    """Return the public names of each room: functions, then classes, each in alphabetical order."""
    found: dict[str, list[str]] = {}
    for name in sorted(
        trigemu.__all__, key=lambda name: (inspect.isclass(getattr(trigemu, name)), name.lower())
    ):
        room = getattr(trigemu, name).__module__.split(".")[1]
        found.setdefault(room, []).append(name)
    return found


class RoomNames(SphinxDirective):
    """The public names of one room."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        names = public_names()[self.arguments[0]]
        content = StringList(list(self._lines(names)), source="api_reference")
        return nested_parse_to_nodes(self.state, content)

    def _lines(self, names: list[str]) -> Iterator[str]:
        yield ".. currentmodule:: trigemu"
        yield ""
        yield ".. autosummary::"
        yield ""
        yield from (f"   {name}" for name in names)
        yield ""
        for name in names:
            if inspect.isclass(getattr(trigemu, name)):
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
