"""The page: one HTML file with its styles, scripts and data, without further files."""

from __future__ import annotations

import base64
import hashlib
import html
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable

from trigemu.base.errors import printable

from .fit import PageData

_NAMES = r"\{([\w\s,$]*)\}"
_FROM = r'\s*from\s*"([^"]+)"'
_IMPORT = re.compile(rf"^import\s*{_NAMES}{_FROM};?[^\S\n]*\n", re.MULTILINE)
_EXPORT_FROM = re.compile(rf"^export\s*{_NAMES}{_FROM};?[^\S\n]*\n", re.MULTILINE)
_EXPORT_LIST = re.compile(rf"^export\s*{_NAMES};?[^\S\n]*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+([\w$]+)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import\b|export\b).*", re.MULTILINE)


def as_one_script(sources: Mapping[str, str], main: str) -> str:
    """Return one script that runs `main`, of modules by their paths; ValueError if it cannot be made."""
    texts: dict[str, str] = {}
    waiting: list[str] = []

    def add(path: str, importer: str) -> None:
        if path in waiting:
            raise ValueError(f"{' → '.join([*waiting, path])}: these modules import each other")
        if path not in sources:
            raise ValueError(f"{importer}: there is no {path}")
        if path not in texts:
            waiting.append(path)
            for needed in _imported(path, sources[path]):
                add(needed, path)
            waiting.pop()
            texts[path] = _as_function(path, sources[path])

    add(main, "the page")
    return '"use strict";\nconst modules = {};\n' + "".join(texts.values())


def _imported(path: str, source: str) -> Iterator[str]:
    for pattern in (_IMPORT, _EXPORT_FROM):
        yield from (_resolved(path, match[2]) for match in pattern.finditer(source))


def _resolved(path: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def _pairs(names: str) -> Iterator[tuple[str, str]]:
    """Yield the two names of each entry of `{a, b as c}`: ("a", "a"), ("b", "c")."""
    for entry in filter(None, (part.strip() for part in names.split(","))):
        name, _, alias = entry.partition(" as ")
        yield name.strip(), (alias or name).strip()


def _as_function(path: str, source: str) -> str:
    exports: dict[str, str] = {}

    def imported(match: re.Match[str]) -> str:
        names = ", ".join(a if a == b else f"{a}: {b}" for a, b in _pairs(match[1]))
        return f'const {{ {names} }} = modules["{_resolved(path, match[2])}"];\n'

    def passed_on(match: re.Match[str]) -> str:
        for name, alias in _pairs(match[1]):
            exports[alias] = f'modules["{_resolved(path, match[2])}"].{name}'
        return ""

    def listed(match: re.Match[str]) -> str:
        exports.update((alias, name) for name, alias in _pairs(match[1]))
        return ""

    def declared(match: re.Match[str]) -> str:
        exports[match[2]] = match[2]
        return f"{match[1]} {match[2]}"

    text = _IMPORT.sub(imported, source)
    text = _EXPORT_FROM.sub(passed_on, text)
    text = _EXPORT_LIST.sub(listed, text)
    text = _EXPORT.sub(declared, text)
    if left := _LEFT.search(text):
        raise ValueError(f"{path}: {left[0]!r} is not supported")
    returned = ", ".join(a if a == b else f"{a}: {b}" for a, b in exports.items())
    return f'modules["{path}"] = (() => {{\n{text}return {{ {returned} }};\n}})();\n'


def page_of(data: PageData) -> str:
    """Return the page; equal data give equal text."""
    folder = resources.files(__package__).joinpath("page")
    texts = dict(_texts(folder, ""))
    vendored = sorted(path for path in texts if path.startswith("vendor/") and path.endswith(".js"))
    modules = {path: text for path, text in texts.items() if path.endswith(".js") and path not in vendored}
    scripts = [_with_licence(texts, path) for path in vendored] + [as_one_script(modules, "main.js")]
    style = f"\n{texts['style.css']}"
    title = " and ".join(menu.name for menu in data.menus)
    parts = {
        "policy": _policy(scripts, style),
        "title": f"<title>{html.escape(printable(title))} – trigemu</title>",
        "style": f"<style>{_inside('style', style)}</style>",
        "data": f'<script type="application/octet-stream" id="data">{data.base64}</script>',
        "scripts": "\n".join(f"<script>{_inside('script', script)}</script>" for script in scripts),
    }
    page = texts["index.html"]
    for name, part in parts.items():  # no part has a mark: none contains <!--
        if (mark := f"<!-- {name} -->") not in page:
            raise ValueError(f"index.html has no {mark}")
        page = page.replace(mark, part)
    return page


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
