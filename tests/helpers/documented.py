"""What the documentation of a public name lacks: that of a function, a class with its methods, a constant."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

#: Methods of Python that users call by a sign; the others mean what they always mean.
_SIGNS = {"__add__", "__call__", "__getitem__"}


def lacks_of(value: Any) -> list[str]:
    """What the documentation of a function or class lacks."""
    return list(_class(value) if inspect.isclass(value) else _function(value))


def lacks_of_name(module: ModuleType, name: str) -> list[str]:
    """What the documentation of a function, a class or a constant lacks, given the module that defines it. A
    constant is described by a comment with a colon, in the lines before it."""
    value = getattr(module, name)
    lines, assigned = _assigned(module.__file__ or "")
    if name not in assigned or hasattr(value, "__wrapped__"):
        return lacks_of(value)
    return [] if lines[assigned[name] - 2].startswith("#:") else ["no comment #: before it"]


@cache
def _assigned(file: str) -> tuple[list[str], dict[str, int]]:
    source = Path(file).read_text()
    found = {}
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        found.update({target.id: node.lineno for target in targets if isinstance(target, ast.Name)})
    return source.splitlines(), found


def _summary(text: str, name: str) -> Iterator[str]:
    """It has one, and not that which dataclasses get of their own."""
    if not re.match(r"[A-Z`(\[αη]", text) or text.startswith(f"{name}("):
        yield f"no summary: {text[:40]!r}"
    elif re.match(r"(Of|What|Those|That) ", text):
        yield f"a summary that is no sentence: {text[:40]!r}"


def _section(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found and found[1]


def _described(text: str, section: str) -> list[str]:
    """The names that a section describes, in its order."""
    lines = re.findall(r"^(\*{0,2}\w[\w, *]*)(?: : .*)?$", _section(text, section) or "", re.MULTILINE)
    return [name.lstrip("*") for line in lines for name in line.split(", ")]


def _function(value: Any) -> Iterator[str]:
    text = inspect.getdoc(value) or ""
    yield from _summary(text, value.__name__)
    yield from _call(value, text)
    if _section(text, "Returns") is None and _section(text, "Yields") is None and _gives(value):
        yield "no section Returns"


def _call(value: Any, text: str) -> Iterator[str]:
    parameters = [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]
    if hasattr(value, "_defn"):  # an intrinsic of numba, whose first parameter is the typing context
        parameters = parameters[1:]
    if _described(text, "Parameters") != parameters:
        yield f"parameters: {_described(text, 'Parameters')} are not {parameters}"


def _gives(value: Any) -> bool:
    return getattr(inspect.unwrap(value), "__annotations__", {}).get("return") not in (None, "None")


def _class(value: Any) -> Iterator[str]:
    text = inspect.cleandoc(vars(value).get("__doc__") or "")
    yield from _summary(text, value.__name__)
    every, own = _fields(value), vars(value).get("__annotations__", {})
    described = _described(text, "Attributes")
    complete = described in (every, [field for field in every if field in own]) or not _undescribed(
        value, every
    )
    if every and not complete and _section(text, "Parameters") is None:
        yield f"attributes: {described} are not {every}, and not all have a comment #: beside them"
    for name, member in vars(value).items():
        if name in _SIGNS or not name.startswith("_"):
            yield from (f"{name}: {what}" for what in _member(value, name, member))


def _undescribed(value: type, fields: list[str]) -> list[str]:
    """The fields without a comment #: beside or above them, in the class or in a base of it."""
    bases = [base for base in value.__mro__ if base.__module__.startswith("trigemu")]
    lines = [line for base in bases for line in inspect.getsource(base).splitlines()]
    pairs = zip(["", *lines], lines, strict=False)
    described = {
        line.partition(":")[0].strip()
        for before, line in pairs
        if " #: " in line or before.strip().startswith("#: ")
    }
    return [field for field in fields if field not in described]


def _fields(value: type) -> list[str]:
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        names = [*getattr(value, "__struct_fields__", getattr(value, "_fields", ()))]
    return [name for name in names if not name.startswith("_")]


def _member(owner: type, name: str, member: Any) -> Iterator[str]:
    made = getattr(member, "fget", None) or getattr(member, "func", None) or member
    made = made.__func__ if isinstance(made, classmethod | staticmethod) else made
    if not inspect.isfunction(made) or not made.__module__.startswith("trigemu"):
        return
    if any(name in vars(base) for base in owner.__mro__[1:]):  # documented where it is defined first
        return
    text = inspect.getdoc(made) or ""
    yield from _summary(text, name)
    if name.startswith("_") or made is getattr(member, "fget", None) or made is getattr(member, "func", None):
        return
    for parameter in list(inspect.signature(made).parameters)[not isinstance(member, staticmethod) :]:
        if parameter not in _described(text, "Parameters") and f"`{parameter}`" not in text:
            yield f"its parameter {parameter} is not described"
