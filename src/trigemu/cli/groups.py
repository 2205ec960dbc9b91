"""The headings of commands in the help of the program, and earlier names of commands."""

from __future__ import annotations

#: Heading → commands, in their order. Commands of other plugins have a heading of their own.
GROUPS = {
    "Everyday": ("run", "compare", "bench", "report", "explore", "samples", "check-menu"),
    "Studies": ("scan", "rates-vs", "efficiency", "calibrate", "live", "fill", "events", "scores", "gate"),
    "Anomaly triggers": ("anomaly", "decade", "firmware"),
    "Experiments and samples": ("import", "check-decisions", "generate"),
    "Maintenance": ("schema", "checkpoint"),
}
OTHERS = "Plugins"
#: Earlier name of a command → its name.
ALIASES = {"check": "check-decisions"}


def by_group(names: list[str]) -> dict[str, list[str]]:
    """Return commands by their headings."""
    listed = {name for group in GROUPS.values() for name in group}
    groups = {heading: [name for name in group if name in names] for heading, group in GROUPS.items()}
    groups[OTHERS] = [name for name in names if name not in listed]
    return {heading: group for heading, group in groups.items() if group}
