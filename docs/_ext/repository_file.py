"""`repository-file PATH`: a Markdown file from outside of `docs/`, without its title, as part of a page."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

#: The files of the repository that are pages → their pages.
PAGES = {
    "SECURITY.md": "explanation/security.md",
    "CHANGELOG.md": "reference/changes.md",
    "benchmarks/README.md": "explanation/speed.md",
}
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


class RepositoryFile(SphinxDirective):
    """Show the file, with links that lead to pages."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        file = Path(self.env.srcdir).parent / name
        self.env.note_dependency(str(file))
        text = file.read_text().partition("\n")[2]

        def on_the_site(found: re.Match[str]) -> str:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[1]))
            place = PAGES.get(path) or (
                path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}"
            )
            return f"](/{place}"

        return self.parse_text_to_nodes(_LINK.sub(on_the_site, text), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("repository-file", RepositoryFile)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
