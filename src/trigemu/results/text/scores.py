"""The thresholds that a score table offers, for a terminal."""

from __future__ import annotations

from trigemu.emulation import Scores
from trigemu.menus import unit_of_threshold
from trigemu.results.text.terminal import Table
from trigemu.triggers import ScoreKind


def offers_table(scores: Scores) -> Table:
    """Return a table of the loosest, the present and the tightest threshold of each trigger that has one."""
    table = Table()
    table.add_column("trigger", "name")
    for header in ("from", "as written", "to"):
        table.add_column(header)
    table.add_column("unit", "label")
    for menu in scores.menus:
        for trigger in menu.enabled:
            kind = trigger.description
            if isinstance(kind, ScoreKind):
                low, high = scores.offers[trigger.name]
                values = (f"{value:.6g}" for value in (low, kind.cut, high))
                table.add_row(trigger.name, *values, unit_of_threshold(menu, trigger))
    return table
