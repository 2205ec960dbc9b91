"""The cap that a floor on the live fraction puts on a rate, from the plugin `live`."""

from __future__ import annotations

from pathlib import Path

from trigemu.api import Catalogue, Menu

from .goal_tables import Live


def rate_of_live(live: Live, goals: Path, menu: Menu, catalogue: Catalogue) -> float:
    """Return the largest rate of accepts, in Hz at the crossing rate of a menu, with a live fraction.

    Parameters
    ----------
    live : Live
        The rules, the filling scheme and the live fraction.
    goals : Path
        The file of goals, to which paths are relative.
    menu : Menu
        The menu. If its crossing rate is not that of the scheme, its rates are scaled to it, as by `trigemu
        live`.
    catalogue : Catalogue
        The samples: rates of interactions do not depend on the crossing rate.

    Raises
    ------
    TrigemuError
        If there are no such rules or scheme, or no rate has such a live fraction.
    """
    from trigemu_live import every_slot, largest_input_rate, read_filling, read_rules

    crossing_rate = menu.crossing_rate_hz
    filling = read_filling(_place(live.filling, goals)) if live.filling else every_slot(crossing_rate)
    rate = largest_input_rate(read_rules(_place(live.rules, goals)), filling, live.min)
    of_crossings = catalogue.table.convention == "crossing"
    return rate * crossing_rate / filling.crossing_rate_hz if of_crossings else rate


def _place(text: str, goals: Path) -> str:
    """Return a name or a pattern as it is, and a path relative to the folder of the goals."""
    return str(goals.parent / text) if Path(text).suffix in (".toml", ".csv") else text
