"""The page: one HTML file with its styles, scripts and data, without further files."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable

from trigemu.api import printable

from .fit import PageData
from .modules import as_one_script

#: The mark in index.html at the position of a part.
_MARK = "<!-- {} -->"
_MAIN = "main.js"


def page_of(data: PageData) -> str:
    """Return the page; equal data give equal text."""
    folder = resources.files(__package__).joinpath("page")
    texts = dict(_texts(folder, ""))
    vendored = sorted(path for path in texts if path.startswith("vendor/") and path.endswith(".js"))
    own = {path: text for path, text in texts.items() if path.endswith(".js") and path not in vendored}
    scripts = [_with_licence(texts, path) for path in vendored] + [as_one_script(own, _MAIN)]
    style = f"\n{texts['style.css']}"
    title = " and ".join(menu.name for menu in data.menus)
    return _filled(
        texts["index.html"],
        {
            "policy": _policy(scripts, style),
            "title": f"<title>{html.escape(printable(title))} – trigemu</title>",
            "style": f"<style>{_inside('style', style)}</style>",
            "data": f'<script type="application/octet-stream" id="data">{data.base64}</script>',
            "scripts": "\n".join(f"<script>{_inside('script', script)}</script>" for script in scripts),
        },
    )


def _texts(folder: Traversable, path: str) -> Iterable[tuple[str, str]]:
    """Yield the files of a folder, each with its path."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{path}{entry.name}/")
        else:
            yield path + entry.name, entry.read_text(encoding="utf-8")


def _with_licence(texts: dict[str, str], path: str) -> str:
    """Return the script of a library, after its licence: vendor/d3.LICENSE of vendor/d3.min.js."""
    licence = texts[f"{path.split('.')[0]}.LICENSE"]
    return f"/*!\n{licence.replace('*/', '')}*/\n{texts[path]}"


def _inside(tag: str, text: str) -> str:
    """Return the content of an element. ValueError if the content would end the element."""
    if re.search(rf"</{tag}|<!--", text, re.IGNORECASE):
        raise ValueError(f"a {tag} of the page contains </{tag} or <!--")
    return text


def _policy(scripts: Iterable[str], style: str) -> str:
    """Return the content security policy: these scripts and styles, and no access to anything else."""
    allowed = " ".join(_digest(script) for script in scripts)
    rules = (
        "default-src 'none'",
        f"script-src {allowed}",
        f"style-src {_digest(style)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _filled(template: str, parts: dict[str, str]) -> str:
    """Return the template with each part at its mark. ValueError if it lacks one."""
    pieces = re.split("|".join(f"({re.escape(_MARK.format(name))})" for name in parts), template)
    marks = {_MARK.format(name): part for name, part in parts.items()}
    present = [piece for piece in pieces if piece]
    if missing := {*marks} - {*present}:
        raise ValueError(f"index.html has no {sorted(missing)[0]}")
    return "".join(marks.get(piece, piece) for piece in present)
