"""`module-text MODULE`: what the docstring of a module says, as it is written."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class ModuleText(SphinxDirective):
    """The first sentence of a docstring as text, the rest as a literal block."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        text = inspect.getdoc(importlib.import_module(self.arguments[0])) or ""
        first, _, rest = text.partition("\n\n")
        return [
            nodes.paragraph(text=" ".join(first.split())),
            nodes.literal_block(rest, rest, language="text"),
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("module-text", ModuleText)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
