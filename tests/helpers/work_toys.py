"""A work whose results show the order of its units, and which of them were done how often, and where."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import RetryableError, TrigemuError
from trigemu.base.mapping import Work


@dataclass(frozen=True)
class Item:
    """A unit: a number."""

    number: int
    size: int = 10
    pause: float = 0.0


@dataclass(frozen=True)
class Numbers:
    """A result: the number of its unit, and where it was done."""

    values: np.ndarray
    process: int = 0


@dataclass
class Recital(Work[Item, Numbers]):
    """A work: results are the numbers of its units.

    folder: where each call leaves a file. does: by the number of a unit, what happens to it: "refuse",
    "vanish" (unreadable), "vanish twice", "die", "die once". seconds: of each unit.
    """

    folder: str
    does: Mapping[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    name: str = "recital"

    def size(self, unit: Item) -> int:
        return unit.size

    def key(self, unit: Item) -> str:
        return fingerprint(self.name, unit.number)

    def pause(self, unit: Item) -> float:
        return unit.pause

    def __reduce__(self) -> Any:
        return prepared, (self.folder, self.does, self.seconds)

    def __call__(self, unit: Item) -> Numbers:
        left(self.folder, f"unit-{unit.number}")
        time.sleep(self.seconds)
        what, attempt = self.does.get(unit.number, ""), calls(self.folder, f"unit-{unit.number}")
        if what == "refuse":
            raise TrigemuError("no")
        if what == "vanish" or (what == "vanish twice" and attempt < 3):
            raise RetryableError("not there")
        if what == "die" or (what == "die once" and attempt == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return Numbers(np.array([unit.number]), os.getpid())

    def give_up(self, unit: Item, error: Exception, host: str, attempts: int) -> NoReturn:
        raise TrigemuError(f"{unit.number}: {error}: {attempts} attempts on <{host}>") from error


def prepared(folder: str, does: Mapping[int, str], seconds: float) -> Recital:
    left(folder, f"prepared-{os.getpid()}-{threading.get_ident()}")
    return Recital(folder, does, seconds)


def left(folder: str, what: str) -> None:
    """Leave a sign."""
    (Path(folder) / f"{what}.{secrets.token_hex(8)}").touch()


def calls(folder: str | Path, what: str = "unit-*") -> int:
    """Return how many signs there are."""
    return sum(1 for _ in Path(folder).glob(f"{what}.*"))


def items(number: int, **further: float) -> list[Item]:
    return [Item(k, **further) for k in range(number)]  # type: ignore[arg-type]


def numbers(results: Iterable[Numbers]) -> list[int]:
    """Return the numbers in the order of results."""
    return [int(number) for result in results for number in result.values]
