"""What a format has to say: its cases, how the program uses them, and what should come out."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from toys import memory_catalogue, toy_events

from trigemu import Catalogue, TrigemuError

Files = Mapping[str, bytes]

#: The events that menus decide on; few, because the twins are slow.
EVENTS = toy_events(3, 80)


class ShownError(TrigemuError):
    """A command ended with a message, as a terminal shows it."""


@dataclass(frozen=True)
class Format:
    """One kind of input.

    cases: draws the files of a case. use: does with them what a user would; returns what came of it, or
    raises TrigemuError. twin: compares that with an independent computation; returns the difference, an empty
    text if there is none, or None if it cannot judge.
    """

    name: str
    cases: Callable[[], st.SearchStrategy[Files]]
    use: Callable[[Path], Any]
    twin: Callable[[Path, Any], str | None] = lambda folder, made: None


@cache
def toy_catalogue() -> Catalogue:
    return memory_catalogue({"a": EVENTS[:50], "b": EVENTS[50:]})


def command(*arguments: str) -> int:
    """Run a command as users do; return its status. Raises ShownError with what it says after a mistake."""
    from trigemu.cli.main import main

    sys.argv = ["trigemu", *arguments]
    start, status = os.lseek(1, 0, os.SEEK_END), 0
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    with Path("/proc/self/fd/1").open("rb") as output:
        output.seek(start)
        said = output.read(1 << 22).decode(errors="surrogateescape")
    if status == 2 and "Traceback (most recent call last)" not in said:
        raise ShownError("\n".join(line for line in said.split("\n") if line.strip()) or " ")
    assert status in (0, 1), f"status {status}: {said}"
    return status


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def close(found: float, expected: float, tolerance: float = 1e-9) -> bool:
    """Whether two numbers are the same but for rounding; NaN is NaN."""
    if found != found or expected != expected:
        return found != found and expected != expected
    if abs(expected) == float("inf") or abs(found) == float("inf"):
        return found == expected
    return abs(found - expected) <= tolerance * max(abs(found), abs(expected)) + 1e-300
