"""The page: one HTML file with its styles, scripts and data, without further files."""

from __future__ import annotations

import base64
import hashlib
import html
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable

from trigemu.base.errors import printable

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const)) ([\w$]+)", re.MULTILINE)


def as_one_script(sources: Mapping[str, str], main: str) -> str:
    """Return one script that runs `main`, of modules by their paths. Each is a function that returns what it
    exports, after those that it imports. All exports have different names; none is imported as another."""
    functions: dict[str, str] = {}

    def add(path: str) -> None:
        for needed in _IMPORT.findall(sources[path]):
            if (file := posixpath.normpath(posixpath.join(posixpath.dirname(path), needed))) not in functions:
                add(file)
        names = ", ".join(name for _, name in _EXPORT.findall(sources[path]))
        text = _EXPORT.sub(r"\1 \2", _IMPORT.sub("", sources[path]))
        functions[path] = f"const {{ {names} }} = (() => {{\n{text}return {{ {names} }};\n}})();\n"

    add(main)
    return f'"use strict";\n(() => {{\n{"".join(functions.values())}}})();\n'


def page_of(names: Iterable[str], data: str) -> str:
    """Return the page of menus with some names and data in base64; equal data give equal text."""
    texts = dict(_texts(resources.files(__package__).joinpath("page"), ""))
    vendored = sorted(path for path in texts if path.startswith("vendor/") and path.endswith(".js"))
    modules = {path: text for path, text in texts.items() if path.endswith(".js") and path not in vendored}
    # a library after its licence: vendor/d3.LICENSE of vendor/d3.min.js
    licences = [texts[f"{path.split('.')[0]}.LICENSE"].replace("*/", "") for path in vendored]
    scripts = [f"/*!\n{text}*/\n{texts[path]}" for path, text in zip(vendored, licences, strict=True)]
    scripts.append(as_one_script(modules, "main.js"))
    style = f"\n{texts['style.css']}"
    parts = {
        "policy": _policy(scripts, style),
        "title": f"<title>{html.escape(printable(' and '.join(names)))} – trigemu</title>",
        "style": f"<style>{style}</style>",
        "data": f'<script type="application/octet-stream" id="data">{data}</script>',
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    page = texts["index.html"]
    for name, part in parts.items():  # no part has a mark: none contains <!--
        page = page.replace(f"<!-- {name} -->", part)
    return page


def _texts(folder: Traversable, path: str) -> Iterable[tuple[str, str]]:
    """Yield the files of a folder, each with its path."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{path}{entry.name}/")
        else:
            yield path + entry.name, entry.read_text(encoding="utf-8")


def _policy(scripts: Sequence[str], style: str) -> str:
    """Return the content security policy: these scripts and styles, and no access to anything else."""
    digests = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (*scripts, style)]
    *allowed, of_style = (f"'sha256-{digest}'" for digest in digests)
    rules = (
        "default-src 'none'",
        f"script-src {' '.join(allowed)}",
        f"style-src {of_style}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'
