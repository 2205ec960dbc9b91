"""What users call: every name can be imported from trigemu and is documented, and few are there."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from typing import Any

from documented import lacks_of

import trigemu
from trigemu import api

NAMES = sorted({*trigemu.__all__} - {"api"})
TYPED = [
    name
    for name in NAMES
    if inspect.isfunction(getattr(trigemu, name)) or dataclasses.is_dataclass(getattr(trigemu, name))
]
#: What users call fits on a screen.
MOST = 45


def classes(hint: Any) -> Iterator[type]:
    """Those of trigemu in a type."""
    if inspect.isclass(hint) and hint.__module__.startswith("trigemu."):
        yield hint
    for part in typing.get_args(hint):
        for inner in part if isinstance(part, list) else [part]:
            yield from classes(inner)


def test_few_names_are_public() -> None:
    assert len(trigemu.__all__) <= MOST


def test_public_names_are_documented() -> None:
    lacks = {name: lacks_of(getattr(trigemu, name)) for name in NAMES}
    assert {name: lack for name, lack in lacks.items() if lack} == {}


def test_what_public_names_take_and_give_is_documented() -> None:
    exported, lacks = {*trigemu.__all__, *api.__all__}, {}
    for name in TYPED:
        hints = typing.get_type_hints(getattr(trigemu, name))
        used = {c for key, hint in hints.items() if not key.startswith("_") for c in classes(hint)}
        lacks |= {f"{name}: {c.__name__}": lacks_of(c) for c in used if c.__name__ not in exported}
    assert {name: lack for name, lack in lacks.items() if lack} == {}
