"""The rates of a menu with trigemu, with everything that a run gives: errors, overlaps, groups, shares."""

from __future__ import annotations

from pathlib import Path

import trigemu

PLUGINS = Path(__file__).parents[2] / "plugins"


def rates(path: Path, menu: str, threads: int) -> dict[str, tuple[float, float]]:
    """Return the total and unique rates in Hz of all triggers, and of the menu."""
    read = trigemu.read_menu(path.parent / f"{menu}.toml", [PLUGINS])
    return of(trigemu.run(read, f"{path}.toml"))


def of(result: trigemu.api.MenuRates) -> dict[str, tuple[float, float]]:
    found = {trigger.name: (trigger.total.hz, trigger.unique.hz) for trigger in result.triggers}
    return {"menu": (result.rate.hz, 0.0)} | found
