"""The rates of a menu with trigemu, of events that are in memory from the second call on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from in_trigemu import PLUGINS, of

import trigemu


@cache
def loaded(path: Path, menu: str) -> tuple[trigemu.Menu, trigemu.Events]:
    read = trigemu.read_menu(path.parent / f"{menu}.toml", [PLUGINS])
    (sample,) = trigemu.open_catalogue(f"{path}.toml").samples
    return read, sample.read(0, 0, sample.entries, trigemu.make_plan([read]).needs)


def rates(path: Path, menu: str, threads: int) -> dict[str, tuple[float, float]]:
    """Return the total and unique rates in Hz of all triggers, and of the menu."""
    return of(trigemu.run(*loaded(path, menu)))
