"""ES modules as one script. A page that is opened from a file cannot import other files, so each module
becomes a function that returns its exports, in the order of their dependencies.

Only the statements in the modules of the page are supported: `import {a, b as c} from "./x.js"`, `export
function`, `class` and `const`, and `export {a, b as c}`, also with `from`. Statements begin at the start of a
line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

_NAMES = r"\{([\w\s,$]*)\}"
_FROM = r'\s*from\s*"([^"]+)"'
_IMPORT = re.compile(rf"^import\s*{_NAMES}{_FROM};?[^\S\n]*\n", re.MULTILINE)
_EXPORT_FROM = re.compile(rf"^export\s*{_NAMES}{_FROM};?[^\S\n]*\n", re.MULTILINE)
_EXPORT_LIST = re.compile(rf"^export\s*{_NAMES};?[^\S\n]*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+([\w$]+)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import\b|export\b).*", re.MULTILINE)


def as_one_script(sources: Mapping[str, str], main: str) -> str:
    """Return one script of modules that runs `main`.

    sources: the modules, by their paths within one folder. ValueError if an import is missing or circular, or
    if a statement is not supported.
    """
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
