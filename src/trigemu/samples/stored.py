"""Stored decisions as columns of events, with names that no other column has."""

from __future__ import annotations

from trigemu.samples.events import Need

_PREFIX = "stored "


def stored_need(decision: str) -> Need:
    """Return the column of a stored decision."""
    return "", f"{_PREFIX}{decision}"


def decision_in(need: Need) -> str | None:
    """Return the name of the stored decision that a column holds; None for other columns."""
    collection, column = need
    return None if collection or not column.startswith(_PREFIX) else column.removeprefix(_PREFIX)
