"""The public interface: whatever its calls take and give is exported by a room, and is documented."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import trigemu

NAMES = sorted(set(trigemu.__all__) - {"api"})
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(trigemu, name))]
DATACLASSES = [name for name in NAMES if dataclasses.is_dataclass(getattr(trigemu, name))]


def classes(hint: Any) -> Iterator[type]:
    """Those of trigemu in a type."""
    if inspect.isclass(hint) and hint.__module__.startswith("trigemu."):
        yield hint
    for part in typing.get_args(hint):
        for inner in part if isinstance(part, list) else [part]:
            yield from classes(inner)


@pytest.mark.parametrize("name", [*FUNCTIONS, *DATACLASSES])
def test_what_a_call_takes_and_gives_is_public(name: str) -> None:
    hints = typing.get_type_hints(getattr(trigemu, name))
    used = {c for key, hint in hints.items() if not key.startswith("_") for c in classes(hint)}
    for made in used:
        room = importlib.import_module(".".join(made.__module__.split(".")[:2]))
        assert made.__name__ in {*trigemu.__all__, *trigemu.api.__all__, *room.__all__}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_documented(name: str) -> None:
    """A summary, not that which dataclasses get of their own."""
    text = inspect.getdoc(getattr(trigemu, name)) or ""
    assert re.match(r"[A-Z`(\[]", text), text
    assert not text.startswith(f"{name}(")
    assert not re.match(r"(Of|What|Those|That) ", text), text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_take_and_give(name: str) -> None:
    function = getattr(trigemu, name)
    text = inspect.getdoc(function) or ""
    sections = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
    parameters = inspect.signature(function).parameters
    assert ("Parameters" in sections) == bool(parameters)
    assert "Returns" in sections or typing.get_type_hints(function)["return"] is type(None)
    described = text.partition("Parameters\n")[2].partition("Returns\n")[0].partition("Raises\n")[0]
    documented = re.findall(r"^(\w[\w, ]*)(?: : .*)?$", described, re.MULTILINE)
    assert [part for line in documented for part in line.split(", ")] == list(parameters)


@pytest.mark.parametrize("name", DATACLASSES)
def test_dataclasses_say_what_their_fields_are(name: str) -> None:
    made = getattr(trigemu, name)
    text = inspect.getdoc(made) or ""
    fields = [field.name for field in dataclasses.fields(made) if not field.name.startswith("_")]
    assert "Attributes\n-----" in text or not fields
    documented = re.findall(r"^([\w, ]+) : ", text.partition("Attributes\n")[2], re.MULTILINE)
    assert [part for line in documented for part in line.split(", ")] == fields
