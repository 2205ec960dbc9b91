"""`table-columns MODULE:NAME`: the columns of a table in files; with `:printed:`, those that are printed."""

from __future__ import annotations

import importlib
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from trigemu.results.writers.reference import columns_reference


class TableColumns(SphinxDirective):
    """Definition lists from the columns that the program itself uses."""

    required_arguments = 1
    option_spec = {"printed": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        columns = getattr(importlib.import_module(module), name)
        lines = columns_reference(columns, "printed" in self.options)
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("table-columns", TableColumns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
